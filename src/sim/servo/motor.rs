//! The motor in the pretend servo: it needs time to get anywhere, pushes, warms up, and protects itself.

use super::{OVERLOAD_ALARM, SimServo, TURN};
use crate::arm::register::Register;

/// No-load speed of a 12 V servo, counts a second (about 45 rpm).
const TOP_SPEED: f64 = 3000.0;
/// Acceleration with the register at 0 ("as fast as it can"), counts/s².
const TOP_ACCELERATION: f64 = 25_000.0;
/// Duty cycle for each count of position error, permille: full effort at 100 counts, as with P = 16 or so.
const LOAD_PER_COUNT: f64 = 10.0;
/// Duty cycle of friction while turning, permille.
const FRICTION_LOAD: f64 = 60.0;
/// Milliamperes at full duty cycle, and of one unit of the current register.
const STALL_MILLIAMPERES: f64 = 2700.0;
const CURRENT_UNIT: f64 = 6.5;
/// Heating at full duty cycle and cooling for each degree above the room, °C a second.
const HEATING: f64 = 1.5;
const COOLING: f64 = 0.01;
const ROOM_CELSIUS: f64 = 25.0;
/// Of a servo that is on and does nothing.
pub(super) const IDLE_CELSIUS: f64 = 30.0;

/// Status bits.
const VOLTAGE_ALARM: u8 = 0x01;
const TEMPERATURE_ALARM: u8 = 0x04;

impl SimServo {
    /// Milliamperes that the motor draws now.
    pub fn milliamperes(&self) -> f64 {
        self.load().abs() / 1000.0 * STALL_MILLIAMPERES
    }

    /// Runs `dt_s` seconds with `volts` at the plug.
    pub fn advance(&mut self, dt_s: f64, volts: f64) {
        self.volts = volts;
        self.turn(dt_s);
        self.protect(dt_s);
        self.report();
    }

    /// Moves towards the goal with the speed and acceleration that the registers allow.
    fn turn(&mut self, dt_s: f64) {
        let error = self.error();
        if !self.torque() || self.stuck || self.effort() <= 0.0 {
            self.velocity = 0.0;
            return;
        }
        let acceleration = match self.get(Register::Acceleration) {
            0 => TOP_ACCELERATION,
            units => (f64::from(units) * 100.0).min(TOP_ACCELERATION),
        };
        // The speed from which it can still stop at the goal.
        let stopping = (2.0 * acceleration * error.abs()).sqrt();
        let wanted = error.signum() * self.speed_limit().min(stopping).min(error.abs() / dt_s);
        let change = acceleration * dt_s;
        let slower = wanted.abs() < self.velocity.abs() && wanted * self.velocity >= 0.0;
        self.velocity = if slower {
            wanted
        } else {
            self.velocity + (wanted - self.velocity).clamp(-change, change)
        };
        self.encoder += self.velocity * dt_s;
    }

    /// Counts from here to the goal, which the firmware keeps inside its limits. Zero while limp.
    fn error(&self) -> f64 {
        if !self.torque() {
            return 0.0;
        }
        let limits = [Register::MinPositionLimit, Register::MaxPositionLimit]
            .map(|limit| f64::from(self.get(limit)));
        let goal = f64::from(self.get(Register::GoalPosition));
        let goal = if limits[0] < limits[1] {
            goal.clamp(limits[0], limits[1])
        } else {
            goal
        };
        goal - self.position()
    }

    /// Counts a second. Phase bit 2 chooses the unit, bit 3 what zero means.
    fn speed_limit(&self) -> f64 {
        let phase = self.get(Register::Phase);
        let unit = if phase & 4 == 0 { 50.0 } else { 1.0 };
        match self.get(Register::GoalVelocity) {
            0 if phase & 8 == 0 => 0.0,
            0 => TOP_SPEED,
            speed => (f64::from(speed.abs()) * unit).min(TOP_SPEED),
        }
    }

    /// The most duty cycle that is allowed now, permille.
    fn effort(&self) -> f64 {
        let limit = f64::from(self.get(Register::TorqueLimit));
        if self.get(Register::Status) as u8 & OVERLOAD_ALARM == 0 {
            limit
        } else {
            limit.min(f64::from(self.get(Register::ProtectiveTorque)) * 10.0)
        }
    }

    /// Duty cycle now, permille, signed.
    fn load(&self) -> f64 {
        let turning = if self.velocity == 0.0 {
            0.0
        } else {
            FRICTION_LOAD * self.velocity.signum()
        };
        let pushing = if self.stuck {
            self.error() * LOAD_PER_COUNT
        } else {
            0.0
        };
        let effort = self.effort();
        (turning + pushing).clamp(-effort, effort)
    }

