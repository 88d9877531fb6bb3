//! Turns a row of tip poses into joint values over time: quintic (min-jerk) legs that overlap a little, so that the arm flows
//! through corners, and no joint is faster than the driver would let it be.

use glam::{Vec2, Vec3};

use crate::joint::{Joint, JointVec};
use crate::kinematics::PAN_AXIS;
use crate::sim::expert::tip::{Tip, wrapped};

/// Time between two points of a path, seconds.
pub const STEP_S: f32 = 0.02;
/// Fastest and hardest motion of a body joint, degrees a second and a second squared; the driver allows 60 and 600.
const SPEED: f32 = 50.0;
const ACCELERATION: f32 = 420.0;
/// Shortest leg, seconds.
const SHORTEST: f32 = 0.15;
/// Poses at which a leg is looked at to find how long it takes.
const LOOKS: usize = 14;
/// Largest speed and acceleration of a quintic over one second and one unit.
const PEAK_ACCELERATION: f32 = 5.7735;
/// Time in which the arm gives up where it happens to be for where the path is, seconds.
const FADE: f32 = 0.5;

/// How the tip gets from one pose to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Around the pan axis, as the arm turns.
    Swing,
    /// Straight.
    Straight,
}

#[derive(Clone, Copy, Debug)]
struct Leg {
    from: Tip,
    to: Tip,
    way: Way,
    start: f32,
    time: f32,
}

impl Leg {
    /// The tip where this share of the leg has been gone.
    fn at(&self, share: f32) -> Tip {
        let lerp = |a: f32, b: f32| a + (b - a) * share;
        let position = match self.way {
            Way::Straight => self.from.position.lerp(self.to.position, share),
            Way::Swing => {
                let [a, b] = [self.from, self.to].map(|tip| tip.position.truncate() - PAN_AXIS);
                let turn = share * wrapped(b.to_angle() - a.to_angle());
                let flat = lerp(a.length(), b.length()) * Vec2::from_angle(a.to_angle() + turn);
                (PAN_AXIS + flat).extend(lerp(self.from.position.z, self.to.position.z))
            }
        };
        Tip {
            position,
            pitch: lerp(self.from.pitch, self.to.pitch),
            roll: lerp(self.from.roll, self.to.roll),
            across: lerp(self.from.across, self.to.across),
        }
    }

    /// The tip at a time of the path.
    fn when(&self, time: f32) -> Tip {
        self.at(quintic((time - self.start) / self.time))
    }

    /// How long it takes at `haste`, a share of full speed, seconds.
    fn duration(&self, haste: f32) -> f32 {
        let poses: Vec<JointVec> = (0..=LOOKS)
            .filter_map(|k| self.at(k as f32 / LOOKS as f32).joints(0.0))
            .collect();
        let mut time = SHORTEST;
        for (k, pair) in poses.windows(2).enumerate() {
            let step = pair[0].max_abs_diff(pair[1]) * LOOKS as f32;
            let share = (k as f32 + 0.5) / LOOKS as f32;
            time = time.max(step * quintic_speed_at(share) / (SPEED * haste));
        }
        let whole = poses
            .first()
            .zip(poses.last())
            .map_or(0.0, |(a, b)| a.max_abs_diff(*b));
        time.max((PEAK_ACCELERATION * whole / (ACCELERATION * haste)).sqrt())
    }
}

/// Share of the way after a share of the time, both 0 to 1: no speed and no acceleration at either end.
fn quintic(t: f32) -> f32 {
    let t = t.clamp(0.0, 1.0);
    t * t * t * (10.0 + t * (6.0 * t - 15.0))
}

