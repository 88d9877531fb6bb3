//! Parking: the arm folds itself up slowly, high first where it is low, to a pose from which it sinks only a little when its
//! torque goes off. There are no brakes: whatever is let go of in the air, falls.

use std::f32::consts::FRAC_PI_8;
use std::time::Duration;

use glam::Vec3;

use crate::arm::Clearance;
use crate::joint::{Joint, JointVec};
use crate::kinematics::{ToolTarget, inverse, radians_from_robot, robot_from_radians};
use crate::runtime::core::approach::Ramp;
use crate::runtime::core::{Control, Wanted};
use crate::runtime::fault_book::words;
use crate::runtime::{Connection, FaultKind, Mode};

/// Folded over the base, the gripper two centimetres above the table. The gripper itself stays as it is: it may hold a thing.
const REST: JointVec = JointVec([0.0, -90.0, 85.0, 55.0, 0.0, 0.0]);
/// Degrees from the rest pose that are at rest all the same.
const AT_REST: f32 = 3.0;
/// An arm that is lower than this is lifted first, metres: there are things on the table.
const LOW: f32 = 0.08;
/// How far it is lifted, metres, by preference, and how much its pitch may give way for it, in eighths of a half turn.
const LIFTS: [f32; 3] = [0.08, 0.05, 0.03];
const GIVES: [f32; 4] = [0.0, -0.5, -1.0, -1.5];
/// The way keeps this far from the table, metres, or as far as the arm was at its beginning.
const ROOM: f32 = 0.015;
/// Poses looked at on each leg of the way.
const LOOKS: u16 = 24;
/// No leg takes less time, seconds.
const LEAST_S: f32 = 0.5;

/// How long an arm is waited for that does not come along.
const PATIENCE: Duration = Duration::from_secs(3);

/// What parking does next.
enum Next {
    Go(JointVec),
    There,
    /// Something is in the way.
    Stuck,
}

/// Parking under way.
#[derive(Debug)]
pub(super) struct Parking {
    /// The poses to go to, in order.
    way: Vec<JointVec>,
    leg: usize,
    ramp: Ramp,
    /// Seconds of all legs, and of those that are done.
    lasts: f32,
    done: f32,
    /// How long the arm has been waited for at the end of a leg.
    waited: Duration,
    /// Torque goes off at the end.
    then_release: bool,
}

impl Parking {
    fn new(from: JointVec, way: Vec<JointVec>, then_release: bool) -> Option<Self> {
        let first = *way.first()?;
        let starts = std::iter::once(from).chain(way.iter().copied());
        let legs = starts
            .zip(&way)
            .map(|(from, to)| Ramp::new(from, *to, LEAST_S).lasts());
        Some(Self {
            lasts: legs.sum(),
            ramp: Ramp::new(from, first, LEAST_S),
            way,
            leg: 0,
            done: 0.0,
            waited: Duration::ZERO,
            then_release,
        })
    }

    /// The share that is done, 0 to 1.
    pub fn share(&self) -> f32 {
        ((self.done + self.ramp.share() * self.ramp.lasts()) / self.lasts).min(1.0)
    }

    /// What to do next.
    fn step(&mut self, period: Duration, commanded: JointVec) -> Next {
        let Some(to) = self.way.get(self.leg).copied() else {
            return Next::There;
        };
        if !self.ramp.is_over() {
            return Next::Go(self.ramp.advance(period, commanded, to));
        }
        if commanded.max_abs_diff(to) > AT_REST {
            // The limits hold it back.
            self.waited += period;
            return if self.waited > PATIENCE {
                Next::Stuck
            } else {
                Next::Go(to)
            };
        }
        self.waited = Duration::ZERO;
        self.done += self.ramp.lasts();
        self.leg += 1;
        let Some(to) = self.way.get(self.leg).copied() else {
            return Next::There;
        };
        self.ramp = Ramp::new(commanded, to, LEAST_S);
        Next::Go(self.ramp.advance(period, commanded, to))
    }
}

