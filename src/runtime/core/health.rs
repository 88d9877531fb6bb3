//! Watching over the arm while it is driven: heat, overload, and a supply that sags end a run before they end a servo.
//!
//! The driver's own reflexes act at once (less torque for an overloaded gripper, less speed on a weak supply); what needs a
//! decision about who drives is decided here.

use std::time::Duration;

use crate::arm::{AlarmKind, Cut};
use crate::joint::{JOINT_COUNT, Joint};
use crate::runtime::core::Control;
use crate::runtime::fault_book::{Words, words};
use crate::runtime::health::{Health, Latched};
use crate::runtime::{FaultKind, Mode};

/// Readings in a row after which a servo is hot: one may be wrong.
const HOT_READINGS: u32 = 3;
/// A hot servo has cooled down below this, °C.
const COOL_CELSIUS: i32 = 58;
/// How long the supply may sag with the arm slowed down before the run is stopped.
const SAG_LIMIT: Duration = Duration::from_millis(500);
/// How long the supply must be right before it is believed.
const STEADY: Duration = Duration::from_secs(1);
/// How long a cleared overload may take to go: it is read once a tick.
const CLEARING: Duration = Duration::from_millis(500);
/// How long the arm is said to be before an obstacle after it was last.
const OBSTACLE_LINGERS: Duration = Duration::from_secs(2);

/// What is remembered of the arm's health.
#[derive(Debug, Default)]
pub(super) struct HealthWatch {
    seen: Health,
    latched: [Option<Latched>; JOINT_COUNT],
    /// Until when an overload of a joint that was just cleared is not news.
    clearing: [Duration; JOINT_COUNT],
    /// Joints whose alarms the arm itself is to clear.
    pub clears: Vec<Joint>,
    hot: [u32; JOINT_COUNT],
    /// Readings in a row with a broken position sensor or too much current, by joint.
    broken: [u32; JOINT_COUNT],
    /// Since when the supply has been weak, and when it was last.
    sag: Option<(Duration, Duration)>,
    sag_stopped: bool,
    obstacle: Option<(Cut, Duration)>,
    /// Why the arm is to be put down, and nobody may drive it.
    standing_down: Option<String>,
}

impl HealthWatch {
    /// What the window sees.
    pub fn view(&self) -> Health {
        let mut view = self.seen.clone();
        for (joint, latched) in view.joints.iter_mut().zip(&self.latched) {
            joint.latched.clone_from(latched);
        }
        view.unfit = self.unfit();
        view
    }

    /// Why nobody may drive the arm now.
    pub fn unfit(&self) -> Option<String> {
        let sag = || "the supply of the arm is too weak".to_owned();
        let hot = self.standing_down.clone();
        hot.or_else(|| (self.sag.is_some() && self.sag_stopped).then(sag))
    }

    /// Torque has come on anew, which clears overloads in the servos: nothing is left to be cleared, and no gripper goes limp
    /// for what was asked before.
    pub fn armed(&mut self) {
        self.latched = Default::default();
        self.clears.clear();
    }

    /// There is no arm any more.
    pub fn forget(&mut self) {
        *self = Self::default();
    }
}

impl Control {
    /// Takes in how the arm is.
    pub(super) fn watch_health(&mut self, health: Health) {
        if health.rejected > self.health.seen.rejected {
            let what = format!(
                "{} values of goals so far were no numbers and were not sent",
                health.rejected
            );
            let remedy = "The joint keeps its last goal. Look at who drives: a policy may have bad statistics.";
            let kind = FaultKind::BadAction;
            self.faults
                .flash(self.now, kind, "goal", words(what, remedy));
        }
        self.health.seen = health;
        for joint in Joint::ALL {
            self.watch_overload(joint);
            self.watch_heat(joint);
            self.watch_breakage(joint);
        }
        if self.health.hot.iter().all(|readings| *readings == 0) {
            self.health.standing_down = None;
        }
        self.watch_supply();
        self.watch_obstacle();
    }

