//! The motor in the pretend servo: it needs time to get anywhere, and it pushes against what stops it.

use super::SimServo;
use super::settings::CURRENT_UNIT;
use crate::arm::register::Register;

/// Duty cycle for each count of position error, permille: full effort at 100 counts, as with P = 16 or so.
const LOAD_PER_COUNT: f64 = 10.0;
/// Duty cycle of friction while turning, permille.
const FRICTION_LOAD: f64 = 60.0;
/// Milliamperes at full duty cycle.
const STALL_MILLIAMPERES: f64 = 2700.0;
/// Counts a second below which the register for motion says no.
const MOVING: f64 = 1.0;
/// A goal is reached within this many counts: far below what the encoder tells.
const THERE: f64 = 1e-6;
/// Of a servo that is on and does nothing, °C.
pub(super) const IDLE_CELSIUS: f64 = 30.0;

impl SimServo {
    /// Milliamperes that the motor draws now.
    pub fn milliamperes(&self) -> f64 {
        (self.load - self.back_emf).abs() / 1000.0 * STALL_MILLIAMPERES
    }

    /// Whether nothing turned in the last step and nothing has changed since, so that time may pass in longer steps.
    pub fn is_resting(&self) -> bool {
        self.resting
    }

    /// Runs `dt_s` seconds with `volts` at the plug.
    pub fn advance(&mut self, dt_s: f64, volts: f64) {
        self.volts = if self.plugged { volts } else { 0.0 };
        self.boot_s = (self.boot_s - dt_s).max(0.0);
        if self.settings.torque {
            self.drive(dt_s);
        } else {
            self.yield_to_hand(dt_s);
        }
        self.protect(dt_s);
    }

    /// Moves towards the goal with the speed and acceleration that the registers allow.
    fn drive(&mut self, dt_s: f64) {
        let error = self.error();
        let effort = self.effort();
        let blocked = self.is_blocked(error);
        if blocked || effort <= 0.0 {
            let pushing = if blocked { error * LOAD_PER_COUNT } else { 0.0 };
            self.load = pushing.clamp(-effort, effort);
            self.velocity = 0.0;
            self.resting = true;
            return;
        }
        self.velocity = self.next_velocity(self.velocity, error, dt_s);
        let step = self.velocity * dt_s;
        let next = self.encoder + step;
        self.encoder = self.stopped(next);
        if self.encoder != next || self.settings.mode == 0 && (error - step).abs() < THERE {
            self.velocity = 0.0;
        }
        self.resting = self.velocity == 0.0;
        let turning = if self.resting { 0.0 } else { FRICTION_LOAD };
        self.load = self.velocity.signum() * turning.min(effort);
    }

    /// Counts a second, after `dt_s` more, of something that is `error` counts away from its goal.
    pub(super) fn next_velocity(&self, velocity: f64, error: f64, dt_s: f64) -> f64 {
        let change = self.settings.acceleration * dt_s;
        let wanted = self.wanted_velocity(error, dt_s);
        let slower = wanted.abs() < velocity.abs() && wanted * velocity >= 0.0;
        if slower {
            wanted
        } else {
            velocity + (wanted - velocity).clamp(-change, change)
        }
    }

    /// Counts a second at which it would turn if it had no inertia.
    fn wanted_velocity(&self, error: f64, dt_s: f64) -> f64 {
        match self.settings.mode {
            0 => {
                // The speed from which it can still stop at the goal.
                let stopping = (2.0 * self.settings.acceleration * error.abs()).sqrt();
                error.signum() * self.settings.speed.min(stopping).min(error.abs() / dt_s)
            }
            1 => self.settings.wheel_speed,
            // Duty cycle and single steps are not for arms; nobody sets them here.
            _ => 0.0,
        }
    }

    /// Goes where a hand takes it.
    fn yield_to_hand(&mut self, dt_s: f64) {
        let before = self.encoder;
        if let Some(pull) = self.pull
            && !self.stuck
        {
            let step = pull.speed * dt_s;
            let next = before + (pull.to - before).clamp(-step, step);
            self.encoder = self.stopped(next);
        }
        self.velocity = (self.encoder - before) / dt_s;
        self.load = 0.0;
        self.resting = self.velocity == 0.0;
    }

    /// The ends between which it can turn now.
    pub(super) fn ends(&self) -> [f64; 2] {
        let free = [f64::NEG_INFINITY, f64::INFINITY];
        let [low, high] = self.stops.unwrap_or(free);
        let [object_low, object_high] = self.object.unwrap_or(free);
        [low.max(object_low), high.min(object_high)]
    }

    /// Where it comes to on the way to `next`: not past an end, and not back from beyond one by itself.
    fn stopped(&self, next: f64) -> f64 {
        let [low, high] = self.ends();
        if next > self.encoder {
            next.min(high.max(self.encoder))
        } else {
            next.max(low.min(self.encoder))
        }
    }

    /// Whether it pushes against something that does not give way.
    fn is_blocked(&self, error: f64) -> bool {
        let [low, high] = self.ends();
        let towards = match self.settings.mode {
            0 => error,
            1 => self.settings.wheel_speed,
            _ => 0.0,
        };
        self.stuck || towards > 0.0 && self.encoder >= high || towards < 0.0 && self.encoder <= low
    }

    /// Something lies where this servo reads `counts`: from here it gets no further than that.
    pub fn put_in_the_way(&mut self, counts: f64) {
        let at = self.encoder_at(counts);
        self.object = Some(if at < self.encoder {
            [at, f64::INFINITY]
        } else {
            [f64::NEG_INFINITY, at]
        });
    }

