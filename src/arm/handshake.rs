//! Meeting the servos: everything that speaks against driving this arm, said at once, before torque is touched.

use crate::arm::alarm::HOT_CELSIUS;
use crate::arm::bus::{BusError, TRIES};
use crate::arm::error::{Error, ErrorKind, Motor};
use crate::arm::problem::Problem;
use crate::arm::register::{Block, Register, STS3215};
use crate::arm::servo::{Identity, Servo};
use crate::arm::supply::Window;
use crate::arm::{AlarmKind, Arm, Role};

/// Phase: `GoalVelocity` counts single steps a second, not fifties.
const PHASE_FINE_SPEED: i32 = 1 << 2;
/// Phase: positions run on beyond one turn.
pub(super) const PHASE_MULTI_TURN: i32 = 1 << 4;
/// Counts by which a joint may stand outside its recorded range (2°): hard stops give a little.
const RANGE_SLACK: i32 = 23;
/// What is looked at in each servo.
const LOOKED_AT: [Block; 4] = [
    Block::IDENTITY,
    Block::CONTROL,
    Block::STATE,
    Block::FACTORY,
];

/// Who answered, and what is wrong with the others.
#[derive(Debug, Default)]
pub(super) struct RollCall {
    present: Vec<u8>,
    problems: Vec<Problem>,
}

impl Arm {
    /// The whole handshake: who is there, what speaks against driving it, and the settings of servos that are limp.
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
        let mut problems = self.inspect()?;
        // Nothing is written to what may be another arm.
        if problems.iter().all(Problem::is_curable) && self.configure()? {
            problems = self.inspect()?;
        }
        self.refuse(problems)?;
        self.bus.reply_time().settle();
        Ok(())
    }

    /// Looks at every servo without changing anything.
    fn inspect(&mut self) -> Result<Vec<Problem>, Error> {
        let mut roll = RollCall::default();
        for motor in self.servos.each_ref().map(|servo| servo.motor) {
            self.call(motor, &mut roll)?;
        }
        self.look(roll)
    }

    /// All reasons at once, or none.
    pub(super) fn refuse(&self, problems: Vec<Problem>) -> Result<(), Error> {
        if problems.is_empty() {
            Ok(())
        } else {
            Err(self.error(ErrorKind::Unfit(problems)))
        }
    }

    /// Takes note of what the servos that answered are and where they stand; all that is wrong with any of them.
    ///
    /// # Errors
    /// Nobody answered, or the port is lost.
    pub(super) fn look(&mut self, roll: RollCall) -> Result<Vec<Problem>, Error> {
        let RollCall {
            present,
            mut problems,
        } = roll;
        let missing = |problem: &Problem| matches!(problem, Problem::Missing(_));
        if present.is_empty() && problems.iter().all(missing) {
            return Err(self.error(ErrorKind::NoResponse));
        }
        let mut answers = Vec::with_capacity(LOOKED_AT.len());
        for block in LOOKED_AT {
            let read = self.bus.sync_read(block, &present, TRIES);
            answers.push(read.map_err(|error| self.bus_error(error))?);
        }
        let now = self.options.clock.now();
        let role = self.options.role;
        let mut firmware = Vec::new();
        for (index, id) in present.iter().enumerate() {
            let Some(servo) = self.servos.iter_mut().find(|servo| servo.motor.id == *id) else {
                continue;
            };
            let read = |block: usize| answers[block][index].as_deref();
            let (Some(identity), Some(control), Some(state), Some(factory)) =
                (read(0), read(1), read(2), read(3))
            else {
                // It answered to its name, and not to this: two that answer together spoil whatever differs.
                problems.push(Problem::Garbled(servo.motor));
                continue;
            };
            firmware.push((servo.motor, servo.introduce(identity, control)));
            servo.compare(identity, factory);
            servo.forget();
            servo.measured(state, now);
            problems.extend(servo.problems(identity, role));
        }
        let versions = || firmware.iter().map(|(_, version)| version);
        if versions().any(|version| Some(version) != versions().next()) {
            let named = firmware
                .iter()
                .map(|(motor, [major, minor])| (*motor, *major, *minor));
            problems.push(Problem::Firmware(named.collect()));
        }
        Ok(problems)
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
        self.refuse(problems)
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
    /// Keeps what later steps need to know of this servo; its firmware version.
    fn introduce(&mut self, identity: &[u8], control: &[u8]) -> [i32; 2] {
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
            supply: Window::of(
                fixed(Register::MinVoltageLimit),
                fixed(Register::MaxVoltageLimit),
            ),
            goal_velocity,
            acceleration,
        };
        self.energised = live(Register::TorqueEnable) != 0;
        self.goal = live(Register::GoalPosition);
        [
            Register::FirmwareMajorVersion,
            Register::FirmwareMinorVersion,
        ]
        .map(fixed)
    }

    /// Wrong type, wrong set-up, wrong calibration, wrong supply, wrong place.
    fn problems(&self, identity: &[u8], role: Role) -> Vec<Problem> {
        let motor = self.motor;
        let fixed = |register| Block::IDENTITY.value(register, identity);
        let mut problems = Vec::new();
        let model = fixed(Register::ModelNumber);
        if model != STS3215 {
            problems.push(Problem::Model { motor, model });
        }
        if fixed(Register::ResponseStatusLevel) == 0 {
            problems.push(Problem::Unacknowledging(motor));
        }
        let mode = fixed(Register::OperatingMode);
        if mode != 0 {
            problems.push(Problem::Mode { motor, mode });
        }
        problems.extend(self.calibration_problems(identity));
        if fixed(Register::Phase) & PHASE_MULTI_TURN != 0 {
            // Where it says that it stands means nothing before that is put right.
            problems.push(Problem::MultiTurn(motor));
        } else if role == Role::Follower {
            // A leader may lean over the end of its range: nothing drives it, and what it says is cut.
            problems.extend(self.position_problem());
        }
        problems.extend(self.voltage_problem());
        problems
    }

    /// Each value of the calibration that is another one in the servo: the file is that of another arm.
    fn calibration_problems(&self, identity: &[u8]) -> Vec<Problem> {
        let (motor, entry) = (self.motor, self.calibration);
        let values = [
            ("homing_offset", Register::HomingOffset, entry.homing_offset),
            ("range_min", Register::MinPositionLimit, entry.range_min),
            ("range_max", Register::MaxPositionLimit, entry.range_max),
        ];
        let compared = values.map(|(what, register, file)| {
            let servo = Block::IDENTITY.value(register, identity);
            (servo != file).then_some(Problem::Calibration {
                motor,
                what,
                servo,
                file,
            })
        });
        compared.into_iter().flatten().collect()
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
        let (Window { min, max }, volts) = (self.identity.supply, self.telemetry.volts);
        (volts < min || volts > max).then_some(Problem::Voltage {
            motor: self.motor,
            volts,
            min,
            max,
        })
    }
}