impl Control {
    /// Begins to park; torque goes off at the end if that is wanted.
    pub(super) fn park(&mut self, then_release: bool) {
        if let Some(parking) = &mut self.parking {
            parking.then_release |= then_release;
            return;
        }
        if let Some(why) = self.park_obstacle() {
            let remedy = "Nothing was moved. Stopped: press Resume first. Limp: switch the torque on, or leave it as it is.";
            self.faults
                .flash(self.now, FaultKind::Arming, "park", words(why, remedy));
            return;
        }
        self.enter(Mode::Hold);
        let from = self.arm.commanded;
        let rest = at_rest(from, self.arm.limits);
        if is_parked(from, self.arm.limits) {
            self.arm.wants = if then_release {
                Wanted::Release
            } else {
                Wanted::Nothing
            };
            return;
        }
        let Some(way) = way(from, rest, self.arm.limits, self.arm.clearance) else {
            let told = words(
                "the arm cannot be parked from here: every way that was tried comes too close to the table or to the arm itself",
                "Raise the gripper with JOG, then park again. Nothing was moved.",
            );
            self.faults.flash(self.now, FaultKind::Arming, "park", told);
            return;
        };
        self.parking = Parking::new(from, way, then_release);
        self.sample.changed = true;
    }

    /// The goal of this tick while the arm parks.
    pub(super) fn park_on(&mut self, period: Duration) -> Option<JointVec> {
        let commanded = self.arm.commanded;
        let parking = self.parking.as_mut()?;
        match parking.step(period, commanded) {
            Next::Go(goal) => return Some(goal),
            Next::There if parking.then_release => self.arm.wants = Wanted::Release,
            Next::There => {}
            Next::Stuck => {
                let told = words(
                    "the arm was not parked: it does not come to its rest pose, and torque stays on",
                    "Look what is in its way, raise the gripper with JOG, then park again.",
                );
                self.faults.flash(self.now, FaultKind::Arming, "park", told);
            }
        }
        self.parking = None;
        self.sample.changed = true;
        None
    }

    /// The arm stands where parking would bring it.
    pub(super) fn is_parked(&self) -> bool {
        self.arm.armed && is_parked(self.arm.commanded, self.arm.limits)
    }

    fn park_obstacle(&self) -> Option<String> {
        let cannot = |why: &str| Some(format!("the arm cannot be parked: {why}"));
        let armed = self.arm.armed && self.arm.change.is_none();
        match self.arm.connection {
            _ if self.stopped.is_some() => cannot("it is stopped"),
            Connection::Connected { .. } if armed => None,
            Connection::Connected { .. } => cannot("its torque is off, or about to be"),
            _ => cannot("it is not connected"),
        }
    }
}

/// The rest pose of this arm with the gripper as it is.
fn at_rest(from: JointVec, [lower, upper]: [JointVec; 2]) -> JointVec {
    JointVec::from_fn(|joint| match joint {
        Joint::Gripper => from[joint],
        _ => REST[joint].max(lower[joint]).min(upper[joint]),
    })
}

fn is_parked(pose: JointVec, limits: [JointVec; 2]) -> bool {
    at_rest(pose, limits).max_abs_diff(pose) <= AT_REST
}

/// A way to `rest` that keeps clear of the table and of the arm itself, if one is found among a few; straight there for an
/// arm that nobody knows the place of.
fn way(
    from: JointVec,
    rest: JointVec,
    limits: [JointVec; 2],
    clearance: Option<Clearance>,
) -> Option<Vec<JointVec>> {
    let direct = vec![rest];
    let Some(clearance) = clearance else {
        return Some(direct);
    };
    let start = clearance.above_table(from);
    let mut ways = Vec::new();
    if start < LOW {
        let lifted = lifts(from, limits);
        ways.extend(lifted.into_iter().map(|lifted| vec![lifted, rest]));
        ways.push(direct);
    } else {
        ways.push(direct);
    }
    for joint in [Joint::ShoulderLift, Joint::WristFlex] {
        for by in [-40.0, 40.0] {
            let mut aside = from;
            aside[joint] = (from[joint] + by)
                .max(limits[0][joint])
                .min(limits[1][joint]);
            ways.push(vec![aside, rest]);
        }
    }
    let clear = start.min(ROOM) - 1e-3;
    let is_clear = |way: &Vec<JointVec>| {
        lowest(&clearance, from, way) >= clear && keeps_clear(&clearance, from, way)
    };
    ways.into_iter().find(is_clear)
}

/// No leg would be cut off by the driver, which keeps the arm away from the table and from itself.
fn keeps_clear(clearance: &Clearance, from: JointVec, way: &[JointVec]) -> bool {
    let starts = std::iter::once(&from).chain(way);
    starts
        .zip(way)
        .all(|(from, to)| clearance.is_clear(*from, *to))
}

