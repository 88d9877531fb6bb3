//! The control thread's hold on the arm. Connecting takes long and may fail again and again, so a thread of its own does
//! it; the arm then comes over, and from there on one thread owns it.

use std::io;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};

use crate::arm::{self, AlarmKind, Arm, ErrorKind, TorqueStep};
use crate::joint::Joint;
use crate::priority::{self, Urgency};
use crate::runtime::core::{ArmFailure, ArmInput, ArmOrder, ArmState, Settled};
use crate::runtime::fault_book::Words;
use crate::runtime::watchdog::Watchdog;
use crate::runtime::{Health, JointHealth};

/// Opens the port and does the full handshake. Called again, with pauses, after the arm was lost.
pub type Connector = Box<dyn FnMut() -> Result<Arm, arm::Error> + Send>;

/// The first pause before the arm is tried again; it doubles up to [`LONGEST_PAUSE`].
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(500);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(4);

enum State {
    Absent,
    Connecting,
    Waiting { until: Duration },
    Up(Box<Arm>),
}

/// Why the arm is not there.
struct Lost {
    why: ArmFailure,
    /// It answers, and only its calibration does not fit.
    uncalibrated: bool,
}

/// The arm, or the way to it.
pub struct Link {
    state: State,
    /// Why the arm is not there, while it is tried again.
    lost: Option<Lost>,
    pause: Duration,
    ask: Sender<()>,
    answers: Receiver<Result<Arm, arm::Error>>,
    watchdog: Watchdog,
    /// Attempts to connect are waited for, by a loop that is driven by hand: on a virtual clock nobody may wait beside it.
    pub waits: bool,
}

impl Link {
    /// Starts to connect, if there is a way to.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(connector: Option<Connector>, watchdog: Watchdog) -> io::Result<Self> {
        let mut link = Self {
            state: State::Absent,
            lost: None,
            pause: FIRST_PAUSE,
            ask: bounded(1).0,
            answers: bounded(1).1,
            watchdog,
            waits: false,
        };
        link.change(connector)?;
        Ok(link)
    }

    /// Lets the arm go that is there (its port is closed; its servos stay as they are) and starts to connect another, if
    /// there is a way to.
    ///
    /// # Errors
    /// The thread cannot be started; there is no arm then.
    pub fn change(&mut self, connector: Option<Connector>) -> io::Result<()> {
        let (ask, asked) = bounded::<()>(1);
        let (answer, answers) = bounded(1);
        // The watchdog's hold on the port would keep it open.
        self.watchdog.dismiss();
        (self.ask, self.answers) = (ask, answers);
        (self.state, self.lost, self.pause) = (State::Absent, None, FIRST_PAUSE);
        if let Some(mut connector) = connector {
            // Ends when the link is dropped or changed, or after the attempt that is under way then.
            thread::Builder::new()
                .name("arm-connect".to_owned())
                .spawn(move || {
                    // An arm that is chosen later is connected on behalf of the arm's loop, and would begin with its priority.
                    priority::claim(Urgency::Usual);
                    while asked.recv().is_ok() {
                        if answer.send(connector()).is_err() {
                            break;
                        }
                    }
                })?;
            self.connect();
        }
        Ok(())
    }

    /// Reads the arm, or goes on connecting.
    pub fn poll(&mut self, now: Duration) -> ArmInput {
        match &self.state {
            State::Connecting => self.hear(now),
            State::Waiting { until } if *until <= now => self.connect(),
            _ => {}
        }
        if self.waits && matches!(self.state, State::Connecting) {
            let answer = self.answers.recv();
            self.take(answer.map_err(TryRecvError::from), now);
        }
        match &mut self.state {
            State::Absent => ArmInput::Absent,
            State::Connecting | State::Waiting { .. } => match &self.lost {
                Some(lost) if lost.uncalibrated => ArmInput::Uncalibrated(lost.why.clone()),
                Some(lost) => ArmInput::Lost(lost.why.clone()),
                None => ArmInput::Connecting,
            },
            State::Up(arm) => ArmInput::Up(state_of(arm)),
        }
    }

    /// Does what the core ordered; a goal is approached no further than the limits allow in `period`.
    pub fn obey(&mut self, order: ArmOrder, period: Duration, now: Duration) -> Settled {
        let State::Up(arm) = &mut self.state else {
            return Settled::Nothing;
        };
        let settled = match order {
            ArmOrder::Nothing => return Settled::Nothing,
            ArmOrder::Send(goal) => {
                arm.set_period(period);
                arm.send_action(goal).map(Settled::Sent)
            }
            ArmOrder::Freeze => arm.hold().map(|held| Settled::Frozen {
                pose: held.pose,
                limp: held.limp.iter().map(ToString::to_string).collect(),
            }),
            ArmOrder::EnableTorque => {
                arm.begin_arming();
                arm.advance_torque().map(step)
            }
            ArmOrder::ReleaseTorque => {
                arm.begin_release();
                arm.advance_torque().map(step)
            }
            ArmOrder::Advance => arm.advance_torque().map(step),
            ArmOrder::ClearAlarm(joint) => arm.clear_alarm(joint).map(|()| Settled::Nothing),
            ArmOrder::Disconnect => {
                self.lose(now);
                return Settled::Nothing;
            }
        };
        settled.unwrap_or_else(|error| Settled::Failed(failure(&error)))
    }

    /// Lets the arm go; its servos keep holding. Only a new handshake brings it back.
    fn lose(&mut self, now: Duration) {
        self.watchdog.dismiss();
        let why = ArmFailure {
            what: "the arm no longer answers".to_owned(),
            remedy: "Check its cable and its supply. It is connected again by itself; then switch the torque on."
                .to_owned(),
            gone: true,
            jumped: false,
        };
        self.wait(why, false, now);
    }

    fn connect(&mut self) {
        // The channel holds one question, and none is open in this state.
        self.state = match self.ask.try_send(()) {
            Ok(()) => State::Connecting,
            Err(_) => State::Absent,
        };
    }

    fn hear(&mut self, now: Duration) {
        let answer = self.answers.try_recv();
        self.take(answer, now);
    }

    fn take(&mut self, answer: Result<Result<Arm, arm::Error>, TryRecvError>, now: Duration) {
        match answer {
            Ok(Ok(mut arm)) => {
                if let Some(brake) = arm.take_brake() {
                    self.watchdog.guard(brake);
                }
                self.lost = None;
                self.pause = FIRST_PAUSE;
                self.state = State::Up(Box::new(arm));
            }
            Ok(Err(error)) => {
                let uncalibrated = error.kind.is_about_calibration();
                self.wait(failure(&error), uncalibrated, now);
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => {
                let what = "the thread that connects the arm has ended".to_owned();
                let remedy = "Start the program again.".to_owned();
                let why = ArmFailure {
                    what,
                    remedy,
                    gone: true,
                    jumped: false,
                };
                self.wait(why, false, now);
            }
        }
    }

    fn wait(&mut self, why: ArmFailure, uncalibrated: bool, now: Duration) {
        self.lost = Some(Lost { why, uncalibrated });
        let until = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.state = State::Waiting { until };
    }
}

