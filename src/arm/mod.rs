//! The SO-101 on its serial bus: packets, registers, calibration, arming and limits.
//!
//! [`Arm`] is the whole arm as the control thread sees it. It never moves a joint that nobody asked to move, sends no goal
//! before torque was switched on in the safe order, and leaves the servos holding when it is dropped: cutting torque drops
//! the arm.

mod access;
mod alarm;
mod arming;
mod audit;
mod brake;
pub mod bus;
mod calibration;
mod calibration_file;
mod configure;
mod drive;
mod error;
mod grip;
mod handshake;
mod hold;
mod limits;
mod lowering;
pub mod packet;
mod port;
mod problem;
pub mod register;
mod relief;
mod rising;
mod role;
#[cfg(test)]
mod second_opinion;
mod servo;
mod supply;
mod text;
pub mod turn;
pub mod workbench;

use std::time::Duration;

pub use access::System;
pub use alarm::{Alarm, AlarmKind, HOT_CELSIUS, WARM_CELSIUS};
pub use arming::TorqueStep;
pub use brake::Brake;
pub use calibration::{Calibration, CalibrationError, MAX_HOMING_OFFSET, MotorCalibration};
pub use calibration_file::{Calibrations, KnownArm, Staged, check_id};
pub use configure::Unset;
pub use error::{Error, ErrorKind, Motor};
pub use grip::Grip;
pub use hold::Held;
pub use limits::{Clearance, Cut, CutCounts, Cuts, Limits, Motion};
pub use port::{BAUD_RATE, PortInfo, list_ports, open_port, path_of};
pub use problem::Problem;
pub use role::{Role, UnknownRole};
pub use servo::Telemetry;
pub use supply::VoltageClass;
pub use text::read_text;
pub use turn::COUNTS_PER_TURN;

use crate::clock::Clock;
use crate::joint::{JOINT_COUNT, Joint, JointVec};
use arming::Change;
use bus::{Bus, BusError};
use grip::Reflex;
use handshake::PHASE_MULTI_TURN;
use limits::{default_acceleration, default_speed};
use servo::{Servo, telemetry_from};

/// An opened serial port, real or in memory.
pub type Port = Box<dyn serialport::SerialPort>;

/// What bounds the goals of an arm beside the travel and the speed of its joints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// How close the arm may come to the table and to itself; `None` for an arm that nobody knows the place of.
    pub clearance: Option<Clearance>,
    /// The farthest that a goal may be from where its joint is, robot units, as LeRobot has it: a joint that does not follow
    /// is not pushed harder. `None`, as in LeRobot, goes without: speeds are bounded anyway.
    pub max_relative_target: Option<f32>,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            clearance: Some(Clearance::default()),
            max_relative_target: None,
        }
    }
}

/// How an arm is driven.
#[derive(Clone, Debug)]
pub struct Options {
    /// A follower is driven; a leader is only read, and what matters to driving alone does not speak against it.
    pub role: Role,
    /// Measures deadlines and waits; give the simulated arm's clock with its port.
    pub clock: Clock,
    /// How long a servo's answer may take beyond its time on the wire.
    pub reply_timeout: Duration,
    /// Fastest motion of each joint, robot units a second.
    pub max_speed: JointVec,
    /// Hardest change of speed of each joint, robot units a second squared.
    pub max_acceleration: JointVec,
    pub bounds: Bounds,
    /// Torque limit while driving, permille of the servo's most, by joint. The last line if everything else fails.
    pub torque_limit: [i32; JOINT_COUNT],
}

impl Default for Options {
    fn default() -> Self {
        Self {
            role: Role::Follower,
            clock: Clock::real(),
            reply_timeout: bus::REPLY_TIMEOUT,
            max_speed: default_speed(),
            max_acceleration: default_acceleration(),
            bounds: Bounds::default(),
            // The gripper holds things for long and is the joint that burns.
            torque_limit: [600, 600, 600, 600, 600, 500],
        }
    }
}

/// What has been counted since the arm was connected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Requests sent, retries included.
    pub transactions: u64,
    /// Requests sent again because an answer was missing.
    pub retries: u64,
    /// Answer phases that held bytes which were no valid frame.
    pub corrupt: u64,
    /// Valid frames that nobody had asked for.
    pub unexpected: u64,
    /// Answers missing after all retries, by joint.
    pub lost: [u64; JOINT_COUNT],
    /// Values of actions that were not numbers.
    pub rejected: u64,
    /// Measured positions that no joint could have reached, and that were not believed.
    pub implausible: u64,
    /// Actions in which something was cut.
    pub cuts: CutCounts,
}

