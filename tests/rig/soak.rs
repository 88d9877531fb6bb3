//! Half an hour at the helm of a leader and half an hour with the policy, on a bus that fails now and then. Nothing may end,
//! nothing may leap, and every failure is counted and shown.

use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use smolpilot::joint::{Joint, JointVec};
use smolpilot::runtime::{Command, FaultKind, Mode, PolicyStatus};
use smolpilot::sim::{Distortion, Fault, SimArm};

use crate::flight::{COUNT, Flight, GOAL, Plan, START};
use crate::scripted::Mood;
use crate::stand::armed;

/// One frame in so many is struck.
const ONE_IN: u32 = 500;
/// Frames in a tick: two readings of six servos.
const FRAMES: u32 = 12;
/// One strike in so many lasts until the arm is stopped.
const LONG: u32 = 40;
/// How often the target changes, ticks.
const RESTLESS: u64 = 90;
/// A goal may come a little early after one that came late.
const SLACK: f32 = 1.2;
/// How often the servos' log is looked at, ticks. It holds the goals of 680.
const LOOK: u64 = 500;

struct Soak {
    flight: Flight,
    mode: Mode,
    rng: ChaCha8Rng,
    strikes: u64,
    long: u64,
    stops: u64,
    /// Until when the log was checked.
    looked: Duration,
    /// What the arm is sent towards.
    leader: Option<SimArm>,
}

impl Soak {
    fn new(mode: Mode, seed: u64) -> Self {
        let mut plan = Plan::new(START);
        let leader = (mode == Mode::Teleop).then(|| SimArm::new(plan.arm.clock().clone()));
        plan.leader.clone_from(&leader);
        let mut flight = Flight::armed(plan);
        flight.tell(Command::SetMode(mode));
        flight.until("driven", |seen| seen.mode == mode);
        Self {
            looked: flight.now(),
            flight,
            mode,
            rng: ChaCha8Rng::seed_from_u64(seed),
            strikes: 0,
            long: 0,
            stops: 0,
            leader,
        }
    }

    fn fly(&mut self, time: Duration) {
        let end = self.flight.now() + time;
        let mut ticks = 0;
        while self.flight.now() < end {
            if ticks % RESTLESS == 0 {
                self.aim();
            }
            if ticks % LOOK == 0 {
                self.check_log();
            }
            if self.rng.random_ratio(FRAMES, ONE_IN) {
                self.strike();
            }
            self.operate();
            let before = self.flight.snapshot.commanded;
            self.flight.tick();
            self.check(before);
            ticks += 1;
        }
        self.check_log();
    }

    /// Somebody wants to be elsewhere.
    fn aim(&mut self) {
        let pose = JointVec::from_fn(|joint| START[joint] + self.rng.random_range(-20.0..20.0));
        match &self.leader {
            Some(leader) => {
                for joint in Joint::ALL {
                    let counts = leader.calibration().unnormalize(joint, pose[joint]);
                    let id = leader.calibration().motor(joint).id;
                    leader.inject(Fault::Position(id, counts));
                }
            }
            None => self.flight.mood.set(Mood::Pose(pose)),
        }
    }

    fn strike(&mut self) {
        self.strikes += 1;
        let nth = self.rng.random_range(0..6);
        let id = self.rng.random_range(1..=6);
        let distortion = match self.rng.random_range(0..5) {
            _ if self.rng.random_ratio(1, LONG) => {
                self.long += 1;
                return self.flight.arm.inject(Fault::MuteFor(id, 60));
            }
            0 => {
                return self
                    .flight
                    .arm
                    .inject(Fault::MuteFor(id, self.rng.random_range(1..8)));
            }
            1 => Distortion::Drop(nth),
            2 => Distortion::LoseRequest,
            3 => Distortion::Flip {
                nth,
                bit: self.rng.random_range(0..168),
            },
            _ => Distortion::Late(Duration::from_millis(self.rng.random_range(30..50))),
        };
        self.flight.arm.inject(Fault::Next {
            skip: 0,
            distortion,
        });
    }

    /// Does what an operator does: looks at a stop, resumes, and lets it drive again.
    fn operate(&mut self) {
        let seen = &self.flight.snapshot;
        if seen.stopped.as_ref().is_some_and(|stop| stop.acknowledged) {
            self.stops += 1;
            self.flight.tell(Command::Resume);
            self.flight.tell(Command::SetMode(self.mode));
            self.check_log();
        }
    }

