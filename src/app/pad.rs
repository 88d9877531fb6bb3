//! What a hand on a gamepad asks for: the gripper's tip moves only while a shoulder button is held, and one button stops,
//! always.

use std::time::Duration;

use glam::Vec3;

use crate::runtime::{Command, Drive, FASTEST_GRIPPER, FASTEST_TIP, FASTEST_TURN, Twist};

/// A drive is renewed this often: several times within the dead man's time.
const RENEW: Duration = Duration::from_millis(30);
/// A stick rests anywhere in this part of its way.
const DEAD_ZONE: f32 = 0.15;
/// Shares of the fastest at full deflection.
const TIP_SHARE: f32 = 0.6;
const TURN_SHARE: f32 = 0.5;

/// A pad at one moment: sticks from -1 to 1 (right and up are positive), triggers from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pad {
    /// A shoulder button is down: the dead man's switch.
    pub is_held: bool,
    pub left: [f32; 2],
    pub right: [f32; 2],
    /// D-pad: up is 1, down -1.
    pub tilt: f32,
    pub open: f32,
    pub close: f32,
}

/// A button that went down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Press {
    /// East: B, or the circle.
    Stop,
    /// Start.
    Takeover,
}

/// The hand over time.
#[derive(Debug, Default)]
pub struct Grip {
    drives: bool,
    said_at: Duration,
}

impl Grip {
    /// What to say at `now`, in order. A pad that went away is `Pad::default()`.
    pub fn react(&mut self, now: Duration, pad: &Pad, presses: &[Press]) -> Vec<Command> {
        let mut said = Vec::new();
        for press in presses {
            match press {
                Press::Stop => said.push(Command::Stop),
                // Giving back lets a policy loose: not by a bump against the pad.
                Press::Takeover if pad.is_held => said.push(Command::Takeover),
                Press::Takeover => {}
            }
        }
        let drive = drive(pad);
        if drive.is_still() {
            if std::mem::take(&mut self.drives) {
                said.push(Command::Drive(drive));
            }
            return said;
        }
        if !self.drives || now.saturating_sub(self.said_at) >= RENEW {
            self.drives = true;
            self.said_at = now;
            said.push(Command::Drive(drive));
        }
        said
    }
}

/// The drive that sticks and triggers stand for.
fn drive(pad: &Pad) -> Drive {
    if !pad.is_held {
        return Drive::default();
    }
    let [sideways, forward] = pad.left.map(curve);
    let [roll, up] = pad.right.map(curve);
    let turn = FASTEST_TURN * TURN_SHARE;
    let tip = Twist {
        linear: Vec3::new(forward, -sideways, up) * FASTEST_TIP * TIP_SHARE,
        pitch: -curve(pad.tilt) * turn,
        roll: -roll * turn,
    };
    let gripper = curve(pad.open) - curve(pad.close);
    Drive::of_tip(tip, gripper * FASTEST_GRIPPER * TIP_SHARE)
}

/// Fine near the middle, nothing within the dead zone; what is no number is nothing.
fn curve(value: f32) -> f32 {
    let beyond = ((value.abs() - DEAD_ZONE) / (1.0 - DEAD_ZONE)).clamp(0.0, 1.0);
    if beyond.is_finite() {
        beyond * beyond * value.signum()
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::Joint;

    const MS: Duration = Duration::from_millis(1);

    fn held(left: [f32; 2], right: [f32; 2]) -> Pad {
        Pad {
            is_held: true,
            left,
            right,
            ..Pad::default()
        }
    }

    #[test]
    fn sticks_mean_nothing_without_the_shoulder_button() {
        let pad = Pad {
            is_held: false,
            close: 1.0,
            ..held([1.0; 2], [1.0; 2])
        };
        assert!(drive(&pad).is_still());
        assert_eq!(Grip::default().react(MS, &pad, &[Press::Takeover]), []);
    }

    #[test]
    fn each_way_of_a_stick_is_its_way_in_the_world() {
        let forward = drive(&held([0.0, 1.0], [0.0; 2])).tip.linear;
        assert!((forward - Vec3::X * FASTEST_TIP * TIP_SHARE).length() < 1e-6);
        let right = drive(&held([1.0, 0.0], [0.0; 2])).tip.linear;
        assert!(right.y < 0.0 && right.x == 0.0, "+y is left");
        let turned = drive(&held([0.0; 2], [1.0, 0.5])).tip;
        assert!(turned.linear.z > 0.0 && turned.roll < 0.0);
        let pad = Pad {
            tilt: 1.0,
            open: 1.0,
            ..held([0.1; 2], [-0.1; 2])
        };
        let drive = drive(&pad);
        assert!(drive.tip.pitch < 0.0 && drive.joints[Joint::Gripper] > 0.0);
        assert_eq!(
            drive.tip.linear,
            Vec3::ZERO,
            "sticks at rest are never quite at zero"
        );
        assert_eq!(curve(f32::NAN), 0.0);
        assert!(curve(0.5) < 0.25 && curve(-1.0) == -1.0);
    }

    #[test]
    fn a_drive_is_renewed_and_ends_in_the_moment_the_button_is_let_go() {
        let mut grip = Grip::default();
        let pad = held([0.0, 0.8], [0.0; 2]);
        let said: Vec<usize> = (0..10)
            .map(|n| grip.react(MS * n * 10, &pad, &[]).len())
            .collect();
        assert_eq!(said, [1, 0, 0, 1, 0, 0, 1, 0, 0, 1]);
        let let_go = Pad {
            is_held: false,
            ..pad
        };
        let zero = [Command::Drive(Drive::default())];
        assert_eq!(grip.react(MS * 91, &let_go, &[]), zero);
        assert_eq!(grip.react(MS * 200, &let_go, &[]), []);
        grip.react(MS * 300, &pad, &[]);
        assert_eq!(
            grip.react(MS * 301, &Pad::default(), &[]),
            zero,
            "unplugged"
        );
    }

    #[test]
    fn stop_stops_always_and_takeover_wants_the_other_hand_too() {
        let mut grip = Grip::default();
        assert_eq!(
            grip.react(MS, &Pad::default(), &[Press::Stop]),
            [Command::Stop]
        );
        let pad = held([0.0; 2], [0.0; 2]);
        assert_eq!(
            grip.react(MS, &pad, &[Press::Takeover]),
            [Command::Takeover]
        );
    }
}
