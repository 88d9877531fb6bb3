//! Monotonic time, real, paced or virtual, and the control tick. Nothing in the house reads the wall clock to decide.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};

/// The slowest and the fastest that a paced clock goes; 1 is life's rate.
const RATES: (f32, f32) = (0.05, 4.0);

/// A sleeper on a paced clock looks this often, in real time, whether the rate has changed.
const LOOK: Duration = Duration::from_millis(10);

/// Number of a control period since the runtime started.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tick(pub u64);

impl Tick {
    /// Ticks from `earlier` to `self`, zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// A monotonic clock. All instants in the house are durations since its start, so that they are plain data.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's monotonic clock.
    Real(Instant),
    /// Goes with the machine's, at a rate that can be changed while it goes: slow motion.
    Paced(Arc<Paced>),
    /// Advanced by hand, for tests.
    Virtual(Arc<AtomicU64>),
}

impl Clock {
    /// Starts a real clock at zero.
    pub fn real() -> Self {
        Self::Real(Instant::now())
    }

    /// Starts a virtual clock at zero.
    pub fn virtual_at_zero() -> Self {
        Self::Virtual(Arc::new(AtomicU64::new(0)))
    }

    /// Starts a paced clock at zero, at life's rate.
    pub fn paced() -> Self {
        Self::Paced(Arc::new(Paced {
            start: Instant::now(),
            stretch: ArcSwap::from_pointee(Stretch {
                real: 0,
                time: 0,
                rate: 1.0,
            }),
            told: AtomicU64::new(0),
        }))
    }

    /// Time since the clock started. Lock-free.
    pub fn now(&self) -> Duration {
        match self {
            Self::Real(start) => start.elapsed(),
            Self::Paced(paced) => paced.now(),
            Self::Virtual(nanos) => Duration::from_nanos(nanos.load(Ordering::SeqCst)),
        }
    }

    /// Moves a virtual clock on; the others ignore it.
    pub fn advance(&self, by: Duration) {
        if let Self::Virtual(nanos) = self {
            nanos.fetch_add(by.as_nanos() as u64, Ordering::SeqCst);
        }
    }

    /// Waits until `deadline`; a virtual clock jumps there at once.
    pub fn sleep_until(&self, deadline: Duration) {
        match self {
            Self::Real(_) => thread::sleep(self.until(deadline)),
            Self::Paced(_) => loop {
                let wait = self.until(deadline);
                if wait.is_zero() {
                    return;
                }
                thread::sleep(wait.min(LOOK));
            },
            Self::Virtual(_) => self.advance(self.until(deadline)),
        }
    }

    /// How long it is until `deadline` in real time, if the rate stays as it is; on a virtual clock in its own.
    pub fn until(&self, deadline: Duration) -> Duration {
        let left = deadline.saturating_sub(self.now());
        match self {
            Self::Paced(paced) => left.div_f64(paced.stretch.load().rate),
            Self::Real(_) | Self::Virtual(_) => left,
        }
    }

    /// How much time passes here in this much real time, at the present rate.
    pub fn passes_in(&self, real: Duration) -> Duration {
        match self {
            Self::Paced(paced) => real.mul_f64(paced.stretch.load().rate),
            Self::Real(_) | Self::Virtual(_) => real,
        }
    }

    /// How fast the clock goes, 1 is life's rate.
    pub fn rate(&self) -> f32 {
        match self {
            Self::Paced(paced) => paced.stretch.load().rate as f32,
            Self::Real(_) | Self::Virtual(_) => 1.0,
        }
    }

    /// Lets a paced clock go at another rate from this moment on; the others ignore it.
    pub fn set_rate(&self, rate: f32) {
        if let Self::Paced(paced) = self
            && rate.is_finite()
        {
            paced.set_rate(f64::from(rate.clamp(RATES.0, RATES.1)));
        }
    }

    /// Whether somebody else moves the clock on, and waiting costs no time.
    pub fn is_virtual(&self) -> bool {
        matches!(self, Self::Virtual(_))
    }

    /// How loudly to log what is news in life: hundreds of measured runs on virtual clocks would drown everything else.
    pub fn news(&self) -> log::Level {
        if self.is_virtual() {
            log::Level::Debug
        } else {
            log::Level::Info
        }
    }
}

/// The inside of a clock whose rate can be changed.
#[derive(Debug)]
pub struct Paced {
    start: Instant,
    stretch: ArcSwap<Stretch>,
    /// The latest moment that anybody was told, nanoseconds. Two threads that read while the rate changes may have reckoned
    /// with different rates; no later reader is told less than an earlier one for that.
    told: AtomicU64,
}

