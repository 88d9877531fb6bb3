//! The thread that alone owns the arm and the action queue: one tick a period, whatever the policy, the cameras or the
//! window are doing.

use std::thread;
use std::time::Duration;

use crossbeam_channel::Receiver;

use crate::camera::Feed;
use crate::clock::Clock;
use crate::latest::Latest;
use crate::runtime::cameras::view_of;
use crate::runtime::core::{Control, Inputs, Pace};
use crate::runtime::link::Link;
use crate::runtime::pace::Pacer;
use crate::runtime::policy_thread::{PolicySeat, PolicyThread};
use crate::runtime::supervisor::{PolicyEvent, PolicyReport, PolicyStart};
use crate::runtime::{Command, EStop, Snapshot};
use crate::scene::Props;

/// How long the end of the program waits for a chunk under way, so that the GPU is not torn down below it.
const POLICY_END_LIMIT: Duration = Duration::from_secs(5);

/// How often a sleeping loop looks for a stop.
const STOP_LOOK: Duration = Duration::from_millis(5);

/// Commands taken in one tick; a flood of them must not hold the arm up.
const COMMANDS: usize = 256;

/// Puts the simulated scene back to its start.
pub type ResetScene = Box<dyn FnMut() + Send>;

/// Everything that the control thread owns.
pub struct ControlThread {
    pub clock: Clock,
    pub control: Control,
    pub link: Link,
    pub commands: Receiver<Command>,
    pub estop: EStop,
    pub feeds: Vec<Feed>,
    pub props: Latest<Props>,
    pub snapshot: Latest<Snapshot>,
    pub reset_scene: Option<ResetScene>,
    pub seat: PolicySeat,
    pub policy: Option<PolicyThread>,
    /// Presses of the stop that the core has heard.
    pub heard: u64,
    /// Reports made on behalf of a thread that could not be started.
    pub pending: Vec<PolicyReport>,
}

impl ControlThread {
    /// Ticks until the program closes. The arm goes on holding its last goal.
    pub fn run(mut self) {
        let mut pacer = Pacer::new(self.clock.now());
        loop {
            let began = self.clock.now();
            let pace = Pace {
                late_ticks: pacer.late_ticks(),
                tick_p99: pacer.p99(),
            };
            if !self.tick(began, pace) {
                break;
            }
            let deadline = pacer.next(began, self.clock.now(), self.control.period());
            rest(&self.clock, &self.estop, self.heard, deadline);
        }
        if let Some(policy) = self.policy.take()
            && !policy.finish(POLICY_END_LIMIT)
        {
            log::warn!("the policy was still busy at the end");
        }
    }

    /// One control period; false when it was the last.
    fn tick(&mut self, now: Duration, pace: Pace) -> bool {
        // First of all, so that nothing below can hold a stop up.
        self.heard = self.estop.presses();
        let inputs = Inputs {
            now,
            estop_presses: self.heard,
            commands: self.commands.try_iter().take(COMMANDS).collect(),
            arm: self.link.poll(now),
            policy: self.reports(),
            cameras: self.feeds.iter().map(|feed| view_of(feed, now)).collect(),
            props: self.props.get().unwrap_or_default(),
            pace,
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
        }
        if let (true, Some(reset)) = (outputs.reset_scene, &mut self.reset_scene) {
            reset();
        }
        let settled = self.link.obey(outputs.arm, self.control.period(), now);
        self.snapshot.set(self.control.settle(settled));
        !outputs.shutdown
    }

    fn reports(&mut self) -> Vec<PolicyReport> {
        let mut reports = std::mem::take(&mut self.pending);
        if let Some(policy) = &self.policy {
            reports.extend(policy.reports());
        }
        reports
    }

    fn start_policy(&mut self, start: PolicyStart) {
        let incarnation = start.incarnation;
        let seat = self.seat.clone();
        let previous = self.policy.take();
        match PolicyThread::start(start, seat, self.control.warm_up(), previous) {
            Ok(policy) => self.policy = Some(policy),
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
        clock.sleep_until(deadline.min(clock.now() + STOP_LOOK));
    }
}

/// Starts the thread.
///
/// # Errors
/// The system gives no thread.
pub fn spawn(control: ControlThread) -> std::io::Result<thread::JoinHandle<()>> {
    thread::Builder::new()
        .name("control".to_owned())
        .spawn(move || control.run())
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
