//! How far a goal may run ahead of a joint that does not follow. A blocked joint that comes free flies to its goal at the
//! servo's full speed, and until then the servo heats itself up.

use crate::joint::{Joint, JointVec};
use crate::runtime::FaultKind;
use crate::runtime::core::Control;
use crate::runtime::fault_book::words;

/// The most that the commanded pose of a joint leads the measured one, degrees: half a second of the default speed. An arm
/// that merely trails, or sags under its weight, stays well below.
const MOST: f32 = 30.0;

/// The gripper is left out: it holds things by a goal that it cannot reach, and has a torque limit of its own.
const WATCHED: [Joint; 5] = [
    Joint::ShoulderPan,
    Joint::ShoulderLift,
    Joint::ElbowFlex,
    Joint::WristFlex,
    Joint::WristRoll,
];

impl Control {
    /// `goal`, but for joints that lag: their goals wait, or come back.
    pub(super) fn led(&self, goal: JointVec) -> JointVec {
        let mut led = goal;
        for joint in WATCHED {
            let (commanded, lead) = (self.arm.commanded[joint], self.lead(joint));
            let is_onward = (goal[joint] - commanded) * lead > 0.0;
            if lead.abs() >= MOST && is_onward {
                led[joint] = commanded;
            }
        }
        led
    }

    /// Names the joints that do not follow.
    pub(super) fn watch_lead(&mut self) {
        // An arm that is let down sinks away from its goal, as it should.
        let is_driven = self.arm.armed && self.arm.change.is_none();
        for joint in WATCHED {
            let lead = self.lead(joint).abs();
            let kind = FaultKind::JointBlocked;
            self.faults.set(self.now, kind, joint.name(), || {
                (is_driven && lead >= MOST).then(|| {
                    words(
                        format!("{joint} does not follow: it is {lead:.0}° behind its goal, which waits"),
                        "Something blocks it or it is too weak. Press stop, so that it does not jump when it comes free; \
                         then look.",
                    )
                })
            });
        }
    }

    /// Degrees from where a joint is to where it was sent.
    fn lead(&self, joint: Joint) -> f32 {
        self.arm.commanded[joint] - self.arm.measured[joint]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::core::bench::{Bench, flying};
    use crate::runtime::{Command, Mode};

    fn blocked(bench: &Bench) -> Option<&str> {
        let fault = bench.fault(FaultKind::JointBlocked)?;
        fault.active.then_some(fault.what.as_str())
    }

    #[test]
    fn the_goal_of_a_blocked_joint_waits_and_the_joint_is_named() {
        let mut bench = flying(50);
        assert_eq!(blocked(&bench), None);
        bench.stuck = Some(Joint::WristFlex);
        let stuck_at = bench.pose[Joint::WristFlex];
        bench.run(3.0);
        let goal = bench.seen.commanded;
        let lead = goal[Joint::WristFlex] - stuck_at;
        assert!((MOST..MOST + 1.1).contains(&lead), "{lead}");
        assert!(
            goal[Joint::WristRoll] > stuck_at + 2.0 * MOST,
            "the others go on"
        );
        let told = blocked(&bench).map(str::to_owned);
        assert!(told.is_some_and(|it| it.contains("wrist_flex") && it.contains("behind")));
        assert_eq!(bench.seen.mode, Mode::Policy);
        // Back is always possible.
        bench.tick(vec![Command::SetMode(Mode::Jog)]);
        bench.tick(vec![Command::JogTo(Joint::WristFlex, stuck_at + 5.0)]);
        assert_eq!(bench.seen.commanded[Joint::WristFlex], stuck_at + 5.0);
        bench.tick(vec![]);
        assert_eq!(blocked(&bench), None);
    }

    #[test]
    fn a_gripper_that_holds_something_is_not_blocked() {
        let mut bench = flying(50);
        bench.stuck = Some(Joint::Gripper);
        bench.run(3.0);
        assert_eq!(blocked(&bench), None);
        assert!(bench.seen.commanded[Joint::Gripper] > bench.seen.measured[Joint::Gripper] + MOST);
    }
}