    /// An overload stays until the operator clears it. The gripper's reflexes go on with less; any other joint keeps a fifth
    /// of its strength then, and nobody may drive an arm that cannot hold itself.
    fn watch_overload(&mut self, joint: Joint) {
        let index = joint.index();
        let is_news = self.health.seen.joint(joint).has(AlarmKind::Overload)
            && self.health.latched[index].is_none()
            && self.now >= self.health.clearing[index];
        if !is_news {
            return;
        }
        let told = overload_words(joint);
        self.health.latched[index] = Some(Latched {
            what: told.what.clone(),
            remedy: told.remedy.clone(),
            since: self.now,
        });
        if joint != Joint::Gripper && self.arm.armed && !self.is_letting_go() {
            self.stop(&format!("an overload of {joint}"));
        }
        let kind = FaultKind::Overload;
        self.faults.raise(self.now, kind, joint.name(), told);
    }

    /// The operator has seen to an overload.
    pub(super) fn clear_alarm(&mut self, joint: Joint) {
        let index = joint.index();
        self.health.latched[index] = None;
        self.health.clearing[index] = self.now + CLEARING;
        if self.arm.armed && !self.health.clears.contains(&joint) {
            self.health.clears.push(joint);
        }
        self.faults
            .set(self.now, FaultKind::Overload, joint.name(), || None);
    }

    fn watch_heat(&mut self, joint: Joint) {
        let index = joint.index();
        let seen = self.health.seen.joint(joint);
        let celsius = seen.celsius;
        let readings = match (seen.is_hot(), self.health.hot[index]) {
            (true, before) => before.saturating_add(1),
            // Once hot, it stays so until it has cooled down a little.
            (false, before) if before >= HOT_READINGS && celsius > COOL_CELSIUS => before,
            (false, _) => 0,
        };
        self.health.hot[index] = readings;
        let is_hot = readings >= HOT_READINGS;
        let told = is_hot.then(|| heat_words(joint, celsius));
        if let Some(told) = &told {
            self.stand_down(&told.what);
        }
        self.faults
            .set(self.now, FaultKind::Overheat, joint.name(), || told);
    }

    /// A joint that does not know where it is, or shorts its motor, must not be pushed on. One reading may be a bad one.
    fn watch_breakage(&mut self, joint: Joint) {
        let seen = self.health.seen.joint(joint);
        let broken = [AlarmKind::Encoder, AlarmKind::Overcurrent]
            .into_iter()
            .find(|alarm| seen.has(*alarm));
        let readings = &mut self.health.broken[joint.index()];
        *readings = broken.map_or(0, |_| readings.saturating_add(1));
        let is_news = *readings == HOT_READINGS;
        if let Some(alarm) = broken.filter(|_| is_news)
            && self.arm.armed
            && !self.is_letting_go()
        {
            self.stop(&format!("{joint}: {alarm}"));
        }
    }

    /// The arm is to be put down: whoever drives it stops, it folds itself up and then goes limp, and nobody may drive it
    /// while the cause lasts. Where it cannot be parked it goes on holding; a stop breaks it off.
    pub(super) fn stand_down(&mut self, why: &str) {
        if self.health.standing_down.is_some() {
            return;
        }
        self.health.standing_down = Some(why.to_owned());
        self.enter(Mode::Hold);
        if self.arm.armed && self.arm.change.is_none() && self.stopped.is_none() {
            self.park(true);
        }
    }

    /// A supply that sags is a matter of power, not of the bus: the arm is slowed down by the driver at once, and stopped
    /// when that does not help. Pushing on would make servos restart.
    fn watch_supply(&mut self) {
        let seen = &self.health.seen;
        let weak: Vec<Joint> = Joint::ALL
            .into_iter()
            .filter(|joint| seen.joint(*joint).has(AlarmKind::Voltage))
            .collect();
        self.health.sag = match (weak.is_empty(), self.health.sag) {
            (false, Some((since, _))) => Some((since, self.now)),
            (false, None) => Some((self.now, self.now)),
            (true, Some((_, last))) if self.now.saturating_sub(last) >= STEADY => None,
            (true, sag) => sag,
        };
        let Some((since, last)) = self.health.sag else {
            self.health.sag_stopped = false;
            self.faults.clear(FaultKind::Supply);
            return;
        };
        let lasted = last.saturating_sub(since);
        if lasted >= SAG_LIMIT && !self.health.sag_stopped {
            self.health.sag_stopped = true;
            if self.arm.armed && !self.is_letting_go() {
                self.stop("a supply that sags");
            }
        }
        let told = supply_words(&weak, self.health.seen.volts(), self.health.sag_stopped);
        self.faults
            .set(self.now, FaultKind::Supply, "", || Some(told));
    }

