//! What each command of the operator does.

use std::time::Duration;

use crate::policy::LoadRequest;
use crate::runtime::binding::bind;
use crate::runtime::core::rig::LIFE;
use crate::runtime::core::{BUTTON, CLOSING_LIMIT, Control, Outputs, Wanted};
use crate::runtime::fault_book::words;
use crate::runtime::latency::LatencyMeter;
use crate::runtime::{Command, Connection, FaultKind, Knob, Mode, Stopped, WHOLE_CHUNK};

/// Chunk size assumed for the range of the knobs while no policy is loaded.
const CHUNK_SIZE_UNKNOWN: usize = 50;

impl Control {
    /// Latches the stop when the emergency stop was pressed since the last tick; whether it was.
    pub(super) fn read_estop(&mut self, presses: u64) -> bool {
        let pressed = presses != self.presses;
        if pressed {
            self.presses = presses;
            self.stop(BUTTON);
        }
        pressed
    }

    /// Applies one command.
    pub(super) fn apply(&mut self, command: Command, outputs: &mut Outputs) {
        match command {
            Command::SetMode(mode) => self.set_mode(mode),
            Command::Stop => self.stop("the operator"),
            Command::Resume => self.resume(),
            Command::SetTask(task) => self.set_task(task),
            Command::Set(knob) => self.turn(knob),
            Command::Takeover => self.take_over(),
            Command::JogTo(joint, goal) => self.jog_to(joint, goal),
            Command::Drive(drive) => self.drive(drive),
            Command::Park => self.park(false),
            Command::ParkAndRelease => self.park(true),
            Command::EnableTorque => self.want_torque(),
            Command::ReleaseTorque => {
                self.enter(Mode::Hold);
                let releasing = matches!(self.arm.change, Some((Wanted::Release, _)));
                self.arm.wants = if releasing {
                    Wanted::Nothing
                } else {
                    Wanted::Release
                };
            }
            Command::LoadPolicy(source) => {
                let stats = None;
                self.load(LoadRequest { source, stats }, outputs);
            }
            Command::ChooseStats(stats) => {
                let source = self.supervisor.load().source.clone();
                let stats = Some(stats);
                self.load(LoadRequest { source, stats }, outputs);
            }
            Command::CancelLoad => outputs.leave_policy |= self.supervisor.cancel(),
            Command::RestartPolicy => {
                let load = self.supervisor.load().clone();
                self.reset();
                outputs.start = Some(self.supervisor.choose(load));
            }
            Command::BindView { view, camera } => {
                bind(&mut self.views, &view, camera.clone());
                bind(&mut self.remembered, &view, camera);
                self.sample.changed = true;
            }
            Command::ClearAlarm(joint) => self.clear_alarm(joint),
            Command::Acknowledge(id) => self.faults.acknowledge(id),
            Command::Rig(order) => self.order_rig(order, outputs),
            Command::Lab(order) => outputs.lab.push(order),
            Command::Library(order) => outputs.library.push(order),
            Command::Session(order) => self.order_session(order, outputs),
            Command::Replay(plan) => self.begin_replay(*plan),
            Command::UseArm(role, source) => self.use_arm(role, source, outputs),
            Command::Workshop(order) => self.order_workshop(order, outputs),
            Command::Shutdown => {
                self.stop("the end of the program");
                outputs.rate = Some(LIFE);
                self.leave_session();
                self.closing.get_or_insert(self.now + CLOSING_LIMIT);
            }
        }
    }

    pub(super) fn set_mode(&mut self, mode: Mode) {
        self.rig.goes_on = false;
        self.session.policy_waits = false;
        if mode == Mode::Hold {
            self.parking = None;
            self.stall.hold();
        }
        if self.stopped.is_some() || mode == self.mode {
            return;
        }
        if let Some(why) = self.health.unfit().filter(|_| mode != Mode::Hold) {
            let refused = words(
                format!("{mode} was asked for, but {why}"),
                "See to that first; the fault says how.",
            );
            self.faults
                .flash(self.now, FaultKind::Arming, "mode", refused);
            return;
        }
        if let Some(told) = self.policy_obstacle().filter(|_| mode == Mode::Policy) {
            self.faults.flash(self.now, FaultKind::Rig, "mode", told);
            return;
        }
        if mode == Mode::Replay && self.replay.is_none() {
            let told = words(
                "a replay was asked for, but of nothing",
                "Choose an episode on the Data page.",
            );
            self.faults
                .flash(self.now, FaultKind::Session, "mode", told);
            return;
        }
        // What is wanted now outranks what is under way, and either outranks how the arm is.
        let can_drive = match (self.arm.wants, self.arm.change) {
            (Wanted::Torque, _) | (Wanted::Nothing, Some((Wanted::Torque, _))) => true,
            (Wanted::Nothing, None) => self.arm.armed,
            _ => false,
        };
        let follows = mode == Mode::Teleop;
        if let Some(lost) = self.leader_obstacle().filter(|_| follows) {
            self.faults
                .flash(self.now, FaultKind::LeaderLost, "mode", lost);
        } else if mode == Mode::Hold || can_drive {
            self.enter(mode);
        } else {
            self.faults.flash(
                self.now,
                FaultKind::Arming,
                "mode",
                words(
                    format!(
                        "{mode} was asked for, but the servos of the arm are limp, or about to be"
                    ),
                    "Switch the torque on first; the arm then holds the pose it is in.",
                ),
            );
        }
    }

