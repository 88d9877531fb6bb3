//! Driving by hand: goals on sliders, and velocities that end when nobody renews them.

use std::time::Duration;

use crate::joint::{Joint, JointVec};
use crate::runtime::core::Control;
use crate::runtime::core::tip::Tip;
use crate::runtime::drive::DEAD_MAN;
use crate::runtime::{Drive, Mode};

/// The goal runs no further ahead of what was sent than this, robot units: a hand that lets go stops the arm there.
const MOST_LEAD: f32 = 5.0;

/// What the hand wants.
#[derive(Debug, Default)]
pub(super) struct Jog {
    /// Robot units.
    pub goal: JointVec,
    /// Why the tip does not go on.
    pub obstacle: Option<String>,
    drive: Option<Driven>,
    /// The hand has let go, and the arm may still run out: the goal goes along, so that it does not come back afterwards.
    /// Ticks in a row in which it has stood.
    runs_out: Option<u32>,
}

/// A drive under way.
#[derive(Debug)]
struct Driven {
    asked: Drive,
    /// It ends then, unless it is renewed.
    until: Duration,
    pace: Drive,
    /// The tip while it moves: finer than the servos' counts, so that slow motion is not lost between them.
    tip: Option<Tip>,
}

impl Jog {
    /// Stands still at `pose`.
    pub fn rest_at(&mut self, pose: JointVec) {
        *self = Self {
            goal: pose,
            ..Self::default()
        };
    }

    fn push(&mut self, drive: Drive, until: Duration, commanded: JointVec) {
        if drive.is_still() {
            self.let_go(commanded);
            return;
        }
        let asked = drive.bounded();
        if let Some(driven) = &mut self.drive {
            (driven.asked, driven.until) = (asked, until);
            return;
        }
        self.rest_at(commanded);
        self.drive = Some(Driven {
            asked,
            until,
            pace: Drive::default(),
            tip: None,
        });
    }

    /// Stops at `pose`, or as soon after as the arm can.
    fn let_go(&mut self, pose: JointVec) {
        self.rest_at(pose);
        self.runs_out = Some(0);
    }

    /// Goes along with an arm that comes to a stop. In the tick in which the hand lets go nothing has been sent yet.
    fn run_out(&mut self, commanded: JointVec) {
        let stood = match self.runs_out {
            None => return,
            Some(stood) if self.goal == commanded => stood + 1,
            Some(_) => 0,
        };
        self.goal = commanded;
        self.runs_out = (stood < 2).then_some(stood);
    }

    /// Moves the goal on by one `dt_s`.
    fn go_on(&mut self, now: Duration, dt_s: f32, commanded: JointVec, limits: [JointVec; 2]) {
        let Some(driven) = &mut self.drive else {
            self.run_out(commanded);
            return;
        };
        let asked = if now < driven.until {
            driven.asked
        } else {
            Drive::default()
        };
        driven.pace = driven.pace.toward(asked, dt_s);
        if driven.pace.is_still() {
            self.let_go(commanded);
            return;
        }
        self.obstacle = None;
        if self.goal.max_abs_diff(commanded) > MOST_LEAD {
            self.obstacle = Some("the arm does not follow".to_owned());
            return;
        }
        let pace = driven.pace;
        let mut goal = self.goal;
        if pace.tip.is_still() {
            driven.tip = None;
            goal = turned(goal, pace.joints, dt_s, limits);
        } else {
            let tip = driven.tip.get_or_insert_with(|| Tip::of(self.goal));
            match tip.advance(&pace.tip, dt_s, goal, limits) {
                Ok(pose) => goal = pose,
                Err(why) => self.obstacle = Some(why),
            }
            let mut gripper = JointVec::default();
            gripper[Joint::Gripper] = pace.joints[Joint::Gripper];
            goal = turned(goal, gripper, dt_s, limits);
        }
        self.goal = goal;
    }
}