    /// Says what the arm was kept from hitting.
    fn watch_obstacle(&mut self) {
        if let Some(obstacle) = self.health.seen.obstacle {
            self.health.obstacle = Some((obstacle, self.now));
        }
        let lingers = |(_, at): &(Cut, Duration)| self.now.saturating_sub(*at) < OBSTACLE_LINGERS;
        let near = self.health.obstacle.filter(lingers);
        self.health.obstacle = near;
        self.faults.set(self.now, FaultKind::Clearance, "", || {
            near.map(|(obstacle, _)| {
                words(
                    format!("{obstacle}: it is not moved closer"),
                    "The other joints go on. Let whoever drives take another way. For an arm that does not stand on the table, \
                     say where the table is: --table MM, or --table none.",
                )
            })
        });
    }
}

fn overload_words(joint: Joint) -> Words {
    if joint == Joint::Gripper {
        words(
            "the gripper is overloaded: it is not closed further, and holds with less torque",
            "Open it, or take out what it squeezes. Then press Clear in the arm's health panel (V): it lets go for a moment.",
        )
    } else {
        words(
            format!("{joint} is overloaded: it protects itself with a fifth of its strength"),
            "Support the arm and take the load off. Press Clear in the arm's health panel, then Resume; if it comes back, \
             release torque and enable it again, and if it stays, power the arm off and on.",
        )
    }
}

fn heat_words(joint: Joint, celsius: i32) -> Words {
    words(
        format!("{joint} is at {celsius} °C: the arm is put down, and nobody may drive it"),
        "Let it cool. An arm that still holds heats it further: support it and release torque.",
    )
}