    /// What must hold in every tick.
    fn check(&self, before: JointVec) {
        let seen = &self.flight.snapshot;
        if seen.stopped.is_none() {
            let step = seen.commanded.zip(before, |a, b| (a - b).abs());
            for joint in Joint::ALL {
                assert!(step[joint] <= self.most(joint), "{joint}: {step:?}");
            }
        }
        assert!(!self.flight.runtime.has_ended());
        assert!(armed(seen), "{:?} {:?}", seen.connection, seen.faults);
        let alive = self.mode == Mode::Teleop || matches!(seen.policy, PolicyStatus::Ready { .. });
        assert!(alive && seen.policy_restarts == 0, "{:?}", seen.policy);
        let known = [
            FaultKind::BusRetry,
            FaultKind::BusLost,
            FaultKind::LeaderLost,
        ];
        let strange = seen.faults.iter().find(|it| !known.contains(&it.kind));
        assert!(strange.is_none(), "{strange:?}");
        assert!(seen.mode == self.mode || seen.stopped.is_some() || self.stops > 0);
    }

    fn fps(&self) -> f32 {
        if self.mode == Mode::Teleop {
            60.0
        } else {
            30.0
        }
    }

    /// The most that a joint may be sent in a tick, and the rounding to whole counts.
    fn most(&self, joint: Joint) -> f32 {
        let speed = if joint == Joint::Gripper { 100.0 } else { 60.0 };
        speed / self.fps() + COUNT
    }

    /// No goal that reached a servo is farther from the one before it than a tick at full speed, but for the freezing of a
    /// stop.
    fn check_log(&mut self) {
        let then = std::mem::replace(&mut self.looked, self.flight.now());
        if self.flight.snapshot.stopped.is_some() {
            return;
        }
        let calibration = self.flight.arm.calibration();
        let writes = self.flight.writes_since(then);
        for joint in Joint::ALL {
            let id = calibration.motor(joint).id;
            let goals = writes.iter().filter(|it| it.id == id && it.address == GOAL);
            let goals: Vec<_> = goals
                .map(|it| {
                    let counts = i32::from(u16::from_le_bytes([it.bytes[0], it.bytes[1]]));
                    (it.at, calibration.normalize(joint, counts.into()))
                })
                .collect();
            for pair in goals.windows(2) {
                // A servo that was mute has missed goals, not time.
                let time = pair[1].0.saturating_sub(pair[0].0).as_secs_f32();
                let step = (pair[1].1 - pair[0].1).abs();
                let most = self.most(joint) * (time * SLACK * self.fps()).max(1.0);
                assert!(step <= most, "{joint} by {step} in {time} s");
            }
        }
    }

    /// What happened, for those who run this with `--nocapture`.
    #[expect(clippy::print_stdout, reason = "the figures of a soak")]
    fn tell(&self) {
        let seen = &self.flight.snapshot;
        println!(
            "{}: {} ticks, {} late, {} strikes, {} retries, {} stops, longest step {:.2}",
            self.mode,
            seen.tick.0,
            seen.late_ticks,
            self.strikes,
            seen.bus_retries,
            self.stops,
            seen.max_step
        );
    }

    /// Every strike cost at least one answer that was asked for again, and was shown.
    fn assert_all_counted(&self) {
        let seen = &self.flight.snapshot;
        assert!(
            seen.bus_retries >= self.strikes,
            "{} of {}",
            seen.bus_retries,
            self.strikes
        );
        let mut faults = seen.faults.iter();
        let shown = faults.find(|it| it.kind == FaultKind::BusRetry).unwrap();
        assert!(
            shown.count >= self.strikes,
            "{} of {}",
            shown.count,
            self.strikes
        );
        // A servo that is silent for long is a stop; two at once are one.
        let stops = self.long * 9 / 10..=self.long;
        assert!(
            stops.contains(&self.stops),
            "{} of {}",
            self.stops,
            self.long
        );
    }
}

#[test]
fn half_an_hour_of_policy_on_a_bad_bus() {
    let mut soak = Soak::new(Mode::Policy, 7);
    soak.fly(Duration::from_mins(30));
    soak.tell();
    soak.assert_all_counted();
    assert!(soak.flight.snapshot.chunks > 1000);
}

#[test]
fn half_an_hour_of_teleoperation_on_a_bad_bus() {
    let mut soak = Soak::new(Mode::Teleop, 8);
    soak.fly(Duration::from_mins(30));
    soak.tell();
    soak.assert_all_counted();
}
