//! The thread that alone owns the arm and the action queue: one tick a period, whatever the policy, the cameras or the
//! window are doing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use crossbeam_channel::Receiver;

use crate::camera::Feed;
use crate::clock::Clock;
use crate::latest::Latest;
use crate::priority::{self, Urgency};
use crate::runtime::answers::Answers;
use crate::runtime::bay::Bay;
use crate::runtime::core::{Control, Inputs};
use crate::runtime::link::Link;
use crate::runtime::pace::Pacer;
use crate::runtime::policy_thread::{PolicySeat, PolicyThread, panic_text};
use crate::runtime::supervisor::{PolicyEvent, PolicyReport, PolicyStart};
use crate::runtime::watchdog::{self, Watchdog};
use crate::runtime::{Command, EStop, LabLink, LibraryLink, RecordLink, Snapshot};
use crate::scene::Props;

/// How long the end of the program waits for a chunk under way, so that the GPU is not torn down below it.
const POLICY_END_LIMIT: Duration = Duration::from_secs(5);

/// How often a sleeping loop looks for a stop, in real time: a person does not move in slow motion.
const STOP_LOOK: Duration = Duration::from_millis(5);

/// Commands taken in one tick; a flood of them must not hold the arm up.
const COMMANDS: usize = 256;

/// Everything that the control thread owns.
pub struct ControlThread {
    pub clock: Clock,
    pub control: Control,
    pub link: Link,
    /// Which arms are flown, the leader, and the workshop.
    pub bay: Bay,
    pub commands: Receiver<Command>,
    pub estop: EStop,
    pub feeds: Vec<Feed>,
    pub props: Latest<Props>,
    pub lab: Option<LabLink>,
    pub library: Option<LibraryLink>,
    pub recorder: Option<RecordLink>,
    pub snapshot: Latest<Snapshot>,
    pub seat: PolicySeat,
    pub policy: Option<PolicyThread>,
    pub answers: Answers,
    pub pacer: Pacer,
    pub watchdog: Watchdog,
    /// How late a tick may come before the watchdog stops the arm.
    pub stall: Duration,
    /// Presses of the stop that the core has heard.
    pub heard: u64,
    /// Reports made on behalf of a thread that could not be started.
    pub pending: Vec<PolicyReport>,
}

impl ControlThread {
    /// Ticks until the program closes. The arm goes on holding the pose that it was stopped in.
    pub fn run(mut self) {
        while let Some(deadline) = self.period() {
            rest(&self.clock, &self.estop, self.heard, deadline);
        }
        // Before the policy is waited for: nothing is driven any more.
        self.watchdog.dismiss();
        if let Some(policy) = self.policy.take()
            && !policy.finish(POLICY_END_LIMIT)
        {
            log::warn!("the policy was still busy at the end");
        }
    }

    /// One control period; when the next one is due, `None` after the last.
    pub fn period(&mut self) -> Option<Duration> {
        let began = self.clock.now();
        self.beat(began + self.control.period());
        self.pacer.begins(began, self.control.thinks());
        let goes_on = self.tick(began);
        let period = self.control.period();
        let deadline = self.pacer.next(began, self.clock.now(), period);
        self.beat(deadline);
        goes_on.then_some(deadline)
    }

    /// The next sign of life will come at `next`.
    fn beat(&self, next: Duration) {
        let is_driven = self.control.drives();
        // On a clock that races, a machine that stutters is no stalled loop: as long as ever in real time.
        let stall = self.stall.max(self.clock.passes_in(self.stall));
        self.watchdog.beat(is_driven.then_some(next + stall));
    }