    /// Changes who drives; the pose is held until the new driver says otherwise.
    pub(super) fn enter(&mut self, mode: Mode) {
        self.parking = None;
        if mode != self.mode {
            let before = std::mem::replace(&mut self.mode, mode);
            self.teleop.driver_changed(before, mode, self.now);
            self.jog.rest_at(self.arm.commanded);
            self.reset();
        }
    }

    /// Latches the stop: goal = present position, confirmed by reading back. Breaks off what torque was about to do. A stop
    /// upon a stop is done and confirmed once more.
    pub(super) fn stop(&mut self, by: &str) {
        self.enter(Mode::Hold);
        self.rig.goes_on = false;
        self.session.policy_waits = false;
        self.arm.wants = Wanted::Nothing;
        self.arm.change = None;
        self.stall.goes_on_in = None;
        self.stop_tick = self.tick;
        if let Some(stopped) = &mut self.stopped {
            stopped.acknowledged = false;
        } else {
            self.reset();
            self.stopped = Some(Stopped {
                by: by.to_owned(),
                since: self.now,
                acknowledged: false,
            });
        }
    }

    /// Whether the program may end: the arm was read back to stand still, is not there, or does not confirm it for too
    /// long.
    pub(super) fn has_closed(&self) -> bool {
        let stands = self.stopped.as_ref().is_none_or(|stop| stop.acknowledged);
        let reached = matches!(self.arm.connection, Connection::Connected { .. });
        self.closing
            .is_some_and(|until| stands || !reached || self.now >= until)
    }

    /// Releases the latch. A stop is released only after the arm confirmed it (or is not there), and never in the tick
    /// that made it: a release that was already on its way must not undo a stop that came after it.
    pub(super) fn resume(&mut self) {
        let reached = matches!(self.arm.connection, Connection::Connected { .. });
        let released = self
            .stopped
            .take_if(|stop| self.stop_tick < self.tick && (stop.acknowledged || !reached));
        if released.is_some() {
            self.approach.begin();
            self.sample.changed = true;
            self.faults.clear(FaultKind::LoopStalled);
        }
    }

    pub(super) fn set_task(&mut self, task: String) {
        if task != self.task {
            self.task = task;
            self.reset();
        }
    }

    fn want_torque(&mut self) {
        if matches!(self.arm.connection, Connection::Connected { .. }) {
            let needed = match self.arm.change {
                Some((change, _)) => change == Wanted::Release,
                None => !self.arm.armed,
            };
            if needed {
                self.arm.wants = Wanted::Torque;
            }
        } else {
            self.faults.flash(
                self.now,
                FaultKind::Arming,
                "torque",
                words(
                    "torque was asked for, but no arm is connected",
                    "Connect the arm and switch its supply on, then ask again.",
                ),
            );
        }
    }

    fn load(&mut self, load: LoadRequest, outputs: &mut Outputs) {
        let goes_on = self.drives_on_rig();
        self.enter(Mode::Hold);
        self.reset();
        self.latency = LatencyMeter::default();
        self.latency_before = Duration::ZERO;
        self.delays.clear();
        self.warnings.clear();
        (self.chunk, self.previous_chunk) = (None, None);
        self.faults.clear(FaultKind::PolicyLoad);
        self.rig.goes_on = goes_on;
        outputs.start = Some(self.supervisor.choose(load));
    }

    /// Turns one knob. What is queued stays valid, so the arm cannot jump; a shorter chunk trims the tail.
    fn turn(&mut self, knob: Knob) {
        let wanted = &mut self.wanted;
        match knob {
            Knob::Scheduling(scheduling) => wanted.scheduling = scheduling,
            Knob::ChunkSizeThreshold(g) => wanted.chunk_size_threshold = g,
            Knob::AutoThreshold(on) => wanted.auto_threshold = on,
            Knob::NActionSteps(steps) => wanted.n_action_steps = steps,
            Knob::ActionsPerChunk(actions) => wanted.actions_per_chunk = actions,
            Knob::Aggregate(aggregate) => wanted.aggregate = aggregate,
            Knob::BlendSteps(steps) => wanted.blend_steps = steps,
            Knob::NumSteps(steps) => {
                let before = std::mem::replace(&mut wanted.num_steps, steps);
                if steps != before {
                    self.supervisor.slows_by(before, steps);
                    self.measure_anew();
                }
            }
            Knob::Epsilon(epsilon) => wanted.epsilon = epsilon,
            Knob::Fps(fps) => wanted.fps = fps,
            Knob::Rtc(rtc) => wanted.rtc = rtc,
        }
        self.sample.changed = true;
        self.apply_knobs();
    }

    /// Brings the knobs into the range of the loaded policy.
    pub(super) fn apply_knobs(&mut self) {
        let spec = self.supervisor.spec();
        let unknown = match self.wanted.actions_per_chunk {
            WHOLE_CHUNK.. => CHUNK_SIZE_UNKNOWN,
            asked => asked.max(CHUNK_SIZE_UNKNOWN),
        };
        let chunk_size = spec.map_or(unknown, |spec| spec.chunk_size);
        self.knobs = self.wanted.clamped_to(chunk_size);
        self.queue.trim(self.knobs.actions_per_chunk);
    }
}
