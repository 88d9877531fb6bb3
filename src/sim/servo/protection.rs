//! How the pretend servo saves itself: heat, overload, current and voltage, and what it does about each.

use super::SimServo;
use crate::arm::register::Register;

/// Heating at full duty cycle and cooling for each degree above the room, °C a second.
const HEATING: f64 = 1.5;
const COOLING: f64 = 0.01;
const ROOM_CELSIUS: f64 = 25.0;

/// Status bits.
const VOLTAGE_ALARM: u8 = 0x01;
const TEMPERATURE_ALARM: u8 = 0x04;
const OVERCURRENT_ALARM: u8 = 0x08;
const OVERLOAD_ALARM: u8 = 0x20;

impl SimServo {
    /// Heat, overload, current and voltage, and what the servo does about them.
    pub(super) fn protect(&mut self, dt_s: f64) {
        let load = self.load.abs();
        let duty = load / 1000.0;
        self.celsius += (HEATING * duty * duty - COOLING * (self.celsius - ROOM_CELSIUS)) * dt_s;
        let lasting = |seconds: f64, above: bool| if above { seconds + dt_s } else { 0.0 };
        let settings = self.settings;
        let overload = load > 0.0 && load >= settings.overload_torque;
        self.overload_s = lasting(self.overload_s, overload);
        let overcurrent = self.milliamperes() > settings.overcurrent_ma;
        self.overcurrent_s = lasting(self.overcurrent_s, overcurrent);
        if self.overload_s > settings.overload_s {
            self.latched |= OVERLOAD_ALARM;
        }
        if self.overcurrent_s > settings.overcurrent_s {
            self.latched |= OVERCURRENT_ALARM;
        }
        let cuts = self.own_alarms() & (TEMPERATURE_ALARM | OVERCURRENT_ALARM) & settings.unloading;
        if cuts != 0 && self.torque() {
            self.set(Register::TorqueEnable, 0);
        }
    }

    /// The ERR byte of every answer and the status register, scripted alarms included.
    pub fn alarms(&self) -> u8 {
        self.own_alarms() | self.forced_alarms
    }

    fn own_alarms(&self) -> u8 {
        let mut status = self.latched;
        let [low, high] = self.settings.decivolts;
        if !(low..=high).contains(&((self.volts * 10.0).round() as i32)) {
            status |= VOLTAGE_ALARM;
        }
        if self.celsius >= self.settings.max_celsius {
            status |= TEMPERATURE_ALARM;
        }
        status
    }

    /// The most duty cycle that is allowed now, permille: after an overload, less.
    pub(super) fn effort(&self) -> f64 {
        if self.latched & OVERLOAD_ALARM == 0 {
            self.settings.torque_limit
        } else {
            self.settings
                .torque_limit
                .min(self.settings.protective_torque)
        }
    }

    /// Drops the alarms that only a change of torque clears.
    pub(super) fn forgive(&mut self) {
        self.overload_s = 0.0;
        self.overcurrent_s = 0.0;
        self.latched = 0;
    }

    /// Heats or cools the case at once, °C.
    pub fn heat_to(&mut self, celsius: f64) {
        self.celsius = celsius;
        self.report();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Variant;
    use super::*;

    fn pushing() -> SimServo {
        let mut servo = SimServo::new(Variant::Volts12, 2000.0, None);
        servo.stuck = true;
        servo.write(42, &2500_u16.to_le_bytes());
        servo
    }

    fn run(servo: &mut SimServo, seconds: f64) {
        for _ in 0..(seconds * 1000.0) as usize {
            servo.advance(0.001, 12.0);
        }
        servo.report();
    }

    #[test]
    fn a_blocked_joint_overloads_and_then_pushes_softly() {
        let mut servo = pushing();
        run(&mut servo, 1.0);
        assert_eq!(servo.get(Register::PresentLoad), 1000);
        assert_eq!(servo.alarms(), 0);
        run(&mut servo, 1.5);
        assert_eq!(servo.alarms(), OVERLOAD_ALARM);
        assert_eq!(servo.get(Register::Status), i32::from(OVERLOAD_ALARM));
        assert_eq!(servo.get(Register::PresentLoad), 200);
        assert!(servo.get(Register::PresentTemperature) > 30);
        servo.write(40, &[0]);
        servo.report();
        assert_eq!(servo.alarms(), 0);
    }

    #[test]
    fn the_overload_registers_are_obeyed() {
        let mut servo = pushing();
        servo.write(34, &[10, 50, 25]);
        servo.write(48, &240_u16.to_le_bytes());
        run(&mut servo, 1.0);
        assert_eq!((servo.alarms(), servo.get(Register::PresentLoad)), (0, 240));
        servo.write(48, &300_u16.to_le_bytes());
        run(&mut servo, 0.6);
        assert_eq!(servo.alarms(), OVERLOAD_ALARM);
        assert_eq!(servo.get(Register::PresentLoad), 100);
    }

    #[test]
    fn current_above_its_limit_cuts_torque_after_its_time() {
        let mut servo = pushing();
        servo.write(28, &250_u16.to_le_bytes());
        servo.write(38, &[50]);
        run(&mut servo, 0.4);
        assert!(servo.torque() && servo.milliamperes() > 2600.0);
        run(&mut servo, 0.2);
        assert!(!servo.torque());
        assert_eq!(servo.alarms(), OVERCURRENT_ALARM);
        servo.write(40, &[1]);
        servo.report();
        assert_eq!((servo.torque(), servo.alarms()), (true, 0));
    }

    #[test]
    fn heat_cuts_torque_and_low_voltage_only_complains() {
        let mut servo = pushing();
        servo.stuck = false;
        servo.advance(0.001, 3.5);
        servo.report();
        assert_eq!((servo.alarms(), servo.torque()), (VOLTAGE_ALARM, true));
        servo.heat_to(75.0);
        servo.advance(0.001, 12.0);
        servo.report();
        assert_eq!((servo.alarms(), servo.torque()), (TEMPERATURE_ALARM, false));
    }

    #[test]
    fn scripted_alarms_stand_in_the_status_register_too() {
        let mut servo = pushing();
        servo.forced_alarms = 0x12;
        assert_eq!(servo.read(65, 1), [0x12]);
        servo.forced_alarms = 0;
        assert_eq!(servo.read(65, 1), [0]);
        assert_eq!(servo.alarms(), 0);
    }
}