    /// The work of one control period; false when it was the last.
    fn tick(&mut self, now: Duration) -> bool {
        // First of all, so that nothing below can hold a stop up.
        self.heard = self.estop.presses();
        let tripped = self.watchdog.resume();
        let commands = self.commands.try_iter().take(COMMANDS).collect();
        let polled = self.clock.now();
        let arm = self.link.poll(now);
        let read = self.clock.now().saturating_sub(polled);
        let inputs = Inputs {
            now,
            estop_presses: self.heard,
            tripped,
            commands,
            arm,
            leader: self.bay.leader(now),
            policy: self.reports(now),
            cameras: self.bay.views(&self.feeds, now),
            props: self.bay.props(&self.props),
            rig: self.bay.rig(),
            lab: self.lab.as_ref().and_then(|lab| lab.view.get()),
            library: self.library.as_ref().and_then(|library| library.view.get()),
            recorder: self
                .recorder
                .as_ref()
                .map(|recorder| recorder.view.get().unwrap_or_default()),
            workshop: self.bay.workshop(),
            pace: self.pacer.pace(),
        };
        let outputs = self.control.tick(inputs);
        if outputs.leave_policy {
            self.policy = None;
        }
        if let Some(start) = outputs.start {
            self.start_policy(start);
        }
        if let (Some(request), Some(policy)) = (outputs.request, &self.policy) {
            policy.ask(*request);
            self.answers.asked(policy);
        }
        // Before any arm is connected: a real one lives at life's rate.
        if let Some(rate) = outputs.rate {
            self.clock.set_rate(rate);
        }
        self.bay.tell_rig(outputs.rig);
        if let Some(lab) = &mut self.lab {
            outputs.lab.into_iter().for_each(&mut lab.order);
        }
        if let Some(library) = &mut self.library {
            outputs.library.into_iter().for_each(&mut library.order);
        }
        if !outputs.arms.is_empty() || !outputs.orders.is_empty() {
            self.bay.obey(outputs.arms, outputs.orders, &mut self.link);
        }
        let ordered = self.clock.now();
        let settled = self.link.obey(outputs.arm, self.control.period(), now);
        self.pacer
            .spent_on_bus(read + self.clock.now().saturating_sub(ordered));
        let picture = self.control.settle(settled);
        if let Some(recorder) = &mut self.recorder {
            self.control.hand_over(&mut recorder.order);
        }
        self.snapshot.set(picture);
        !outputs.shutdown
    }

    fn reports(&mut self, now: Duration) -> Vec<PolicyReport> {
        let mut reports = std::mem::take(&mut self.pending);
        let Some(policy) = &self.policy else {
            return reports;
        };
        let awaited = self.control.awaited_policy();
        reports.extend(self.answers.heard(policy, awaited, now));
        reports
    }

    fn start_policy(&mut self, start: PolicyStart) {
        let incarnation = start.incarnation;
        let seat = self.seat.clone();
        let previous = self.policy.take();
        match PolicyThread::start(start, seat, self.control.warm_up(), previous) {
            Ok(policy) => {
                self.answers.begin(&policy);
                self.policy = Some(policy);
            }
            Err(error) => {
                let event = PolicyEvent::Died(format!("its thread cannot be started: {error}"));
                self.pending.push(PolicyReport { incarnation, event });
            }
        }
    }
}

/// Sleeps until the next tick is due, or a stop is pressed: at five ticks a second the arm would go on for 12° meanwhile.
fn rest(clock: &Clock, estop: &EStop, heard: u64, deadline: Duration) {
    while estop.presses() == heard && clock.now() < deadline {
        clock.sleep_until(deadline.min(clock.now() + clock.passes_in(STOP_LOOK)));
    }
}

/// Starts the thread. A panic in it freezes the arm before the thread ends.
///
/// # Errors
/// The system gives no thread.
pub fn spawn(control: ControlThread) -> std::io::Result<thread::JoinHandle<()>> {
    let (watchdog, snapshot) = (control.watchdog.clone(), control.snapshot.clone());
    thread::Builder::new()
        .name("control".to_owned())
        .spawn(move || {
            // A virtual clock has no time to be late for, and never sleeps.
            if !control.clock.is_virtual() {
                log::info!(
                    "priority of the arm's loop: {}",
                    priority::claim(Urgency::Arm)
                );
            }
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| control.run())) {
                watchdog::bury(&watchdog, &snapshot, &panic_text(panic.as_ref()));
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_press_wakes_the_loop() {
        let (clock, estop) = (Clock::virtual_at_zero(), EStop::default());
        let period = Duration::from_millis(200);
        rest(&clock, &estop, 0, period);
        assert_eq!(clock.now(), period);
        estop.press();
        rest(&clock, &estop, 0, period * 2);
        assert_eq!(clock.now(), period, "not slept at all");
        rest(&clock, &estop, 1, period * 2);
        assert_eq!(clock.now(), period * 2);
    }
}
