//! Joint values that an SO-101 cannot have: a wrong calibration, another unit, or a joint that ran over its turn.

use std::path::Path;

use crate::dataset::read::Rows;
use crate::joint::Joint;

use super::finding::{Finding, Report};

/// The farthest that a body joint turns from its middle, degrees; with some room, as no joint of the arm turns once around.
const BODY: f32 = 185.0;
/// How far beyond closed and open the gripper may read, percent.
const GRIPPER: (f32, f32) = (-10.0, 110.0);
/// From one row to the next no joint moves this far; an encoder that passed its zero does, degrees.
const JUMP: f32 = 180.0;

pub fn check(file: &Path, rows: &Rows, report: &mut Report) {
    for (name, values) in [
        ("observation.state", rows.states()),
        ("action", rows.actions()),
    ] {
        for joint in Joint::ALL {
            let here = |finding: Finding| finding.file(file).episode(rows.episode);
            let values = values.iter().map(|row| row[joint]);
            if let Some(beyond) = values.clone().find(|value| is_beyond(joint, *value)) {
                let what = format!("{name} of {joint} reaches {beyond:.1} {}", joint.unit());
                report.add(here(Finding::warning("joints.range", what).advice(
                    "no SO-101 gets there: it was calibrated wrong, or the units are others",
                )));
            }
            let next = values.clone().skip(1);
            let jumps = values
                .zip(next)
                .filter(|(a, b)| (a - b).abs() > JUMP)
                .count();
            if jumps > 0 && joint != Joint::Gripper {
                let what =
                    format!("{name} of {joint} jumps by more than half a turn {jumps} times");
                report.add(here(Finding::warning("joints.jump", what).advice(
                    "its encoder passed zero: calibrate the arm so that the joint's range does not",
                )));
            }
        }
    }
}

fn is_beyond(joint: Joint, value: f32) -> bool {
    match joint {
        Joint::Gripper => value < GRIPPER.0 || value > GRIPPER.1,
        _ => value.abs() > BODY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::JointVec;

    #[test]
    fn the_gripper_has_other_bounds_than_the_body() {
        let beyond = |value: f32| {
            let all = JointVec([value; 6]);
            Joint::ALL.map(|joint| is_beyond(joint, all[joint]))
        };
        assert_eq!(beyond(50.0), [false; 6]);
        assert_eq!(beyond(120.0), [false, false, false, false, false, true]);
        assert_eq!(beyond(-190.0), [true; 6]);
    }
}