fn supply_words(weak: &[Joint], volts: f32, is_stopped: bool) -> Words {
    let where_to = match weak {
        [] => "a moment ago".to_owned(),
        all if all.len() == JOINT_COUNT => "at all servos".to_owned(),
        some => {
            let names: Vec<&str> = some.iter().map(|joint| joint.name()).collect();
            format!("at {}", names.join(", "))
        }
    };
    let done = if is_stopped {
        "the arm was stopped"
    } else {
        "it moves slower meanwhile"
    };
    words(
        format!("the supply is wrong {where_to} ({volts:.1} V): {done}"),
        "Check the supply: its voltage, its plugs, and that it is strong enough (12 V needs 5 A). Then resume.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::{Calibration, Limits};
    use crate::joint::JointVec;
    use crate::kinematics::Link;
    use crate::runtime::core::ArmOrder;
    use crate::runtime::core::bench::{Bench, Temper, flying};
    use crate::runtime::{Command, Knobs};

    fn complain(bench: &mut Bench, joint: Joint, alarm: AlarmKind) {
        bench.health.joints[joint.index()].alarms = vec![alarm];
    }

    fn active(bench: &Bench, kind: FaultKind) -> Option<String> {
        let fault = bench.fault(kind)?;
        fault.active.then(|| fault.what.clone())
    }

    #[test]
    fn an_overloaded_gripper_is_latched_until_it_is_cleared_and_the_run_goes_on() {
        let mut bench = flying(50);
        complain(&mut bench, Joint::Gripper, AlarmKind::Overload);
        bench.tick(vec![]);
        bench.health.joints[5].alarms.clear();
        bench.run(1.0);
        assert!(active(&bench, FaultKind::Overload).is_some_and(|it| it.contains("gripper")));
        let latched = bench.seen.health.joint(Joint::Gripper).latched.clone();
        assert!(latched.is_some_and(|it| it.remedy.contains("Clear")));
        assert_eq!(
            (bench.seen.mode, &bench.seen.stopped),
            (Mode::Policy, &None)
        );
        // It complains still when the operator clears it: the arm is told to, and that takes a moment.
        complain(&mut bench, Joint::Gripper, AlarmKind::Overload);
        bench.tick(vec![Command::ClearAlarm(Joint::Gripper)]);
        assert_eq!(bench.order, ArmOrder::ClearAlarm(Joint::Gripper));
        bench.run(1.0);
        assert_eq!(active(&bench, FaultKind::Overload), None);
        assert_eq!(bench.seen.health.joint(Joint::Gripper).latched, None);
        complain(&mut bench, Joint::Gripper, AlarmKind::Overload);
        bench.tick(vec![]);
        assert_eq!(bench.fault(FaultKind::Overload).map(|it| it.count), Some(2));
    }

    #[test]
    fn a_broken_sensor_stops_the_arm_and_one_bad_reading_does_not() {
        let mut bench = flying(50);
        complain(&mut bench, Joint::ElbowFlex, AlarmKind::Encoder);
        bench.tick(vec![]);
        bench.tick(vec![]);
        bench.health.joints[2].alarms.clear();
        bench.run(0.5);
        assert_eq!(bench.seen.stopped, None);
        complain(&mut bench, Joint::ElbowFlex, AlarmKind::Encoder);
        bench.run(0.5);
        let stopped = bench.seen.stopped.clone().unwrap();
        assert!(stopped.by.contains("elbow_flex"), "{}", stopped.by);
    }

    #[test]
    fn what_was_to_be_cleared_is_forgotten_with_the_torque() {
        let mut bench = flying(50);
        complain(&mut bench, Joint::Gripper, AlarmKind::Overload);
        bench.tick(vec![]);
        let gripper = Command::ClearAlarm(Joint::Gripper);
        bench.tick(vec![gripper.clone(), Command::ReleaseTorque]);
        bench.until(1.0, |bench| !bench.torque);
        bench.health.joints[5].alarms.clear();
        bench.tick(vec![Command::EnableTorque]);
        for _ in 0..10 {
            bench.tick(vec![]);
            assert_ne!(bench.order, ArmOrder::ClearAlarm(Joint::Gripper));
        }
        assert!(bench.torque);
        // Asked for twice at once, it is done once.
        bench.tick(vec![gripper.clone(), gripper]);
        assert_eq!(bench.order, ArmOrder::ClearAlarm(Joint::Gripper));
        bench.tick(vec![]);
        assert!(matches!(bench.order, ArmOrder::Send(_)));
    }

    #[test]
    fn an_overloaded_body_joint_stops_the_arm() {
        let mut bench = flying(50);
        complain(&mut bench, Joint::ElbowFlex, AlarmKind::Overload);
        bench.tick(vec![]);
        assert_eq!(bench.order, ArmOrder::Freeze);
        let stopped = bench.seen.stopped.as_ref().map(|it| it.by.as_str());
        assert_eq!(stopped, Some("an overload of elbow_flex"));
        assert!(active(&bench, FaultKind::Overload).is_some_and(|it| it.contains("elbow_flex")));
    }

    #[test]
    fn a_hot_servo_puts_the_arm_down_and_one_wrong_reading_does_not() {
        let mut bench = flying(50);
        complain(&mut bench, Joint::WristRoll, AlarmKind::Hot);
        bench.health.joints[4].celsius = 66;
        bench.tick(vec![]);
        bench.health.joints[4].alarms.clear();
        bench.run(1.0);
        assert_eq!(
            (bench.seen.mode, active(&bench, FaultKind::Overheat)),
            (Mode::Policy, None)
        );
        complain(&mut bench, Joint::WristRoll, AlarmKind::Hot);
        bench.run(0.2);
        assert_eq!(bench.seen.mode, Mode::Hold);
        assert!(active(&bench, FaultKind::Overheat).is_some_and(|it| it.contains("66 °C")));
        assert!(bench.seen.health.unfit.is_some());
        bench.tick(vec![Command::SetMode(Mode::Policy)]);
        assert_eq!(bench.seen.mode, Mode::Hold);
        let why = "POLICY was asked for, but wrist_roll is at 66 °C";
        let mut faults = bench.seen.faults.iter();
        assert!(faults.any(|it| it.active && it.what.starts_with(why)));
        // Warm is not cool.
        bench.health.joints[4].alarms = vec![AlarmKind::Warm];
        bench.health.joints[4].celsius = 62;
        bench.run(1.0);
        assert!(bench.seen.health.unfit.is_some());
        bench.health.joints[4].celsius = 57;
        bench.tick(vec![]);
        assert_eq!(bench.seen.health.unfit, None);
        bench.tick(vec![Command::EnableTorque]);
        bench.tick(vec![Command::SetMode(Mode::Policy)]);
        assert_eq!(bench.seen.mode, Mode::Policy);
    }

    #[test]
    fn an_arm_that_is_put_down_is_parked_before_it_goes_limp() {
        let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
        bench.pose = JointVec([0.0, -50.0, 50.0, 50.0, 0.0, 20.0]);
        bench.limits = Limits::new(&Calibration::simulated()).ranges();
        bench.tick(vec![]);
        bench.tick(vec![Command::EnableTorque]);
        complain(&mut bench, Joint::ElbowFlex, AlarmKind::Overheated);
        bench.run(0.2);
        assert!(bench.seen.parking.is_some());
        bench.until(30.0, |bench| !bench.torque);
        assert!(
            bench.pose[Joint::ShoulderLift] < -85.0,
            "folded: {:?}",
            bench.pose
        );
        // A stop breaks it off: then it holds where it is.
        let mut bench = flying(50);
        complain(&mut bench, Joint::ElbowFlex, AlarmKind::Overheated);
        bench.presses = 1;
        bench.run(2.0);
        assert!(bench.torque && bench.seen.parking.is_none() && bench.seen.stopped.is_some());
    }

    #[test]
    fn a_supply_that_sags_is_said_at_once_and_stops_the_run_when_it_stays() {
        let mut bench = flying(50);
        for joint in Joint::ALL {
            complain(&mut bench, joint, AlarmKind::Voltage);
        }
        bench.tick(vec![]);
        assert!(active(&bench, FaultKind::Supply).is_some_and(|it| it.contains("all servos")));
        assert_eq!(bench.seen.mode, Mode::Policy);
        bench.health = Health::default();
        bench.run(2.0);
        assert_eq!(
            (bench.seen.mode, active(&bench, FaultKind::Supply)),
            (Mode::Policy, None)
        );
        complain(&mut bench, Joint::ShoulderLift, AlarmKind::Voltage);
        bench.run(0.4);
        assert_eq!(bench.seen.mode, Mode::Policy);
        bench.run(0.3);
        assert!(
            bench
                .seen
                .stopped
                .as_ref()
                .is_some_and(|it| it.acknowledged)
        );
        assert!(active(&bench, FaultKind::Supply).is_some_and(|it| it.contains("stopped")));
        bench.tick(vec![Command::Resume]);
        bench.tick(vec![Command::SetMode(Mode::Policy)]);
        assert_eq!(bench.seen.mode, Mode::Hold, "not while it sags");
        bench.health = Health::default();
        bench.run(1.5);
        bench.tick(vec![Command::SetMode(Mode::Policy)]);
        assert_eq!(bench.seen.mode, Mode::Policy);
    }

    #[test]
    fn what_the_arm_was_kept_from_is_named_for_a_while() {
        let mut bench = flying(50);
        bench.health.obstacle = Some(Cut::Table(Link::Gripper));
        bench.tick(vec![]);
        bench.health.obstacle = None;
        bench.run(1.0);
        assert!(active(&bench, FaultKind::Clearance).is_some_and(|it| it.contains("gripper")));
        bench.run(1.5);
        assert_eq!(active(&bench, FaultKind::Clearance), None);
        assert_eq!(bench.seen.mode, Mode::Policy);
        bench.health.rejected = 6;
        bench.tick(vec![]);
        assert!(active(&bench, FaultKind::BadAction).is_some_and(|it| it.contains('6')));
    }
}
