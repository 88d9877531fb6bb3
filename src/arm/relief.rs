//! Giving the gripper less to do, and taking that back when the operator says so.

use crate::arm::audit::Controls;
use crate::arm::bus::BusError;
use crate::arm::error::Error;
use crate::arm::grip::{Feel, Grip};
use crate::arm::register::Register;
use crate::arm::{AlarmKind, Arm};
use crate::joint::Joint;

impl Arm {
    /// What the gripper does by itself.
    pub fn grip(&self) -> Grip {
        self.reflex.grip()
    }

    /// The operator has seen to what a servo complained of. The gripper may close again with its usual strength; one that
    /// still reports an overload goes limp for a moment, which is what clears it, and drops what it holds. Other joints are
    /// not touched: without torque they would drop the arm.
    ///
    /// # Errors
    /// The gripper did not take what was written, is silent, or the port is lost.
    pub fn clear_alarm(&mut self, joint: Joint) -> Result<(), Error> {
        if joint != Joint::Gripper {
            return Ok(());
        }
        self.reflex.reset();
        let servo = &self.servos[joint.index()];
        let is_overloaded = AlarmKind::Overload.is_in(self.bus.alarm_bits(servo.motor.id));
        if !(self.armed && is_overloaded) {
            return Ok(());
        }
        self.restart_gripper()
    }

    /// Torque off, goal = where it is, torque on.
    fn restart_gripper(&mut self) -> Result<(), Error> {
        let joint = Joint::Gripper;
        let id = self.servos[joint.index()].motor.id;
        self.write(joint, Register::TorqueEnable, 0)?;
        let here = self.locate(joint)?;
        let servo = &mut self.servos[joint.index()];
        servo.goal = servo.within_range(here);
        let goal = servo.goal;
        self.motion.position[joint] = self.calibration.normalize(joint, f64::from(goal));
        self.motion.velocity[joint] = 0.0;
        let mut on = |register, value| self.bus.write(id, register, value);
        let written: Result<(), BusError> =
            on(Register::GoalPosition, goal).and_then(|()| on(Register::TorqueEnable, 1));
        written.map_err(|error| self.bus_error(error))
    }

    /// Lets the gripper's reflexes feel what was measured, and gives it the strength that they want.
    pub(super) fn ease_grip(&mut self, controls: &Controls) -> Result<(), Error> {
        let joint = Joint::Gripper;
        let servo = &self.servos[joint.index()];
        let Some(control) = controls[joint.index()] else {
            return Ok(());
        };
        let bits = self.bus.alarm_bits(servo.motor.id);
        let units = |counts: i32| self.calibration.normalize(joint, f64::from(counts));
        let feel = Feel {
            now: self.options.clock.now(),
            goal: units(servo.goal),
            position: units(servo.position().unwrap_or(servo.goal)),
            load_percent: servo.telemetry.load_percent,
            milliamperes: servo.telemetry.milliamperes,
            is_overloaded: AlarmKind::Overload.is_in(bits),
        };
        let id = servo.motor.id;
        self.reflex.feel(&feel);
        let wanted = self.driving_limits(joint).1;
        if control.torque_limit == wanted {
            return Ok(());
        }
        // Not read back here: the next look tells.
        self.bus
            .sync_write(Register::TorqueLimit, &[(id, wanted)])
            .map_err(|error| self.bus_error(error))
    }
}
