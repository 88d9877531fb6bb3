//! The `adapt_to_pi_aloha` option: joint signs and gripper angles of a two-armed Aloha, in pi0's convention.
//!
//! LeRobot applies it inside the policy, to values that are already normalised; so do we.

use std::ops::RangeInclusive;

const FLIPPED: [usize; 4] = [1, 2, 8, 9];
const GRIPPERS: [usize; 2] = [6, 13];

// From LeRobot: metres between the fingers, radians of the servo, and the range of Aloha's own gripper joint.
const LINEAR: RangeInclusive<f32> = 0.01844..=0.05800;
const ANGULAR: RangeInclusive<f32> = 0.4..=1.5;
const JOINT: RangeInclusive<f32> = -0.6213..=1.4910;
const ARM: f32 = 0.022;
const ROD: f32 = 0.036;

/// Changes a normalised state of 14 joints in place.
pub fn adapt_state(state: &mut [f32]) {
    flip(state);
    for gripper in GRIPPERS {
        state[gripper] = gripper_to_angular(state[gripper]);
    }
}

/// Changes a predicted action of 14 joints in place.
pub fn adapt_action(action: &mut [f32]) {
    flip(action);
    for gripper in GRIPPERS {
        action[gripper] = gripper_from_angular(action[gripper]);
    }
}

fn flip(values: &mut [f32]) {
    for joint in FLIPPED {
        values[joint] = -values[joint];
    }
}

fn unnorm(x: f32, range: &RangeInclusive<f32>) -> f32 {
    x * (range.end() - range.start()) + range.start()
}

fn norm(x: f32, range: &RangeInclusive<f32>) -> f32 {
    (x - range.start()) / (range.end() - range.start())
}

fn gripper_to_angular(value: f32) -> f32 {
    let opening = unnorm(value, &LINEAR);
    let sine = (ARM * ARM + opening * opening - ROD * ROD) / (2.0 * ARM * opening);
    norm(sine.clamp(-1.0, 1.0).asin(), &ANGULAR)
}

fn gripper_from_angular(value: f32) -> f32 {
    norm(unnorm(value, &ANGULAR), &JOINT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::processor::golden::{Golden, max_abs_diff};

    #[test]
    fn grippers_match_the_reference() {
        let golden = Golden::open("unit_golden.safetensors");
        let (_, x) = golden.f32("aloha.gripper.x");
        let map = |f: fn(f32) -> f32| x.iter().map(|x| f(*x)).collect::<Vec<_>>();
        let (_, to) = golden.f32("aloha.gripper_to_angular");
        let (_, from) = golden.f32("aloha.gripper_from_angular");
        assert!(max_abs_diff(&map(gripper_to_angular), &to) < 1e-6);
        assert!(max_abs_diff(&map(gripper_from_angular), &from) < 1e-6);
    }

    #[test]
    fn four_joints_change_sign() {
        let mut action = [1.0; 14];
        adapt_action(&mut action);
        let flipped: Vec<usize> = (0..14).filter(|i| action[*i] == -1.0).collect();
        assert_eq!(flipped, FLIPPED);
        let mut state = [0.5; 14];
        adapt_state(&mut state);
        assert_eq!(state[13], gripper_to_angular(0.5));
    }
}
