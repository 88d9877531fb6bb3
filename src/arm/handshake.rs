//! Meeting the servos: everything that speaks against driving this arm, said at once, before torque is touched.

use crate::arm::alarm::HOT_CELSIUS;
use crate::arm::bus::{BusError, TRIES};
use crate::arm::error::{Error, ErrorKind, Motor, Problem};
use crate::arm::register::{Block, Register};
use crate::arm::servo::{Identity, Servo};
use crate::arm::{AlarmKind, Arm};

/// `ModelNumber` of an STS3215.
const MODEL: i32 = 777;
/// Phase: `GoalVelocity` counts single steps a second, not fifties.
const PHASE_FINE_SPEED: i32 = 1 << 2;
/// Phase: positions run on beyond one turn.
pub(super) const PHASE_MULTI_TURN: i32 = 1 << 4;
/// Counts by which a joint may stand outside its recorded range (2°): hard stops give a little.
const RANGE_SLACK: i32 = 23;

/// Who answered, and what is wrong with the others.
#[derive(Debug, Default)]
pub(super) struct RollCall {
    present: Vec<u8>,
    problems: Vec<Problem>,
}

impl Arm {
    /// The whole handshake.
    pub(super) fn meet(&mut self) -> Result<(), Error> {
        // How fast this adapter is, the handshake finds out.
        self.bus.reply_time().be_patient();
        let first = self.servos[0].motor.id;
        if self
            .bus
            .echoes(first)
            .map_err(|error| self.bus_error(error))?
        {
            return Err(self.error(ErrorKind::Echo));
        }
        self.inspect()?;
        self.bus.reply_time().settle();
        Ok(())
    }

    /// Looks at every servo without changing anything.
    fn inspect(&mut self) -> Result<(), Error> {
        let mut roll = RollCall::default();
        for motor in self.servos.each_ref().map(|servo| servo.motor) {
            self.call(motor, &mut roll)?;
        }
        self.look(roll)
    }

    /// Takes note of what the servos that answered are and where they stand; all that is wrong with any of them.
    pub(super) fn look(&mut self, roll: RollCall) -> Result<(), Error> {
        let RollCall {
            present,
            mut problems,
        } = roll;
        if present.is_empty()
            && problems
                .iter()
                .all(|problem| matches!(problem, Problem::Missing(_)))
        {
            return Err(self.error(ErrorKind::NoResponse));
        }
        let blocks = [Block::IDENTITY, Block::HOMING, Block::CONTROL, Block::STATE];
        let mut answers = Vec::with_capacity(blocks.len());
        for block in blocks {
            let read = self.bus.sync_read(block, &present, TRIES);
            answers.push(read.map_err(|error| self.bus_error(error))?);
        }
        let now = self.options.clock.now();
        let mut firmware = Vec::new();
        for (index, id) in present.iter().enumerate() {
            let Some(servo) = self.servos.iter_mut().find(|servo| servo.motor.id == *id) else {
                continue;
            };
            let read = |block: usize| answers[block][index].as_deref();
            let (Some(identity), Some(homing), Some(control), Some(state)) =
                (read(0), read(1), read(2), read(3))
            else {
                problems.push(Problem::Missing(servo.motor));
                continue;
            };
            let version = |register| Block::IDENTITY.value(register, identity);
            firmware.push((
                servo.motor,
                version(Register::FirmwareMajorVersion),
                version(Register::FirmwareMinorVersion),
            ));
            servo.introduce(identity, control);
            servo.forget();
            servo.measured(state, now);
            problems.extend(servo.mechanical_problems(identity, homing));
            problems.extend(servo.position_problem());
            problems.extend(servo.voltage_problem());
        }
        if firmware
            .iter()
            .any(|(_, major, minor)| (*major, *minor) != (firmware[0].1, firmware[0].2))
        {
            problems.push(Problem::Firmware(firmware));
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(self.error(ErrorKind::Unfit(problems)))
        }
    }

