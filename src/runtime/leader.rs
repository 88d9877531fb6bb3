//! The leader arm: a second SO-101 in a person's hand, limp, and read often enough to be followed.

use std::collections::VecDeque;
use std::io;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};

use crate::arm::{Arm, Error, ErrorKind, TorqueStep};
use crate::clock::Clock;
use crate::joint::JointVec;
use crate::latest::Latest;
use crate::priority::{self, Urgency};
use crate::runtime::link::{Connector, FIRST_PAUSE, LONGEST_PAUSE};

/// A pose older than this is not followed: six periods of teleoperation.
pub const FRESH: Duration = Duration::from_millis(100);

/// How often the leader is read. Faster than the follower is sent to, so that the pose it follows is young whenever it asks.
const PERIOD: Duration = Duration::from_millis(10);

/// Readings that fail in a row until the leader is given up and met anew.
const LOST_AFTER: u32 = 10;

/// The stretch over which the rate is measured.
const RATE_SPAN: Duration = Duration::from_secs(1);

/// A leader and the way to it.
pub struct LeaderSetup {
    /// What it is, for people: its port, or that it is simulated.
    pub name: String,
    /// Opens its port and does the full handshake.
    pub connector: Connector,
}

/// How the leader is.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum LeaderStatus {
    #[default]
    Connecting,
    Live,
    /// Its newest pose is too old to be followed.
    Stale,
    /// Gone, with the reason; being connected again.
    Lost(String),
}

/// The leader as the operator sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeaderView {
    pub name: String,
    pub status: LeaderStatus,
    /// Where it is, in the follower's robot units: both are calibrated, so that degrees are degrees, and the trigger's
    /// percent are those of the gripper.
    pub pose: Option<JointVec>,
    /// Age of that pose.
    pub age: Option<Duration>,
    /// 95th percentile of the ages of the poses that were followed.
    pub age_p95: Duration,
    /// Readings a second over the last second.
    pub rate_hz: f32,
    /// Readings that failed since the start.
    pub errors: u64,
    /// Packets repeated since it was connected.
    pub retries: u64,
}

impl LeaderView {
    /// Its pose is young enough to be followed.
    pub fn is_live(&self) -> bool {
        self.pose.is_some() && self.age.is_some_and(|age| age <= FRESH)
    }
}

/// What was read last.
#[derive(Clone, Debug, Default)]
struct Reading {
    pose: Option<(JointVec, Duration)>,
    rate_hz: f32,
    errors: u64,
    retries: u64,
    lost: Option<String>,
}

enum State {
    /// To be met at this moment.
    Waiting(Duration),
    /// Somebody left it with torque: it is let down, because a hand must be able to move it.
    Stiff(Box<Arm>),
    Limp(Box<Arm>),
}

/// Meets the leader, reads it, and meets it again when it was lost. Never switches its torque on.
struct Leader {
    clock: Clock,
    connector: Connector,
    slot: Latest<Reading>,
    state: State,
    pause: Duration,
    reading: Reading,
    /// When it was read over the last second.
    times: VecDeque<Duration>,
    failures: u32,
}

impl Leader {
    fn new(clock: Clock, connector: Connector, slot: Latest<Reading>) -> Self {
        Self {
            state: State::Waiting(clock.now()),
            clock,
            connector,
            slot,
            pause: FIRST_PAUSE,
            reading: Reading::default(),
            times: VecDeque::new(),
            failures: 0,
        }
    }

    /// Does what is due; returns when to come again.
    fn poll(&mut self) -> Duration {
        let now = self.clock.now();
        let state = std::mem::replace(&mut self.state, State::Waiting(now));
        self.state = match state {
            State::Waiting(until) if now < until => State::Waiting(until),
            State::Waiting(_) => self.meet(),
            State::Stiff(arm) => self.let_down(arm),
            State::Limp(arm) => self.read(arm),
        };
        self.slot.set(self.reading.clone());
        match self.state {
            State::Waiting(until) => until,
            State::Stiff(_) | State::Limp(_) => now + PERIOD,
        }
    }

    fn meet(&mut self) -> State {
        match (self.connector)() {
            Ok(mut arm) if arm.held_joints() > 0 => {
                log::info!("the leader {} holds; it is let down", arm.port());
                arm.begin_release();
                State::Stiff(Box::new(arm))
            }
            Ok(arm) => State::Limp(Box::new(arm)),
            Err(error) => self.lose(&error),
        }
    }