/// Speed of a quintic where it has gone this share of its way, 1.875 in the middle.
fn quintic_speed_at(share: f32) -> f32 {
    let (mut low, mut high) = (0.0_f32, 1.0_f32);
    for _ in 0..12 {
        let middle = f32::midpoint(low, high);
        if quintic(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    let rest = low * (1.0 - low);
    30.0 * rest * rest
}

/// A motion of the gripper: percent open.
#[derive(Clone, Copy, Debug)]
struct Grip {
    start: f32,
    time: f32,
    to: f32,
    /// Where it comes to stand if there is something between the jaws.
    meets: f32,
}

/// Where the arm is when a path begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure {
    /// Robot units.
    pub joints: JointVec,
    /// Robot units a second.
    pub speeds: JointVec,
}

/// Builds a path pose by pose.
#[derive(Clone, Debug)]
pub struct Route {
    departure: Departure,
    legs: Vec<Leg>,
    grips: Vec<Grip>,
    first: Tip,
    now: f32,
}

impl Route {
    /// A route that begins where the arm is.
    pub fn from(departure: Departure) -> Self {
        let mut first = Tip::at(departure.joints);
        if first.joints(0.0).is_none() {
            // Folded up, or beyond what the closed form knows: begin at a pose that it knows, and fade into it.
            first = Tip::down(Vec3::new(0.2, 0.0, 0.1), first.across);
            let pan = -departure.joints[Joint::ShoulderPan].to_radians();
            first.position = (PAN_AXIS + 0.16 * Vec2::from_angle(pan)).extend(0.1);
        }
        Self {
            departure,
            legs: Vec::new(),
            grips: Vec::new(),
            first,
            now: 0.0,
        }
    }

    /// Where the route has come to.
    pub fn tip(&self) -> Tip {
        self.legs.last().map_or(self.first, |leg| leg.to)
    }

    /// Time that it takes so far, seconds.
    pub fn time(&self) -> f32 {
        self.now
    }

    /// Goes to a pose at `haste`, a share of full speed, beginning when this share of the leg before is still to go.
    pub fn go(&mut self, way: Way, to: Tip, haste: f32, overlap: f32) {
        let from = self.tip();
        let mut leg = Leg {
            from,
            to,
            way,
            start: self.now,
            time: 1.0,
        };
        leg.time = leg.duration(haste);
        if let Some(last) = self.legs.last()
            && last.start + last.time >= self.now - 1e-3
        {
            leg.start -= overlap * last.time.min(leg.time);
        }
        self.now = leg.start + leg.time;
        self.legs.push(leg);
    }

    /// Moves the gripper from now on; the arm goes on at once.
    pub fn grip(&mut self, percent: f32, meets: f32, rate: f32) {
        let last = self
            .grips
            .last()
            .map_or(self.departure.joints[Joint::Gripper], |grip| grip.to);
        let time = ((percent - last).abs() / rate).max(2.0 * STEP_S);
        self.grips.push(Grip {
            start: self.now,
            time,
            to: percent,
            meets,
        });
    }

    /// Moves the gripper and waits until it is there.
    pub fn grip_and_wait(&mut self, percent: f32, meets: f32, rate: f32) {
        self.grip(percent, meets, rate);
        self.now += self.grips.last().map_or(0.0, |grip| grip.time);
    }

    /// Stands still, seconds.
    pub fn wait(&mut self, seconds: f32) {
        self.now += seconds;
    }

    /// The joint values over time.
    pub fn path(&self) -> Path {
        let fade = Fade::of(self.departure, self.first);
        let settled = self
            .grips
            .iter()
            .map(|grip| grip.start + grip.time)
            .fold(self.now, f32::max);
        let count = (settled.max(FADE) / STEP_S).ceil() as usize + 1;
        let mut last = self.first.joints(0.0).unwrap_or(self.departure.joints);
        let mut path = Path {
            commands: Vec::with_capacity(count),
            grips: Vec::with_capacity(count),
        };
        let mut done = 0;
        for k in 0..count {
            let time = k as f32 * STEP_S;
            while self
                .legs
                .get(done)
                .is_some_and(|leg| leg.start + leg.time < time)
            {
                done += 1;
            }
            // Where the arm cannot go it stays where it was; poses were chosen so that this does not happen.
            last = self.when(time, done).joints(0.0).unwrap_or(last);
            let mut command = fade.when(time, last);
            let [sent, met] = self.gripper(time);
            command[Joint::Gripper] = sent;
            path.commands.push(command);
            path.grips.push(met);
        }
        path
    }

    /// The tip at a time; legs before `done` are over.
    fn when(&self, time: f32, done: usize) -> Tip {
        let before = done
            .checked_sub(1)
            .and_then(|k| self.legs.get(k))
            .map_or(self.first, |leg| leg.to);
        let active = self.legs[done.min(self.legs.len())..]
            .iter()
            .take_while(|leg| leg.start <= time);
        active.fold(before, |tip, leg| {
            let here = leg.when(time);
            Tip {
                position: tip.position + here.position - leg.from.position,
                pitch: tip.pitch + here.pitch - leg.from.pitch,
                roll: tip.roll + here.roll - leg.from.roll,
                across: tip.across + here.across - leg.from.across,
            }
        })
    }

    /// Percent open: what is sent, and what will be sensed.
    fn gripper(&self, time: f32) -> [f32; 2] {
        let mut at = [self.departure.joints[Joint::Gripper]; 2];
        for grip in self.grips.iter().take_while(|grip| grip.start <= time) {
            let share = ((time - grip.start) / grip.time).clamp(0.0, 1.0);
            at[0] += (grip.to - at[0]) * share;
            // What is between the jaws stops them.
            at[1] = at[0].max(grip.meets);
        }
        at
    }
}

/// What is left of the difference between where the arm was and where the route begins.
#[derive(Clone, Copy, Debug)]
struct Fade {
    off: JointVec,
    speeds: JointVec,
    time: f32,
}

impl Fade {
    fn of(departure: Departure, first: Tip) -> Self {
        let known = first
            .joints(departure.joints[Joint::Gripper])
            .unwrap_or(departure.joints);
        let off = departure.joints.zip(known, |is, known| is - known);
        let far = off.0[..5]
            .iter()
            .fold(0.0_f32, |far, degrees| far.max(degrees.abs()));
        Self {
            off,
            speeds: departure.speeds,
            time: FADE.max(1.875 * far / SPEED),
        }
    }

    /// The path's joints, and what is left: a quintic from the first place and speed to rest at nothing.
    fn when(&self, time: f32, joints: JointVec) -> JointVec {
        let t = (time / self.time).clamp(0.0, 1.0);
        let place = 1.0 - quintic(t);
        let speed = t * (1.0 - t).powi(3) * (1.0 + 3.0 * t) * self.time;
        JointVec::from_fn(|joint| {
            joints[joint] + place * self.off[joint] + speed * self.speeds[joint]
        })
    }
}

/// Joint values at even steps of time.
#[derive(Clone, Debug, Default)]
pub struct Path {
    commands: Vec<JointVec>,
    /// Percent open that the gripper will have where something stops it.
    grips: Vec<f32>,
}

impl Path {
    /// Seconds from its first to its last point.
    pub fn end(&self) -> f32 {
        self.commands.len().saturating_sub(1) as f32 * STEP_S
    }

    /// What to send at a time of the path, robot units; its ends go on for ever.
    pub fn command(&self, time: f32) -> JointVec {
        let (Some(last), at) = (self.commands.last(), (time / STEP_S).max(0.0)) else {
            return JointVec::default();
        };
        let k = at as usize;
        match (self.commands.get(k), self.commands.get(k + 1)) {
            (Some(a), Some(b)) => a.zip(*b, |a, b| a + (b - a) * (at - k as f32)),
            _ => *last,
        }
    }

    /// Where the arm is to be expected at a point of the path, robot units.
    pub fn expected(&self, index: usize) -> Option<JointVec> {
        let mut joints = *self.commands.get(index)?;
        joints[Joint::Gripper] = *self.grips.get(index)?;
        Some(joints)
    }

    /// Speed of the commands at a time, robot units a second.
    pub fn speed(&self, time: f32) -> JointVec {
        let (before, after) = (self.command(time - STEP_S), self.command(time + STEP_S));
        after.zip(before, |after, before| (after - before) / (2.0 * STEP_S))
    }

    /// How many points it has.
    pub fn len(&self) -> usize {
        self.commands.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::vec3;

    const HOME: JointVec = JointVec([0.0, -50.0, 50.0, 50.0, 0.0, 20.0]);

    fn standing() -> Departure {
        Departure {
            joints: HOME,
            speeds: JointVec::default(),
        }
    }

    fn there_and_down() -> Route {
        let mut route = Route::from(standing());
        let over = Tip::down(vec3(0.2, 0.1, 0.08), 0.011).facing(0.9).unwrap();
        route.go(Way::Swing, over, 1.0, 0.0);
        route.grip(40.0, 0.0, 80.0);
        route.go(Way::Straight, over.at_height(0.0125), 1.0, 0.3);
        route.grip_and_wait(5.0, 15.0, 80.0);
        route
    }

    #[test]
    fn a_path_begins_where_the_arm_is_ends_where_it_was_sent_and_keeps_the_speed() {
        let route = there_and_down();
        let path = route.path();
        assert!(path.command(0.0).max_abs_diff(HOME) < 0.01);
        let goal = route.tip().joints(5.0).unwrap();
        assert!(path.command(99.0).max_abs_diff(goal) < 0.05);
        let mut fastest = 0.0_f32;
        for k in 0..path.len() {
            let speeds = path.speed(k as f32 * STEP_S);
            fastest = speeds.0[..5]
                .iter()
                .fold(fastest, |most, speed| most.max(speed.abs()));
        }
        assert!(
            (40.0..60.0).contains(&fastest),
            "{fastest} degrees a second"
        );
    }

    #[test]
    fn a_path_takes_up_the_speed_that_the_arm_has() {
        let mut departure = standing();
        departure.speeds = JointVec([20.0, -10.0, 5.0, 0.0, 30.0, 0.0]);
        let mut route = Route::from(departure);
        route.go(Way::Swing, Tip::down(vec3(0.2, 0.1, 0.08), 0.011), 1.0, 0.0);
        let path = route.path();
        let first = path
            .command(STEP_S)
            .zip(path.command(0.0), |b, a| (b - a) / STEP_S);
        for joint in &Joint::ALL[..5] {
            assert!(
                (first[*joint] - departure.speeds[*joint]).abs() < 3.0,
                "{joint}: {}",
                first[*joint]
            );
        }
    }

    #[test]
    fn the_gripper_is_expected_where_the_cube_stops_it() {
        let path = there_and_down().path();
        let last = path.len() - 1;
        assert_eq!(path.command(99.0)[Joint::Gripper], 5.0);
        assert_eq!(path.expected(last).unwrap()[Joint::Gripper], 15.0);
        assert_eq!(path.expected(path.len()), None);
    }

    #[test]
    fn legs_flow_into_each_other_without_a_jump() {
        let path = there_and_down().path();
        for k in 1..path.len() - 1 {
            let [a, b, c] = [k - 1, k, k + 1].map(|k| path.command(k as f32 * STEP_S));
            for joint in &Joint::ALL[..5] {
                let bend = (c[*joint] - 2.0 * b[*joint] + a[*joint]) / (STEP_S * STEP_S);
                assert!(bend.abs() < 900.0, "{joint} at {k}: {bend}");
            }
        }
    }
}