    /// What speaks against switching torque on now, beyond what [`Arm::look`] finds. An overload is no reason:
    /// switching torque on is how it is cleared.
    pub(super) fn fitness(&self) -> Result<(), Error> {
        let mut problems = Vec::new();
        for servo in &self.servos {
            let (motor, celsius) = (servo.motor, servo.telemetry.celsius);
            if celsius >= HOT_CELSIUS {
                problems.push(Problem::Hot { motor, celsius });
            }
            let bits = self.bus.alarm_bits(motor.id);
            if AlarmKind::from_status(bits, celsius).any(|kind| kind == AlarmKind::Encoder) {
                problems.push(Problem::Encoder(motor));
            }
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(self.error(ErrorKind::Unfit(problems)))
        }
    }

    /// Pings one servo.
    pub(super) fn call(&mut self, motor: Motor, roll: &mut RollCall) -> Result<(), Error> {
        match self.bus.ping(motor.id) {
            Ok(()) => roll.present.push(motor.id),
            Err(BusError::NoReply { garbled: true, .. }) => {
                roll.problems.push(Problem::Garbled(motor));
            }
            Err(BusError::NoReply { .. }) => roll.problems.push(Problem::Missing(motor)),
            Err(error) => return Err(self.bus_error(error)),
        }
        Ok(())
    }
}

impl Servo {
    /// Keeps what later steps need to know of this servo.
    fn introduce(&mut self, identity: &[u8], control: &[u8]) {
        let fixed = |register| Block::IDENTITY.value(register, identity);
        let live = |register| Block::CONTROL.value(register, control);
        let fine = fixed(Register::Phase) & PHASE_FINE_SPEED != 0;
        // Later on these hold what arming wrote.
        let found = [Register::GoalVelocity, Register::Acceleration].map(live);
        let [goal_velocity, acceleration] = match &self.identity {
            met if met.speed_unit > 0 => [met.goal_velocity, met.acceleration],
            _ => found,
        };
        self.identity = Identity {
            max_torque: fixed(Register::MaxTorqueLimit),
            speed_unit: if fine { 1 } else { 50 },
            min_decivolts: fixed(Register::MinVoltageLimit),
            max_decivolts: fixed(Register::MaxVoltageLimit),
            goal_velocity,
            acceleration,
        };
        self.energised = live(Register::TorqueEnable) != 0;
        self.goal = live(Register::GoalPosition);
    }

    /// Wrong type, wrong set-up, wrong calibration.
    fn mechanical_problems(&self, identity: &[u8], homing: &[u8]) -> Vec<Problem> {
        let motor = self.motor;
        let fixed = |register| Block::IDENTITY.value(register, identity);
        let mut problems = Vec::new();
        let model = fixed(Register::ModelNumber);
        if model != MODEL {
            problems.push(Problem::Model { motor, model });
        }
        if fixed(Register::ResponseStatusLevel) == 0 {
            problems.push(Problem::Unacknowledging(motor));
        }
        if fixed(Register::Phase) & PHASE_MULTI_TURN != 0 {
            problems.push(Problem::MultiTurn(motor));
        }
        let mode = Block::HOMING.value(Register::OperatingMode, homing);
        if mode != 0 {
            problems.push(Problem::Mode { motor, mode });
        }
        let entry = self.calibration;
        let values = [
            (
                "homing_offset",
                Block::HOMING.value(Register::HomingOffset, homing),
                entry.homing_offset,
            ),
            (
                "range_min",
                fixed(Register::MinPositionLimit),
                entry.range_min,
            ),
            (
                "range_max",
                fixed(Register::MaxPositionLimit),
                entry.range_max,
            ),
        ];
        let mismatches = values.into_iter().filter(|(_, servo, file)| servo != file);
        problems.extend(mismatches.map(|(what, servo, file)| Problem::Calibration {
            motor,
            what,
            servo,
            file,
        }));
        problems
    }

    fn position_problem(&self) -> Option<Problem> {
        let position = self.position()?;
        let (min, max) = (self.calibration.range_min, self.calibration.range_max);
        let outside = position < min - RANGE_SLACK || position > max + RANGE_SLACK;
        outside.then_some(Problem::Position {
            motor: self.motor,
            position,
            min,
            max,
        })
    }

    fn voltage_problem(&self) -> Option<Problem> {
        let [min, max] = [self.identity.min_decivolts, self.identity.max_decivolts]
            .map(|limit| limit as f32 / 10.0);
        let volts = self.telemetry.volts;
        (volts < min || volts > max).then_some(Problem::Voltage {
            motor: self.motor,
            volts,
            min,
            max,
        })
    }
}
