//! The registers that a pretend servo's firmware looks at all the time, decoded once after each change.

use super::TURN;
use super::embodied::USUAL_P;
use crate::arm::register::Register;

/// Acceleration with the register at 0 ("as fast as it can"), counts/s².
const TOP_ACCELERATION: f64 = 25_000.0;
/// One unit of the acceleration registers, counts/s².
const ACCELERATION_UNIT: f64 = 100.0;
/// No-load speed, counts a second (about 45 rpm).
const TOP_SPEED: f64 = 3000.0;
/// Of the register for the protection current, milliamperes.
pub(super) const CURRENT_UNIT: f64 = 6.5;
/// A P of zero holds nothing; what it stands for must not divide by zero either.
const LEAST_GAIN: f64 = 0.01;
/// Addresses of what the driver has no name for.
const PROTECTION_CURRENT: usize = 28;
const OVERCURRENT_TIME: usize = 38;
const MAXIMUM_ACCELERATION: usize = 85;
/// Bits of Phase: what they change when set.
const FINE_SPEED: i32 = 1 << 2;
const ZERO_SPEED_IS_MOST: i32 = 1 << 3;
const MULTI_TURN: i32 = 1 << 4;

/// How a servo behaves now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Settings {
    pub torque: bool,
    /// 0 goes to positions, 1 turns at a speed.
    pub mode: i32,
    /// Counts after homing, inside the limits.
    pub goal: f64,
    /// Counts a second: what a motion to a goal does not exceed, and what mode 1 turns at.
    pub speed: f64,
    pub wheel_speed: f64,
    /// Counts/s².
    pub acceleration: f64,
    /// Counts that are subtracted from the encoder.
    pub offset: f64,
    /// Positions run on beyond one turn.
    pub multi_turn: bool,
    /// Permille of full duty cycle.
    pub torque_limit: f64,
    pub protective_torque: f64,
    pub overload_torque: f64,
    /// Seconds above it before it counts.
    pub overload_s: f64,
    pub overcurrent_ma: f64,
    pub overcurrent_s: f64,
    pub max_celsius: f64,
    pub decivolts: [i32; 2],
    /// Alarms that cut torque.
    pub unloading: u8,
    /// How stiffly it holds a position, 1 with the P that LeRobot sets.
    pub gain: f64,
}

impl Settings {
    /// What these registers ask for.
    pub fn of(registers: &[u8; 256]) -> Self {
        let get =
            |register: Register| register.decode(&registers[usize::from(register.address())..]);
        let number = |register| f64::from(get(register));
        let byte = |address: usize| f64::from(registers[address]);
        let word = |address: usize| byte(address) + 256.0 * byte(address + 1);
        let phase = get(Register::Phase);
        let unit = if phase & FINE_SPEED == 0 { 50.0 } else { 1.0 };
        let wheel_speed = (number(Register::GoalVelocity) * unit).clamp(-TOP_SPEED, TOP_SPEED);
        let limits = [Register::MinPositionLimit, Register::MaxPositionLimit].map(number);
        let goal = number(Register::GoalPosition);
        Self {
            torque: get(Register::TorqueEnable) == 1,
            mode: get(Register::OperatingMode),
            goal: if limits[0] < limits[1] {
                goal.clamp(limits[0], limits[1])
            } else {
                goal
            },
            speed: match get(Register::GoalVelocity) {
                0 if phase & ZERO_SPEED_IS_MOST == 0 => 0.0,
                0 => TOP_SPEED,
                _ => wheel_speed.abs(),
            },
            wheel_speed,
            acceleration: acceleration(number(Register::Acceleration))
                .min(acceleration(byte(MAXIMUM_ACCELERATION))),
            offset: number(Register::HomingOffset),
            multi_turn: phase & MULTI_TURN != 0,
            torque_limit: number(Register::TorqueLimit),
            protective_torque: number(Register::ProtectiveTorque) * 10.0,
            overload_torque: number(Register::OverloadTorque) * 10.0,
            overload_s: number(Register::ProtectionTime) / 100.0,
            overcurrent_ma: word(PROTECTION_CURRENT) * CURRENT_UNIT,
            overcurrent_s: byte(OVERCURRENT_TIME) / 100.0,
            max_celsius: number(Register::MaxTemperatureLimit),
            decivolts: [Register::MinVoltageLimit, Register::MaxVoltageLimit].map(get),
            unloading: get(Register::UnloadingCondition) as u8,
            gain: (number(Register::PCoefficient) / USUAL_P).max(LEAST_GAIN),
        }
    }

    /// A position of the encoder as the servo counts it, given the turns it has forgotten.
    pub fn position(&self, encoder: f64, turns: f64) -> f64 {
        if self.multi_turn {
            encoder - turns * TURN - self.offset
        } else {
            (encoder - self.offset).rem_euclid(TURN)
        }
    }
}

fn acceleration(units: f64) -> f64 {
    if units == 0.0 {
        TOP_ACCELERATION
    } else {
        (units * ACCELERATION_UNIT).min(TOP_ACCELERATION)
    }
}