/// `pose` after `dt_s` of these speeds; what turns stays inside the limits, or comes back to them.
fn turned(pose: JointVec, speeds: JointVec, dt_s: f32, [lower, upper]: [JointVec; 2]) -> JointVec {
    JointVec::from_fn(|joint| {
        let (at, speed) = (pose[joint], speeds[joint]);
        if speed == 0.0 {
            return at;
        }
        let next = at + speed * dt_s;
        if speed > 0.0 {
            next.min(upper[joint].max(at))
        } else {
            next.max(lower[joint].min(at))
        }
    })
}

impl Control {
    /// Sends one joint to a goal; that ends a drive.
    pub(super) fn jog_to(&mut self, joint: Joint, goal: f32) {
        if self.mode == Mode::Jog && goal.is_finite() {
            let [lower, upper] = self.arm.limits;
            let mut pose = self.jog.goal;
            pose[joint] = goal.max(lower[joint]).min(upper[joint]);
            self.jog.rest_at(pose);
        }
    }

    /// A hand pushes, goes on pushing, or lets go.
    pub(super) fn drive(&mut self, drive: Drive) {
        if self.mode == Mode::Jog && drive.is_finite() {
            self.jog
                .push(drive, self.now + DEAD_MAN, self.arm.commanded);
        }
    }