/// A stretch of time at one rate, from the moment at which it began; nanoseconds.
#[derive(Debug)]
struct Stretch {
    real: u64,
    time: u64,
    rate: f64,
}

impl Paced {
    fn real(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn now(&self) -> Duration {
        // Real time is read first: a rate that is changed meanwhile finds it in the past, never in the future.
        let real = self.real();
        let time = self.stretch.load().at(real);
        let told = self.told.fetch_max(time, Ordering::SeqCst);
        Duration::from_nanos(time.max(told))
    }

    fn set_rate(&self, rate: f64) {
        self.stretch.rcu(|before| {
            let told = self.told.load(Ordering::SeqCst);
            before.then(self.real(), told, rate)
        });
    }
}

impl Stretch {
    /// The time at this real moment.
    fn at(&self, real: u64) -> u64 {
        let passed = real.saturating_sub(self.real);
        self.time + (passed as f64 * self.rate) as u64
    }

    /// What follows from this real moment on, when somebody was told a time already.
    fn then(&self, real: u64, told: u64, rate: f64) -> Self {
        Self {
            real,
            time: self.at(real).max(told),
            rate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_virtual_clock_moves_only_when_told() {
        let clock = Clock::virtual_at_zero();
        clock.advance(Duration::from_millis(5));
        clock.sleep_until(Duration::from_millis(3));
        assert_eq!(clock.now(), Duration::from_millis(5));
        clock.sleep_until(Duration::from_millis(8));
        assert_eq!(clock.now(), Duration::from_millis(8));
        assert_eq!(Tick(3).since(Tick(5)), 0);
    }

    #[test]
    fn a_rate_that_changes_neither_turns_time_back_nor_lets_it_jump() {
        let real = Stretch {
            real: 0,
            time: 0,
            rate: 1.0,
        };
        let slow = real.then(1_000, 990, 0.1);
        assert_eq!([1_000, 2_000].map(|at| slow.at(at)), [1_000, 1_100]);
        let fast = slow.then(2_000, 1_100, 2.0);
        assert_eq!([2_000, 2_500].map(|at| fast.at(at)), [1_100, 2_100]);
        // A reader who was held up on the way here is told the beginning, not a moment before it.
        assert_eq!(fast.at(1_900), 1_100);
        // And a reader who was ahead of the change stays so.
        assert_eq!(fast.then(2_500, 2_130, 0.1).at(2_500), 2_130);
        let clock = Clock::paced();
        let mut told = clock.now();
        for rate in [0.1, 2.0, 0.25, f32::NAN, 0.0, 1.0].repeat(50) {
            clock.set_rate(rate);
            let now = clock.now();
            assert!(now >= told, "{now:?} after {told:?}");
            told = now;
        }
    }

    #[test]
    fn the_rate_is_kept_in_bounds_and_only_a_paced_clock_has_one() {
        let clock = Clock::paced();
        let rate_after = |rate| {
            clock.set_rate(rate);
            clock.rate()
        };
        let asked = [0.25, 0.0, -3.0, 100.0, f32::INFINITY, 1.0];
        assert_eq!(asked.map(rate_after), [0.25, 0.05, 0.05, 4.0, 4.0, 1.0]);
        for other in [Clock::real(), Clock::virtual_at_zero()] {
            other.set_rate(0.1);
            assert_eq!(other.rate(), 1.0);
            assert_eq!(other.passes_in(LOOK), LOOK);
        }
    }

    #[test]
    fn a_sleeper_waits_in_real_time_as_the_rate_says_and_hears_of_another_rate() {
        let clock = Clock::paced();
        clock.set_rate(0.1);
        assert_eq!(clock.passes_in(LOOK), LOOK / 10);
        let began = Instant::now();
        let deadline = clock.now() + Duration::from_millis(2);
        clock.sleep_until(deadline);
        assert!(clock.now() >= deadline);
        assert!(began.elapsed() >= Duration::from_millis(19), "ten times");
        // Three seconds, were the rate to stay.
        let sleeper = clock.clone();
        let deadline = clock.now() + Duration::from_millis(300);
        let asleep = thread::Builder::new()
            .name("sleeper".to_owned())
            .spawn(move || sleeper.sleep_until(deadline));
        clock.set_rate(4.0);
        assert!(asleep.is_ok_and(|it| it.join().is_ok()));
        assert!(clock.now() >= deadline);
    }
}