/// A connected SO-101. One thread owns it.
#[derive(Debug)]
pub struct Arm {
    bus: Bus,
    port: String,
    calibration: Calibration,
    limits: Limits,
    options: Options,
    servos: [Servo; JOINT_COUNT],
    /// Torque is on in all servos, and goals continue from where they are.
    armed: bool,
    /// Torque is being switched on or off.
    change: Option<Change>,
    /// Torque limits were lowered and are to be raised again before the arm is said to hold.
    weakened: bool,
    /// The goals on their way, finer than whole counts.
    motion: Motion,
    /// Reads since goals were sent last.
    unsent: u32,
    /// Seconds between two actions.
    period_s: f32,
    reflex: Reflex,
    /// What was cut of the latest action, and how often so far.
    cuts: Cuts,
    cut_counts: CutCounts,
    rejected: u64,
    /// Until somebody takes it.
    brake: Option<Brake>,
    connected_at: Duration,
}

/// Seconds between two actions before anybody says otherwise.
const USUAL_PERIOD_S: f32 = 1.0 / 30.0;

impl Arm {
    /// Meets the six servos behind `port` and checks that they are an SO-101 with this calibration which is fit to be
    /// driven. Torque is not touched; servos that are limp are set up where they are not (see [`Arm::unset`]).
    ///
    /// # Errors
    /// All reasons against driving the arm at once ([`ErrorKind::Unfit`]), an echoing adapter, silence, or a lost port.
    pub fn connect(port: Port, calibration: Calibration, options: Options) -> Result<Self, Error> {
        let name = port.name().unwrap_or_else(|| "serial port".to_owned());
        let bus = Bus::new(port, options.clock.clone(), options.reply_timeout);
        let brake = Brake::beside(&bus, &name, calibration).map_err(|error| Error {
            port: name.clone(),
            kind: ErrorKind::Open(format!("it cannot be shared with a watchdog: {error}")),
        })?;
        let limits = Limits::new(&calibration)
            .with_max_speed(options.max_speed)
            .with_max_acceleration(options.max_acceleration)
            .with_clearance(options.bounds.clearance);
        let mut arm = Self {
            bus,
            port: name,
            calibration,
            limits,
            servos: Joint::ALL.map(|joint| Servo::new(joint, calibration.motor(joint))),
            options,
            armed: false,
            change: None,
            weakened: false,
            motion: Motion::default(),
            unsent: 0,
            period_s: USUAL_PERIOD_S,
            reflex: Reflex::default(),
            cuts: Cuts::default(),
            cut_counts: CutCounts::default(),
            rejected: 0,
            brake: Some(brake),
            connected_at: Duration::ZERO,
        };
        arm.meet()?;
        arm.connected_at = arm.options.clock.now();
        Ok(arm)
    }

    /// The other hand on this arm, for a watchdog; once. It keeps the port open for as long as it lives.
    pub fn take_brake(&mut self) -> Option<Brake> {
        self.brake.take()
    }

    /// How much time lies between two actions: a goal moves by no more than is allowed in so long.
    pub fn set_period(&mut self, period: Duration) {
        self.period_s = period.as_secs_f32();
    }

    /// The port's name.
    pub fn port(&self) -> &str {
        &self.port
    }

    /// What [`Arm::connect`] was given.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// Where each joint may go and how fast.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether actions are accepted: torque is on in all servos and nothing has happened since that asks for a new start.
    pub fn torque_enabled(&self) -> bool {
        self.armed
    }

    /// Joints whose servos have torque, as far as they were last asked. Not all and not none after a start that was broken
    /// off, and where a servo lost its torque alone; all of a dead program's arm, although nobody armed it since.
    pub fn held_joints(&self) -> usize {
        self.servos.iter().filter(|servo| servo.energised).count()
    }

