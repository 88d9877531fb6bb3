//! A GPU that computes and draws: how much it is given at a time, so that pictures get in between.
//!
//! Most drivers finish what was submitted before they look at another program's, or another device's, next picture. The vision tower
//! as one submission would hold a picture up for as long as it takes. Cut into pieces of some milliseconds it does not, and a
//! submission costs the host less than a tenth of one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Compute, Dispatch};

/// How long a submission should take at most, where pictures are drawn: half of the time between two of them at 60 Hz.
const LONGEST: Duration = Duration::from_millis(8);

/// Whether pictures are drawn meanwhile, and how fast the device was seen to be.
#[derive(Debug, Default)]
pub(super) struct Share {
    is_drawn: AtomicBool,
    pace: Mutex<Pace>,
}

#[derive(Debug, Default)]
struct Pace {
    /// When the device was given something after it had nothing to do, and how much it was given since.
    busy_since: Option<Instant>,
    given: u64,
    /// FLOP a second, the most that was seen.
    fastest: f64,
}

impl Pace {
    fn gave(&mut self, flops: u64, now: Instant) {
        self.busy_since.get_or_insert(now);
        self.given += flops;
    }

    fn is_done(&mut self, now: Instant) {
        let Some(since) = self.busy_since.take() else {
            return;
        };
        let seconds = now.saturating_duration_since(since).as_secs_f64();
        let given = std::mem::take(&mut self.given);
        if given > 0 && seconds > 0.0 {
            self.fastest = self.fastest.max(given as f64 / seconds);
        }
    }

    /// FLOP that take so long; `None` while nothing is known.
    fn worth(&self, time: Duration) -> Option<u64> {
        (self.fastest > 0.0).then_some((self.fastest * time.as_secs_f64()) as u64)
    }
}

impl Compute {
    /// Whether a window is drawn while this device computes; chunks are then submitted in pieces once the device's speed is
    /// known, which the first chunk tells.
    pub fn let_pictures_between(&self, is_drawn: bool) {
        self.0.share.is_drawn.store(is_drawn, Ordering::Relaxed);
    }

    /// FLOP that a submission may have at most.
    pub(super) fn longest_submission(&self) -> Option<u64> {
        let is_drawn = self.0.share.is_drawn.load(Ordering::Relaxed);
        is_drawn.then(|| self.pace(|pace| pace.worth(LONGEST)))?
    }

    pub(super) fn gave(&self, flops: u64) {
        self.pace(|pace| pace.gave(flops, Instant::now()));
    }

    pub(super) fn is_done(&self) {
        self.pace(|pace| pace.is_done(Instant::now()));
    }

    fn pace<T>(&self, look: impl FnOnce(&mut Pace) -> T) -> T {
        let pace = self.0.share.pace.lock();
        look(&mut pace.unwrap_or_else(PoisonError::into_inner))
    }
}

/// How many of the next launches fit into a submission that has `given` FLOP already; none only when it has some.
pub(super) fn fitting(next: &[Dispatch], given: u64, longest: Option<u64>) -> usize {
    let works = next.iter().map(|dispatch| dispatch.work.flops);
    longest.map_or(next.len(), |longest| count_fitting(works, given, longest))
}

fn count_fitting(works: impl Iterator<Item = u64>, mut given: u64, longest: u64) -> usize {
    let mut count = 0;
    for work in works {
        if given > 0 && given + work > longest {
            break;
        }
        given += work;
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::compute::{Binding, KernelSpec, Sequence, Stage, Work};
    use crate::gpu::kernels::testing;
    use crate::gpu::shaders::Shader;

    #[test]
    fn a_piece_is_as_long_as_it_may_be_and_a_long_launch_goes_alone() {
        let count = |works: &[u64], given| count_fitting(works.iter().copied(), given, 10);
        assert_eq!(count(&[4, 6, 1], 0), 2);
        assert_eq!(count(&[4, 6, 1], 7), 0);
        assert_eq!(count(&[25, 1], 0), 1);
        assert_eq!(count(&[0, 0, 3], 0), 3);
        assert_eq!(count(&[], 5), 0);
    }

    /// One after another, whatever else is being computed, and each launch once.
    #[test]
    fn a_pass_in_pieces_computes_the_same() {
        const DOUBLE: Shader = Shader {
            name: "double",
            eights: false,
            source: "@group(0) @binding(0) var<storage, read_write> out: array<f32>;
                @compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3<u32>) { out[id.x] *= 2.0; }",
        };
        let Some(compute) = testing::compute().map(|compute| compute.anew()) else {
            return;
        };
        let kernel = compute.kernel(&KernelSpec {
            shader: DOUBLE,
            half: false,
            bindings: &[Binding::Write],
            constants: &[],
        });
        let numbers = compute.upload("numbers", &[1.0_f32, 2.0, 3.0, 4.0]);
        let work = Work { flops: 3, bytes: 0 };
        let launch = compute
            .bind(&kernel, &[numbers.whole()])
            .over("double", [1, 1, 1], work);
        let stage = |name| Stage {
            name,
            dispatches: vec![launch.clone(); 4],
        };
        let sequence = Sequence::new(&compute, vec![stage("first"), stage("second")], true);
        let submissions = |longest: Option<f64>| {
            compute.let_pictures_between(longest.is_some());
            compute.pace(|pace| pace.fastest = longest.unwrap_or_default() / LONGEST.as_secs_f64());
            let before = compute.counts();
            let mut flow = compute.flow();
            sequence.encode(&mut flow);
            flow.submit();
            let counts = compute.counts().since(&before);
            assert_eq!(counts.kernels, 8);
            let timed = sequence.times(&compute).unwrap();
            assert!(timed.is_empty() || timed.len() == 2, "{timed:?}");
            counts.submissions
        };
        assert_eq!(submissions(None), 1);
        assert_eq!(submissions(Some(6.5)), 4);
        assert_eq!(submissions(Some(1.0)), 8);
        assert_eq!(submissions(Some(1e9)), 1);
        let sum = compute.read(&numbers.whole()).unwrap();
        let doublings = 2_f32.powi(32);
        assert_eq!(sum, [1.0, 2.0, 3.0, 4.0].map(|value| value * doublings));
    }

    #[test]
    fn the_speed_is_the_best_that_was_seen_from_idle_to_idle() {
        let (mut pace, start) = (Pace::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(pace.worth(LONGEST), None);
        pace.is_done(at(0));
        pace.gave(1_000_000, at(0));
        pace.gave(1_000_000, at(5));
        pace.is_done(at(20));
        assert_eq!(pace.worth(Duration::from_millis(10)), Some(1_000_000));
        // Slower this time: other programs had the device.
        pace.gave(1_000_000, at(30));
        pace.is_done(at(130));
        assert_eq!(pace.worth(Duration::from_millis(10)), Some(1_000_000));
        // An upload alone tells nothing.
        pace.gave(0, at(200));
        pace.is_done(at(201));
        assert_eq!(pace.worth(Duration::from_millis(10)), Some(1_000_000));
    }
}
