//! What the driver knows of one servo: what it is, where it was last seen, and whether that can be believed.

use std::time::Duration;

use crate::arm::calibration::MotorCalibration;
use crate::arm::configure::Unset;
use crate::arm::error::Motor;
use crate::arm::register::{Block, Register};
use crate::arm::supply::Window;
use crate::arm::turn::{FASTEST_LIMP, JUMP_SLACK, short_way};
use crate::joint::Joint;

/// Faster than a servo drives a joint (no load, 270 °/s), counts a second.
const FASTEST_DRIVEN: f64 = 4_500.0;
/// So many impossible positions in a row are no longer noise.
const JUMP_LIMIT: u32 = 3;
/// Milliamperes of one count of `PresentCurrent`.
const CURRENT_UNIT: f32 = 6.5;

/// What a servo says about itself beside its position.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Telemetry {
    /// Share of the motor's duty cycle, percent, signed. Not a force.
    pub load_percent: f32,
    pub volts: f32,
    pub celsius: i32,
    pub milliamperes: f32,
    pub moving: bool,
}

/// What a servo had to say at the handshake that is needed later.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Identity {
    /// Permille; what `TorqueLimit` is set to at power-up.
    pub max_torque: i32,
    /// Counts a second of one unit of `GoalVelocity`; zero before the handshake.
    pub speed_unit: i32,
    /// What it may be supplied with.
    pub supply: Window,
    /// What other programs had left in these registers; given back at release.
    pub goal_velocity: i32,
    pub acceleration: i32,
}

/// A believed position.
#[derive(Clone, Copy, Debug)]
struct Seen {
    counts: i32,
    at: Duration,
}

/// One servo of the arm.
#[derive(Debug)]
pub(super) struct Servo {
    pub motor: Motor,
    pub calibration: MotorCalibration,
    pub identity: Identity,
    pub telemetry: Telemetry,
    /// Settings that are not as they should be.
    pub unset: Vec<Unset>,
    /// Torque is on, as far as known.
    pub energised: bool,
    /// The last goal sent or found, counts.
    pub goal: i32,
    /// Consecutive reads without an answer.
    pub misses: u32,
    pub implausible: u64,
    seen: Option<Seen>,
    jumps: u32,
}

/// A jump that was seen too often to be noise, counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Jump {
    pub from: i32,
    pub to: i32,
}

impl Servo {
    pub fn new(joint: Joint, calibration: MotorCalibration) -> Self {
        Self {
            motor: Motor {
                joint,
                id: calibration.id,
            },
            calibration,
            identity: Identity::default(),
            telemetry: Telemetry::default(),
            unset: vec![],
            energised: false,
            goal: 0,
            misses: 0,
            implausible: 0,
            seen: None,
            jumps: 0,
        }
    }

    /// Whether it has less volts than it is made for.
    pub fn is_undersupplied(&self) -> bool {
        let volts = self.telemetry.volts;
        volts > 0.0 && volts < self.identity.supply.min
    }

    /// The last position that was believed, counts.
    pub fn position(&self) -> Option<i32> {
        self.seen.map(|seen| seen.counts)
    }

    /// The goal that keeps the servo where it is, counts, if that was seen since `since`: a joint that moves would be sent
    /// back to an older position. A joint that leans a little over the end of its range is not asked for more than its
    /// range.
    pub fn target(&self, since: Duration) -> Option<i32> {
        let seen = self.seen.filter(|seen| seen.at >= since)?;
        Some(self.within_range(seen.counts))
    }

    /// `counts` brought into the calibrated range.
    pub fn within_range(&self, counts: i32) -> i32 {
        counts.clamp(self.calibration.range_min, self.calibration.range_max)
    }

    /// Forgets where the servo was: the next position is believed whatever it is.
    pub fn forget(&mut self) {
        self.seen = None;
        self.jumps = 0;
    }

    /// Takes a state block that was read at `now`. A position that no joint could have reached since the last one is not
    /// believed; when it insists, it is, and the jump is returned.
    pub fn measured(&mut self, state: &[u8], now: Duration) -> Option<Jump> {
        let value = |register| Block::STATE.value(register, state);
        self.misses = 0;
        self.telemetry = telemetry_from(state);
        let counts = value(Register::PresentPosition);
        let here = Seen { counts, at: now };
        let Some(before) = self.seen else {
            self.seen = Some(here);
            return None;
        };
        let fastest = if self.energised {
            FASTEST_DRIVEN
        } else {
            FASTEST_LIMP
        };
        let reach = JUMP_SLACK + fastest * now.saturating_sub(before.at).as_secs_f64();
        if f64::from(short_way(before.counts, counts)).abs() <= reach {
            self.seen = Some(here);
            self.jumps = 0;
            return None;
        }
        self.implausible += 1;
        self.jumps += 1;
        if self.jumps < JUMP_LIMIT {
            return None;
        }
        self.seen = Some(here);
        self.jumps = 0;
        Some(Jump {
            from: before.counts,
            to: counts,
        })
    }
}

/// What a state block says beside the position.
pub(super) fn telemetry_from(state: &[u8]) -> Telemetry {
    let value = |register| Block::STATE.value(register, state);
    Telemetry {
        load_percent: value(Register::PresentLoad) as f32 / 10.0,
        volts: value(Register::PresentVoltage) as f32 / 10.0,
        celsius: value(Register::PresentTemperature),
        milliamperes: value(Register::PresentCurrent) as f32 * CURRENT_UNIT,
        moving: value(Register::Moving) != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::calibration::Calibration;

    fn state(counts: i32) -> Vec<u8> {
        let mut bytes = vec![0; 15];
        bytes[..2].copy_from_slice(Register::PresentPosition.encode(counts).unwrap().as_slice());
        bytes
    }

    fn servo() -> Servo {
        Servo::new(
            Joint::WristRoll,
            Calibration::simulated().motor(Joint::WristRoll),
        )
    }

    #[test]
    fn one_impossible_position_is_not_believed_and_three_are() {
        let mut servo = servo();
        let ms = Duration::from_millis;
        assert_eq!(servo.measured(&state(2000), ms(0)), None);
        assert_eq!(servo.measured(&state(3900), ms(10)), None);
        assert_eq!(servo.position(), Some(2000));
        assert_eq!(servo.measured(&state(2010), ms(20)), None);
        assert_eq!(servo.position(), Some(2010));
        for now in [30, 40] {
            assert_eq!(servo.measured(&state(3900), ms(now)), None);
        }
        let jump = Jump {
            from: 2010,
            to: 3900,
        };
        assert_eq!(servo.measured(&state(3900), ms(50)), Some(jump));
        assert_eq!(servo.measured(&state(3901), ms(60)), None);
        assert_eq!((servo.position(), servo.implausible), (Some(3901), 4));
    }

    #[test]
    fn wrapping_round_and_fast_hands_are_possible() {
        let mut servo = servo();
        servo.measured(&state(4090), Duration::ZERO);
        servo.measured(&state(4), Duration::from_millis(1));
        assert_eq!(servo.position(), Some(4));
        servo.measured(&state(300), Duration::from_millis(34));
        assert_eq!(servo.position(), Some(300));
    }
}