    /// Everything counted so far.
    pub fn counters(&self) -> Counters {
        let bus = self.bus.counters();
        let lost = |servo: &Servo| bus.lost.get(&servo.motor.id).copied().unwrap_or(0);
        Counters {
            transactions: bus.transactions,
            retries: bus.retries,
            corrupt: bus.corrupt,
            unexpected: bus.unexpected,
            lost: std::array::from_fn(|index| lost(&self.servos[index])),
            rejected: self.rejected,
            implausible: self.servos.iter().map(|servo| servo.implausible).sum(),
            cuts: self.cut_counts,
        }
    }

    /// What was cut of the latest action.
    pub fn cuts(&self) -> Cuts {
        self.cuts
    }

    /// How long ago each servo answered last.
    pub fn ages(&self) -> [Duration; JOINT_COUNT] {
        let now = self.options.clock.now();
        self.ids().map(|id| {
            let heard = self.bus.tally(id).answered_at;
            now.saturating_sub(heard.unwrap_or(self.connected_at))
        })
    }

    /// What went wrong with each servo's answers since the arm was connected: missing, damaged, or not believed.
    pub fn errors(&self) -> [u64; JOINT_COUNT] {
        std::array::from_fn(|index| {
            let servo = &self.servos[index];
            self.bus.tally(servo.motor.id).missed + servo.implausible
        })
    }

    /// What the servos complained about in their latest answers, and what was measured outside its bounds.
    pub fn alarms(&self) -> Vec<Alarm> {
        let of = |servo: &Servo| {
            let (motor, bits) = (servo.motor, self.bus.alarm_bits(servo.motor.id));
            let is_starved = servo.is_undersupplied() && !AlarmKind::Voltage.is_in(bits);
            let measured = is_starved.then_some(AlarmKind::Voltage);
            AlarmKind::from_status(bits, servo.telemetry.celsius)
                .chain(measured)
                .map(move |kind| Alarm { motor, kind })
        };
        self.servos.iter().flat_map(of).collect()
    }

    /// What each servo measured at the latest [`Arm::read_state`].
    pub fn telemetry(&self) -> [Telemetry; JOINT_COUNT] {
        std::array::from_fn(|index| self.servos[index].telemetry)
    }

    /// Consecutive reads for which each joint has now been silent; its last measured position stands in for so long.
    pub fn silence(&self) -> [u32; JOINT_COUNT] {
        std::array::from_fn(|index| self.servos[index].misses)
    }

    /// Waits on the arm's clock, for those who advance a change of torque without a loop of their own.
    #[cfg(test)]
    pub(crate) fn pause(&self, time: Duration) {
        let clock = &self.options.clock;
        clock.sleep_until(clock.now() + time);
    }

    fn ids(&self) -> [u8; JOINT_COUNT] {
        self.calibration.ids()
    }

    fn error(&self, kind: ErrorKind) -> Error {
        Error {
            port: self.port.clone(),
            kind,
        }
    }

    /// A failed conversation in words that name the joint. A lost port also ends arming: behind it may be another arm.
    fn bus_error(&mut self, error: BusError) -> Error {
        self.armed &= !matches!(error, BusError::Disconnected(_));
        let mut motors = self.servos.iter().map(|servo| servo.motor);
        let kind = kind_of(error, |id| motors.find(|motor| motor.id == id));
        self.error(kind)
    }
}

/// A failed conversation in words that name the joint, as far as `motor` knows whose id it was.
fn kind_of(error: BusError, motor: impl FnOnce(u8) -> Option<Motor>) -> ErrorKind {
    match error {
        BusError::Disconnected(detail) => ErrorKind::Disconnected(detail),
        BusError::Taken => ErrorKind::LineTaken,
        BusError::NoReply { id, .. } => motor(id).map_or(ErrorKind::NoResponse, |motor| {
            ErrorKind::Silent(vec![motor])
        }),
        BusError::NotTaken {
            id,
            register,
            wrote,
            read,
        } => motor(id).map_or(ErrorKind::NoResponse, |motor| ErrorKind::NotTaken {
            motor,
            register,
            wrote,
            read,
        }),
        BusError::OutOfRange(error) => ErrorKind::OutOfRange(error),
    }
}

/// Property tests that leave no files in the source tree.
#[cfg(test)]
pub(crate) fn unrecorded(cases: u32) -> proptest::test_runner::Config {
    proptest::test_runner::Config {
        failure_persistence: None,
        ..proptest::test_runner::Config::with_cases(cases)
    }
}