    /// The goal of the hand in this tick.
    pub(super) fn jogged(&mut self, period: Duration) -> JointVec {
        let (commanded, limits) = (self.arm.commanded, self.arm.limits);
        self.jog
            .go_on(self.now, period.as_secs_f32(), commanded, limits);
        self.jog.goal
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinematics::{PINCH_POINT, forward_robot};
    use crate::runtime::core::bench::{Bench, Temper, assert_still};
    use crate::runtime::{Command, Knobs, Twist};
    use glam::{Vec3, vec3};

    fn jogging() -> Bench {
        let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
        bench.pose = JointVec([0.0, -20.0, 40.0, 50.0, 0.0, 30.0]);
        bench.tick(vec![]);
        bench.tick(vec![Command::EnableTorque]);
        bench.tick(vec![Command::SetMode(Mode::Jog)]);
        assert_eq!(bench.seen.mode, Mode::Jog);
        bench
    }

    /// Renews a drive every tick for `seconds`; the longest step of a tick.
    fn hold(bench: &mut Bench, drive: Drive, seconds: f32) -> f32 {
        let mut longest = 0.0_f32;
        let end = bench.now + Duration::from_secs_f32(seconds);
        while bench.now < end {
            let before = bench.pose;
            bench.tick(vec![Command::Drive(drive)]);
            longest = longest.max(bench.pose.max_abs_diff(before));
        }
        longest
    }

    fn tip(bench: &Bench) -> Vec3 {
        forward_robot(bench.pose).gripper_point(PINCH_POINT)
    }

    #[test]
    fn a_joint_turns_at_the_speed_that_is_asked_for_while_the_hand_holds() {
        let mut bench = jogging();
        let start = bench.pose;
        let longest = hold(&mut bench, Drive::of_joint(Joint::ShoulderPan, 30.0), 2.0);
        let turned = bench.pose[Joint::ShoulderPan];
        assert!((55.0..60.1).contains(&turned), "{turned}");
        assert!(longest <= 30.0 / 60.0 + 1e-3, "{longest}");
        assert_eq!(bench.pose.0[1..], start.0[1..]);
        let at = bench.pose;
        bench.tick(vec![Command::Drive(Drive::default())]);
        assert_eq!(bench.pose, at, "let go of, it stands within the tick");
        assert_still(&mut bench, 30);
    }

    #[test]
    fn a_drive_that_is_not_renewed_runs_out_smoothly() {
        let mut bench = jogging();
        hold(&mut bench, Drive::of_joint(Joint::ElbowFlex, 60.0), 0.5);
        let (from, lost) = (bench.pose, bench.now);
        let mut steps = Vec::new();
        for _ in 0..40 {
            let before = bench.pose;
            bench.tick(vec![]);
            steps.push(bench.pose.max_abs_diff(before));
        }
        let moving = steps.iter().filter(|step| **step > 0.0).count();
        let ran_on = Duration::from_secs_f32(moving as f32 / 60.0);
        assert!(
            (DEAD_MAN..DEAD_MAN * 2 + Duration::from_millis(35)).contains(&ran_on),
            "{ran_on:?} {lost:?}"
        );
        assert!(
            steps.windows(2).all(|pair| pair[1] <= pair[0] + 1e-4),
            "{steps:?}"
        );
        assert!(bench.pose.max_abs_diff(from) < 16.0);
        assert_still(&mut bench, 30);
    }

    #[test]
    fn the_tip_is_driven_and_stands_where_it_can_go_no_further() {
        let mut bench = jogging();
        let start = tip(&bench);
        let up = Twist {
            linear: vec3(0.0, 0.0, 0.1),
            ..Twist::default()
        };
        hold(&mut bench, Drive::of_tip(up, 20.0), 0.5);
        let moved = tip(&bench) - start;
        assert!((0.03..0.051).contains(&moved.z), "{moved}");
        assert!(moved.truncate().length() < 1e-3, "{moved}");
        assert!(bench.pose[Joint::Gripper] > 36.0, "and opens meanwhile");
        assert_eq!(bench.seen.jog_obstacle, None);
        let longest = hold(&mut bench, Drive::of_tip(up, 0.0), 8.0);
        assert!(longest <= 1.0 + 1e-3, "{longest}");
        assert!(bench.seen.jog_obstacle.is_some());
        assert_eq!(hold(&mut bench, Drive::of_tip(up, 0.0), 0.2), 0.0);
        bench.tick(vec![Command::Drive(Drive::default())]);
        bench.tick(vec![]);
        assert_eq!(bench.seen.jog_obstacle, None);
    }

    /// The limits slow a joint down; a goal that stayed behind would draw it back.
    #[test]
    fn an_arm_that_runs_out_after_the_hand_let_go_does_not_come_back() {
        let mut bench = jogging();
        hold(&mut bench, Drive::of_joint(Joint::ShoulderPan, 40.0), 0.5);
        let mut said = vec![Command::Drive(Drive::default())];
        for by in [0.5, 0.3, 0.1] {
            let mut pose = bench.seen.commanded;
            pose[Joint::ShoulderPan] += by;
            bench.kept_at = Some(pose);
            bench.tick(std::mem::take(&mut said));
        }
        bench.kept_at = None;
        let end = bench.seen.commanded;
        assert_still(&mut bench, 10);
        assert_eq!(bench.pose, end);
    }

    #[test]
    fn a_joint_stops_at_its_limit_and_an_arm_that_is_held_back_is_not_run_away_from() {
        let mut bench = jogging();
        bench.limits = [JointVec([-30.0; 6]), JointVec([55.0; 6])];
        hold(&mut bench, Drive::of_joint(Joint::ShoulderPan, -40.0), 2.0);
        assert_eq!(bench.pose[Joint::ShoulderPan], -30.0);
        bench.kept_at = Some(bench.pose);
        hold(&mut bench, Drive::of_joint(Joint::ShoulderPan, 40.0), 1.0);
        let lead = bench.seen.jog.max_abs_diff(bench.pose);
        assert!(lead <= MOST_LEAD + 1.0, "{lead}");
        assert!(
            bench
                .seen
                .jog_obstacle
                .as_deref()
                .is_some_and(|why| why.contains("follow"))
        );
    }

    #[test]
    fn nobody_drives_in_another_mode_or_with_what_is_not_a_number() {
        let mut bench = jogging();
        hold(
            &mut bench,
            Drive::of_joint(Joint::ShoulderPan, f32::NAN),
            0.2,
        );
        bench.tick(vec![Command::SetMode(Mode::Hold)]);
        hold(&mut bench, Drive::of_joint(Joint::ShoulderPan, 40.0), 0.2);
        assert_eq!(bench.pose[Joint::ShoulderPan], 0.0);
        bench.tick(vec![Command::SetMode(Mode::Jog)]);
        assert_still(&mut bench, 10);
    }
}