/// Poses with the gripper straight above where it is; the higher and the more upright it stays, the earlier.
fn lifts(from: JointVec, [lower, upper]: [JointVec; 2]) -> Vec<JointVec> {
    let at = ToolTarget::at(radians_from_robot(from));
    let mut found = Vec::new();
    for lift in LIFTS {
        for give in GIVES {
            let target = ToolTarget {
                position: at.position + Vec3::Z * lift,
                pitch: at.pitch + give * FRAC_PI_8,
                ..at
            };
            let Ok([pan, shoulder, elbow, wrist, roll]) = inverse(&target) else {
                continue;
            };
            let mut pose = robot_from_radians([pan, shoulder, elbow, wrist, roll, 0.0]);
            pose[Joint::Gripper] = from[Joint::Gripper];
            let inside = |joint: &Joint| (lower[*joint]..=upper[*joint]).contains(&pose[*joint]);
            if Joint::ALL[..5].iter().all(inside) {
                found.push(pose);
            }
        }
    }
    found
}

/// The lowest above the table that any part of the arm gets on the way, metres.
fn lowest(clearance: &Clearance, from: JointVec, way: &[JointVec]) -> f32 {
    let starts = std::iter::once(&from).chain(way);
    let legs = starts.zip(way);
    let heights = legs.flat_map(|(from, to)| {
        (0..=LOOKS).map(|look| {
            let share = f32::from(look) / f32::from(LOOKS);
            clearance.above_table(from.zip(*to, |a, b| a + (b - a) * share))
        })
    });
    heights.fold(f32::INFINITY, f32::min)
}

#[cfg(test)]
mod tests {
    use glam::vec3;

    use super::*;
    use crate::arm::{Calibration, Limits};
    use crate::runtime::core::ArmOrder;
    use crate::runtime::core::bench::{Bench, Temper, assert_still};
    use crate::runtime::{Command, Knobs};

    fn limits() -> [JointVec; 2] {
        Limits::new(&Calibration::simulated()).ranges()
    }

    fn height(pose: JointVec) -> f32 {
        Clearance::default().above_table(pose)
    }

    /// An armed arm in this pose.
    fn armed(pose: JointVec) -> Bench {
        let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
        (bench.pose, bench.limits) = (pose, limits());
        bench.tick(vec![]);
        bench.tick(vec![Command::EnableTorque]);
        bench
    }

    /// Gripper down at the table, off to one side.
    fn down() -> JointVec {
        let target = ToolTarget::pinch(vec3(0.2, -0.12, 0.03), 1.2);
        let [pan, lift, elbow, wrist, roll] = inverse(&target).unwrap();
        let mut pose = robot_from_radians([pan, lift, elbow, wrist, roll, 0.0]);
        pose[Joint::Gripper] = 40.0;
        pose
    }

    #[test]
    fn a_low_arm_is_lifted_first_and_then_folded_slowly() {
        let start_pose = down();
        let mut bench = armed(start_pose);
        let start = height(start_pose);
        assert!((0.0..0.04).contains(&start), "{start}");
        let tip = |pose| ToolTarget::at(radians_from_robot(pose)).position;
        bench.tick(vec![Command::Park]);
        assert!(bench.seen.parking.is_some() && bench.seen.mode == Mode::Hold);
        let mut lifted = false;
        while bench.seen.parking.is_some() {
            let before = bench.pose;
            bench.tick(vec![]);
            let step = before.zip(bench.pose, |a, b| b - a);
            assert!(
                step.0[..5].iter().all(|step| step.abs() <= 30.1 / 30.0),
                "{step:?}"
            );
            assert!(height(bench.pose) > start.min(ROOM) - 2e-3);
            let off = tip(bench.pose) - tip(start_pose);
            lifted |= off.z > 0.045;
            assert!(
                lifted || off.truncate().length() < 0.02,
                "sideways while low: {off}"
            );
            assert!(bench.now < Duration::from_secs(30));
        }
        let rest = at_rest(start_pose, limits());
        assert!(bench.pose.max_abs_diff(rest) < 0.1 && bench.seen.parked);
        assert_eq!(bench.pose[Joint::Gripper], 40.0, "what it holds is kept");
        assert!(bench.torque && (0.01..0.05).contains(&height(bench.pose)));
        assert_still(&mut bench, 30);
    }