    fn let_down(&mut self, mut arm: Box<Arm>) -> State {
        match arm.advance_torque() {
            Ok(TorqueStep::Released) => State::Limp(arm),
            Ok(_) => State::Stiff(arm),
            Err(error) => self.lose(&error),
        }
    }

    fn read(&mut self, mut arm: Box<Arm>) -> State {
        let read = arm.read_state();
        self.reading.retries = arm.counters().retries;
        match read {
            Ok(pose) => {
                self.failures = 0;
                self.pause = FIRST_PAUSE;
                self.reading.lost = None;
                let at = self.clock.now();
                self.reading.pose = Some((pose, at));
                self.count(at);
                State::Limp(arm)
            }
            Err(error) => {
                self.failures += 1;
                self.reading.errors += 1;
                let gone = matches!(error.kind, ErrorKind::Disconnected(_));
                if gone || self.failures >= LOST_AFTER {
                    self.lose(&error)
                } else {
                    State::Limp(arm)
                }
            }
        }
    }

    fn lose(&mut self, error: &Error) -> State {
        self.failures = 0;
        self.times.clear();
        self.reading.rate_hz = 0.0;
        self.reading.lost = Some(format!("{}. {}", error.what(), error.remedy()));
        let until = self.clock.now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        State::Waiting(until)
    }

    fn count(&mut self, at: Duration) {
        self.times.push_back(at);
        let old = |time: &Duration| at.saturating_sub(*time) > RATE_SPAN;
        while self.times.front().is_some_and(old) {
            self.times.pop_front();
        }
        let span = self
            .times
            .front()
            .map_or(Duration::ZERO, |first| at.saturating_sub(*first));
        self.reading.rate_hz = if span.is_zero() {
            0.0
        } else {
            (self.times.len() - 1) as f32 / span.as_secs_f32()
        };
    }
}

/// The control thread's end of the leader.
pub struct LeaderSeat {
    name: String,
    slot: Latest<Reading>,
    /// Read by the control thread itself: two threads that both wait would race a virtual clock.
    inline: Option<(Box<Leader>, Duration)>,
    /// Dropped to end the thread, after the attempt to connect that is under way then.
    _stop: Option<Sender<()>>,
}

impl LeaderSeat {
    /// Starts to meet the leader, and to read it, on a thread of its own.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(setup: LeaderSetup, clock: Clock) -> io::Result<Self> {
        let slot = Latest::new();
        let is_virtual = clock.is_virtual();
        let mut leader = Leader::new(clock.clone(), setup.connector, slot.clone());
        if is_virtual {
            return Ok(Self {
                name: setup.name,
                slot,
                inline: Some((Box::new(leader), Duration::ZERO)),
                _stop: None,
            });
        }
        let (stop, stopped) = bounded::<()>(0);
        thread::Builder::new()
            .name("leader".to_owned())
            .spawn(move || {
                priority::claim(Urgency::Arm);
                let mut next = leader.poll();
                while stopped.recv_timeout(clock.until(next)) == Err(RecvTimeoutError::Timeout) {
                    next = leader.poll();
                }
            })?;
        Ok(Self {
            name: setup.name,
            slot,
            inline: None,
            _stop: Some(stop),
        })
    }

    /// The leader as it is known at `now`.
    pub fn view(&mut self, now: Duration) -> LeaderView {
        if let Some((leader, due)) = &mut self.inline
            && *due <= now
        {
            *due = leader.poll();
        }
        let reading = self.slot.get();
        let reading = reading.as_deref();
        let mut view = LeaderView {
            name: self.name.clone(),
            ..LeaderView::default()
        };
        if let Some(reading) = reading {
            view.pose = reading.pose.map(|(pose, _)| pose);
            view.age = reading.pose.map(|(_, at)| now.saturating_sub(at));
            view.rate_hz = reading.rate_hz;
            view.errors = reading.errors;
            view.retries = reading.retries;
            view.status = match &reading.lost {
                Some(why) => LeaderStatus::Lost(why.clone()),
                None if view.is_live() => LeaderStatus::Live,
                None if view.pose.is_some() => LeaderStatus::Stale,
                None => LeaderStatus::Connecting,
            };
        }
        view
    }
}