    /// Heat, overload and voltage, and what the servo does about them.
    fn protect(&mut self, dt_s: f64) {
        let load = self.load().abs();
        let duty = load / 1000.0;
        self.celsius += (HEATING * duty * duty - COOLING * (self.celsius - ROOM_CELSIUS)) * dt_s;
        if load >= f64::from(self.get(Register::OverloadTorque)) * 10.0 && load > 0.0 {
            self.overload_s += dt_s;
        } else {
            self.overload_s = 0.0;
        }
        let overload_limit_s = f64::from(self.get(Register::ProtectionTime)) / 100.0;
        let decivolts = (self.volts * 10.0).round() as i32;
        let volts_wrong = decivolts < self.get(Register::MinVoltageLimit)
            || decivolts > self.get(Register::MaxVoltageLimit);
        let hot = self.celsius >= f64::from(self.get(Register::MaxTemperatureLimit));
        let mut status = self.get(Register::Status) as u8 & OVERLOAD_ALARM;
        if self.overload_s > overload_limit_s {
            status |= OVERLOAD_ALARM;
        }
        if volts_wrong {
            status |= VOLTAGE_ALARM;
        }
        if hot {
            status |= TEMPERATURE_ALARM;
            if self.get(Register::UnloadingCondition) as u8 & TEMPERATURE_ALARM != 0 {
                self.set(Register::TorqueEnable, 0);
            }
        }
        self.set(Register::Status, i32::from(status));
    }

    /// Heats or cools the case at once, °C.
    pub fn heat_to(&mut self, celsius: f64) {
        self.celsius = celsius;
        self.report();
    }

    /// Writes what is measured into the registers.
    pub(super) fn report(&mut self) {
        let position = self.position().round() as i32;
        let single_turn = self.get(Register::Phase) & 0x10 == 0;
        let position = if single_turn {
            position.rem_euclid(TURN as i32)
        } else {
            position
        };
        self.set(Register::PresentPosition, position);
        self.set(Register::PresentVelocity, self.velocity.round() as i32);
        self.set(Register::PresentLoad, self.load().round() as i32);
        self.set(
            Register::PresentCurrent,
            (self.milliamperes() / CURRENT_UNIT).round() as i32,
        );
        self.set(Register::PresentVoltage, (self.volts * 10.0).round() as i32);
        self.set(Register::PresentTemperature, self.celsius.round() as i32);
        self.set(Register::Moving, i32::from(self.velocity.abs() >= 1.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::Calibration;
    use crate::joint::Joint;

    fn servo() -> SimServo {
        SimServo::new(Calibration::simulated().motor(Joint::ShoulderPan), 2000.0)
    }

    fn run(servo: &mut SimServo, seconds: f64) {
        for _ in 0..(seconds * 1000.0) as usize {
            servo.advance(0.001, 12.0);
        }
    }

    #[test]
    fn a_written_goal_energises_and_is_reached_no_faster_than_allowed() {
        let mut servo = servo();
        servo.write(46, &500_u16.to_le_bytes());
        servo.write(42, &2500_u16.to_le_bytes());
        assert!(servo.torque());
        let mut last = servo.position();
        for _ in 0..1000 {
            servo.advance(0.001, 12.0);
            assert!((servo.position() - last).abs() <= 0.5 + 1e-9);
            last = servo.position();
        }
        assert!((2450.0..=2500.0).contains(&last), "{last}");
        run(&mut servo, 0.5);
        assert_eq!(servo.get(Register::PresentPosition), 2500);
        assert_eq!(servo.get(Register::Moving), 0);
    }

    #[test]
    fn the_firmware_clamps_goals_and_slows_down_before_them() {
        let mut servo = servo();
        servo.write(41, &[20, 0xFF, 0x0F]);
        run(&mut servo, 4.0);
        assert_eq!(servo.get(Register::PresentPosition), 3298);
        let mut limp = self::servo();
        run(&mut limp, 1.0);
        assert_eq!(limp.get(Register::PresentPosition), 2000);
    }

    #[test]
    fn a_blocked_joint_overloads_and_then_pushes_softly() {
        let mut servo = servo();
        servo.stuck = true;
        servo.write(42, &2500_u16.to_le_bytes());
        run(&mut servo, 1.0);
        assert_eq!(servo.get(Register::PresentLoad), 1000);
        assert_eq!(servo.alarms(), 0);
        run(&mut servo, 1.5);
        assert_eq!(servo.alarms(), OVERLOAD_ALARM);
        assert_eq!(servo.get(Register::PresentLoad), 200);
        assert!(servo.get(Register::PresentTemperature) > 30);
        servo.write(40, &[0]);
        assert_eq!(servo.alarms(), 0);
    }

    #[test]
    fn heat_cuts_torque_and_low_voltage_only_complains() {
        let mut servo = servo();
        servo.write(42, &2000_u16.to_le_bytes());
        servo.advance(0.001, 3.5);
        assert_eq!((servo.alarms(), servo.torque()), (VOLTAGE_ALARM, true));
        servo.heat_to(75.0);
        servo.advance(0.001, 12.0);
        assert_eq!((servo.alarms(), servo.torque()), (TEMPERATURE_ALARM, false));
    }
}