    #[test]
    fn torque_goes_off_only_when_it_is_parked() {
        let mut bench = armed(down());
        bench.tick(vec![Command::ParkAndRelease]);
        bench.until(30.0, |bench| bench.seen.parking.is_none());
        assert!(bench.seen.parked);
        bench.until(1.0, |bench| !bench.torque);
        let rest = bench.pose;
        bench.tick(vec![Command::EnableTorque]);
        bench.tick(vec![Command::ParkAndRelease]);
        assert_eq!(
            (bench.order, bench.pose),
            (ArmOrder::ReleaseTorque, rest),
            "it is parked already"
        );
    }

    #[test]
    fn a_stop_a_mode_and_a_hold_break_it_off() {
        let breaks: [fn(&mut Bench); 3] = [
            |bench| bench.presses += 1,
            |bench| {
                bench.tick(vec![Command::SetMode(Mode::Jog)]);
            },
            |bench| {
                bench.tick(vec![Command::SetMode(Mode::Hold)]);
            },
        ];
        for (n, break_off) in breaks.into_iter().enumerate() {
            let mut bench = armed(down());
            bench.tick(vec![Command::ParkAndRelease]);
            bench.run(1.0);
            break_off(&mut bench);
            bench.tick(vec![]);
            assert_eq!(bench.seen.parking, None, "{n}");
            assert_still(&mut bench, 60);
            assert!(bench.torque, "{n}");
        }
    }

    #[test]
    fn an_arm_that_does_not_come_along_is_not_let_go() {
        let mut bench = armed(down());
        bench.tick(vec![Command::ParkAndRelease]);
        bench.run(2.0);
        bench.kept_at = Some(bench.pose);
        bench.until(30.0, |bench| bench.seen.parking.is_none());
        bench.run(1.0);
        assert!(bench.torque && !bench.seen.parked);
        assert!(
            bench
                .fault(FaultKind::Arming)
                .is_some_and(|it| it.what.contains("not parked"))
        );
    }

    #[test]
    fn the_table_is_where_the_operator_said() {
        let parked_at = |table| {
            let mut bench = armed(JointVec([0.0, -50.0, 50.0, 50.0, 0.0, 20.0]));
            bench.clearance = Some(Clearance {
                table,
                ..Clearance::default()
            });
            bench.tick(vec![]);
            bench.tick(vec![Command::ParkAndRelease]);
            let refused = bench.fault(FaultKind::Arming).is_some();
            bench.run(15.0);
            (bench.seen.parking, bench.torque, refused)
        };
        assert_eq!(parked_at(Some(-0.3)), (None, false, false));
        assert_eq!(parked_at(None), (None, false, false));
        // The rest pose would lie below it: said at once, not found out by pushing against it.
        assert_eq!(parked_at(Some(0.06)), (None, true, true));
    }

    #[test]
    fn an_arm_that_is_limp_or_stopped_is_not_parked() {
        let mut bench = armed(down());
        bench.presses = 1;
        bench.tick(vec![]);
        bench.tick(vec![Command::Park]);
        assert_eq!(bench.seen.parking, None);
        assert!(
            bench
                .fault(FaultKind::Arming)
                .is_some_and(|it| it.what.contains("stopped"))
        );
    }

    /// Of all poses above the table, nearly all can be parked, and no way comes closer to the table than it may.
    #[test]
    fn ways_keep_clear_of_the_table() {
        let [lower, upper] = limits();
        let (mut all, mut parked) = (0, 0);
        for k in 1..700_u32 {
            let part = |n: u32| (k.wrapping_mul(n) % 997) as f32 / 996.0;
            let from = JointVec::from_fn(|joint| {
                let n = [31, 57, 101, 173, 211, 307][joint.index()];
                lower[joint] + (upper[joint] - lower[joint]) * part(n)
            });
            let start = height(from);
            if start < 0.0 {
                continue;
            }
            all += 1;
            let rest = at_rest(from, limits());
            let table = Clearance::default();
            if let Some(way) = way(from, rest, limits(), Some(table)) {
                parked += 1;
                assert!(lowest(&table, from, &way) >= start.min(ROOM) - 1e-3);
                assert!(keeps_clear(&table, from, &way));
                assert_eq!(way.last(), Some(&rest));
            }
        }
        assert!(all > 250 && parked * 20 > all * 18, "{parked} of {all}");
    }
}