    /// Counts from here to the goal, which the firmware keeps inside its limits. Zero where there is no goal.
    fn error(&self) -> f64 {
        if self.settings.mode == 0 {
            self.settings.goal - self.position()
        } else {
            0.0
        }
    }

    /// Writes what is measured into the registers.
    pub fn report(&mut self) {
        let turn = super::COUNTS_PER_TURN;
        let position = (self.position() + self.flicker).round() as i32;
        let position = if self.settings.multi_turn {
            position
        } else {
            position.rem_euclid(turn)
        };
        let measured = [
            (Register::PresentPosition, position),
            (Register::PresentVelocity, self.velocity.round() as i32),
            (Register::PresentLoad, self.load.round() as i32),
            (
                Register::PresentCurrent,
                (self.milliamperes() / CURRENT_UNIT).round() as i32,
            ),
            (Register::PresentVoltage, (self.volts * 10.0).round() as i32),
            (Register::PresentTemperature, self.celsius.round() as i32),
            (Register::Moving, i32::from(self.velocity.abs() >= MOVING)),
            (Register::Status, i32::from(self.alarms())),
        ];
        for (register, value) in measured {
            if let Ok(encoded) = register.encode(value) {
                self.put(register, encoded);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{SimServo, Variant};
    use super::*;
    use crate::arm::Calibration;
    use crate::joint::Joint;
    use crate::sim::hand::Pull;

    /// Reads 2000, which is 1290 on its encoder.
    fn servo() -> SimServo {
        let motor = Calibration::simulated().motor(Joint::ShoulderPan);
        let encoder = 2000.0 + f64::from(motor.homing_offset);
        SimServo::new(Variant::Volts12, encoder, Some([0.0, 2600.0])).calibrated(motor)
    }

    fn run(servo: &mut SimServo, seconds: f64) {
        for _ in 0..(seconds * 1000.0) as usize {
            servo.advance(0.001, 12.0);
        }
        servo.report();
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
        assert!(!servo.is_resting());
        run(&mut servo, 0.5);
        assert_eq!(servo.get(Register::PresentPosition), 2500);
        assert_eq!(servo.get(Register::Moving), 0);
        assert!(servo.is_resting());
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
    fn the_lower_of_both_accelerations_holds() {
        let reach = |bytes: &[(u8, u8)]| {
            let mut servo = servo();
            for (address, byte) in bytes {
                servo.write(*address, &[*byte]);
            }
            servo.write(42, &3000_u16.to_le_bytes());
            run(&mut servo, 0.1);
            servo.position() - 2000.0
        };
        assert!((reach(&[(41, 20)]) - 10.0).abs() < 0.5);
        assert!((reach(&[(41, 20), (85, 254)]) - 10.0).abs() < 0.5);
        assert!((reach(&[(41, 254), (85, 10)]) - 5.0).abs() < 0.5);
        assert!(reach(&[]) > 100.0);
    }

    #[test]
    fn in_speed_mode_it_turns_until_it_is_told_to_stop() {
        let mut servo = servo();
        servo.write(33, &[1]);
        servo.write(46, &0x8064_u16.to_le_bytes());
        servo.write(40, &[1]);
        run(&mut servo, 1.0);
        assert!(
            (1895.0..1905.0).contains(&servo.position()),
            "{}",
            servo.position()
        );
        servo.write(46, &[0, 0]);
        run(&mut servo, 0.1);
        assert_eq!(servo.get(Register::PresentVelocity), 0);
    }

    #[test]
    fn a_stop_ends_a_motion_and_is_pushed_against() {
        let mut servo = servo();
        servo.poke(11, 0xFF);
        servo.poke(12, 0x0F);
        servo.write(42, &3600_u16.to_le_bytes());
        run(&mut servo, 1.0);
        assert_eq!(servo.get(Register::PresentPosition), 2600 + 710);
        assert_eq!(servo.get(Register::PresentLoad), 1000);
        servo.write(42, &3000_u16.to_le_bytes());
        run(&mut servo, 1.0);
        assert_eq!(servo.get(Register::PresentPosition), 3000);
        assert_eq!(servo.get(Register::PresentLoad), 0);
    }

    #[test]
    fn an_object_stops_the_joint_on_its_side_only() {
        let mut servo = servo();
        servo.put_in_the_way(1900.0);
        servo.write(42, &1500_u16.to_le_bytes());
        run(&mut servo, 0.5);
        assert_eq!(servo.get(Register::PresentPosition), 1900);
        servo.write(42, &2500_u16.to_le_bytes());
        run(&mut servo, 0.5);
        assert_eq!(servo.get(Register::PresentPosition), 2500);
    }

    #[test]
    fn a_hand_moves_a_limp_joint_to_its_stop_and_no_driven_one() {
        let mut servo = servo();
        servo.pull = Some(Pull {
            to: 9000.0,
            speed: 1000.0,
        });
        run(&mut servo, 1.0);
        assert_eq!(servo.get(Register::PresentPosition), 3000);
        assert_eq!(servo.get(Register::PresentVelocity), 1000);
        run(&mut servo, 1.0);
        assert_eq!(servo.get(Register::PresentPosition), 3310);
        assert_eq!(servo.get(Register::PresentVelocity), 0);
        servo.write(42, &3298_u16.to_le_bytes());
        run(&mut servo, 1.0);
        assert_eq!(servo.get(Register::PresentPosition), 3298);
    }
}