fn step(step: TorqueStep) -> Settled {
    match step {
        TorqueStep::Going(share) => Settled::Going(share),
        TorqueStep::Armed(pose) => Settled::Armed(pose),
        TorqueStep::Released => Settled::Released,
    }
}

fn state_of(arm: &mut Arm) -> ArmState {
    let measured = arm.read_state().map_err(|error| failure(&error));
    ArmState {
        measured,
        torque: arm.torque_enabled(),
        held_joints: arm.held_joints(),
        retries: arm.counters().retries,
        alarms: alarms_of(arm),
        limits: arm.limits().ranges(),
        clearance: arm.limits().clearance(),
        health: Box::new(health_of(arm)),
    }
}

/// Complaints that the core makes nothing else of, and settings that could not be made because the servo had torque.
fn alarms_of(arm: &Arm) -> Vec<Words> {
    let is_watched = |kind| {
        matches!(
            kind,
            AlarmKind::Voltage | AlarmKind::Overload | AlarmKind::Overheated | AlarmKind::Hot
        )
    };
    let alarms = arm.alarms().into_iter();
    let alarms = alarms.filter(|alarm| !is_watched(alarm.kind));
    let alarms = alarms.map(|alarm| Words {
        what: alarm.to_string(),
        remedy: alarm.kind.remedy().to_owned(),
    });
    let unset = arm.unset().into_iter().map(|unset| Words {
        what: unset.to_string(),
        remedy: "It had torque when it was met and was left alone. Support the arm, release torque, and enable it again"
            .to_owned(),
    });
    alarms.chain(unset).collect()
}

fn health_of(arm: &Arm) -> Health {
    let (telemetry, ages, errors) = (arm.telemetry(), arm.ages(), arm.errors());
    let mut joints = Joint::ALL.map(|joint| {
        let (seen, index) = (telemetry[joint.index()], joint.index());
        JointHealth {
            celsius: seen.celsius,
            volts: seen.volts,
            load_percent: seen.load_percent,
            milliamperes: seen.milliamperes,
            age: ages[index],
            errors: errors[index],
            ..JointHealth::default()
        }
    });
    for alarm in arm.alarms() {
        joints[alarm.motor.joint.index()].alarms.push(alarm.kind);
    }
    let counters = arm.counters();
    Health {
        joints,
        grip: arm.grip(),
        obstacle: arm.cuts().obstacle(),
        cuts: counters.cuts,
        rejected: counters.rejected,
        unfit: None,
    }
}

fn failure(error: &arm::Error) -> ArmFailure {
    ArmFailure {
        what: error.what(),
        remedy: error.remedy().into_owned(),
        gone: matches!(
            error.kind,
            ErrorKind::Disconnected(_) | ErrorKind::NoResponse
        ),
        jumped: matches!(error.kind, ErrorKind::PositionJump { .. }),
    }
}
