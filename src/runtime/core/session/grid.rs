//! The instants that rows belong to. Rows are a fixed rate from the episode's begin, whatever rate the loop ticks at: a policy's
//! 30 Hz, a hand's 60 Hz, or a rate that is turned in mid-episode.

use std::time::Duration;

/// The grid of one episode.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    begin: Duration,
    fps: u32,
    /// The row that is taken next; 0 is wherever the first tick is.
    next: u64,
    /// Instants before it at which nothing could be taken, since the row before.
    missed: u32,
}

impl Grid {
    /// A grid that begins with its first row.
    pub fn new(fps: u32) -> Self {
        Self {
            begin: Duration::ZERO,
            fps: fps.max(1),
            next: 0,
            missed: 0,
        }
    }

    /// Whether the next row is to be taken at `now`, in a loop that ticks every `period`. An instant is that of the first tick
    /// from half a period before it on; one that nothing came to before the next instant is missed.
    pub fn is_due(&mut self, now: Duration, period: Duration) -> bool {
        if self.next == 0 {
            self.begin = now;
            return true;
        }
        let ended = now.saturating_sub(self.begin).as_nanos() * u128::from(self.fps);
        let instant = u64::try_from(ended / NANOS).unwrap_or(u64::MAX);
        let overdue = instant.saturating_sub(self.next);
        self.next += overdue;
        self.missed = self.missed.saturating_add(overdue as u32);
        now + period / 2 >= self.instant(self.next)
    }

    /// The row is taken; how many instants before it were missed.
    pub fn take(&mut self) -> u32 {
        self.next += 1;
        std::mem::take(&mut self.missed)
    }

    /// The row that was taken last found no place, nor did the `missed` ones that it stood for. A first one is taken anew.
    pub fn give_back(&mut self, missed: u32) {
        if self.next <= 1 {
            *self = Self::new(self.fps);
        } else {
            self.missed = self.missed.saturating_add(missed).saturating_add(1);
        }
    }

    /// Rows and missed instants so far.
    pub fn rows(&self) -> u64 {
        self.next
    }

    /// When a row belongs to, on the runtime's clock.
    fn instant(&self, row: u64) -> Duration {
        let nanos = u128::from(row) * NANOS / u128::from(self.fps);
        self.begin + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

const NANOS: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks at these times, milliseconds; the rows taken: when, and what was missed before.
    fn rows(fps: u32, period_ms: f64, ticks: impl IntoIterator<Item = f64>) -> Vec<(f64, u32)> {
        let mut grid = Grid::new(fps);
        let period = Duration::from_secs_f64(period_ms / 1e3);
        let mut taken = vec![];
        for ms in ticks {
            if grid.is_due(Duration::from_secs_f64(ms / 1e3), period) {
                taken.push((ms, grid.take()));
            }
        }
        taken
    }

    fn steady(hz: f64, ticks: u32) -> impl Iterator<Item = f64> {
        (0..ticks).map(move |n| 500.0 + f64::from(n) * 1e3 / hz)
    }

    #[test]
    fn every_tick_is_a_row_at_the_loops_own_rate_and_every_second_at_twice_that() {
        let thirty = rows(30, 1e3 / 30.0, steady(30.0, 300));
        assert_eq!(thirty.len(), 300);
        assert!(thirty.iter().all(|(_, missed)| *missed == 0));
        let sixty = rows(30, 1e3 / 60.0, steady(60.0, 600));
        assert_eq!(sixty.len(), 300);
        assert!((sixty[7].0 - 500.0 - 7e3 / 30.0).abs() < 1e-6);
    }

    #[test]
    fn ticks_that_tremble_miss_nothing() {
        for hz in [30.0, 60.0] {
            // Half a period off the grid is the worst phase there is.
            for phase in [0.0, 0.25, 0.5] {
                let jitter = |n: u32| f64::from((n * 7919) % 13) / 13.0 * 6.0 - 3.0;
                let ticks = (1..1000_u32).map(|n| (f64::from(n) + phase) * 1e3 / hz + jitter(n));
                let taken = rows(30, 1e3 / hz, std::iter::once(0.0).chain(ticks));
                assert!(taken.iter().all(|(_, missed)| *missed == 0), "{hz} {phase}");
                for (row, (ms, _)) in taken.iter().enumerate() {
                    let off = ms - row as f64 * 1e3 / 30.0;
                    assert!((-20.0..34.0).contains(&off), "row {row} at {ms}");
                }
            }
        }
    }

    #[test]
    fn a_gap_is_counted_and_the_grid_stays() {
        let ticks = steady(30.0, 100).filter(|ms| !(900.0..1320.0).contains(ms));
        let taken = rows(30, 1e3 / 30.0, ticks);
        let missed: u32 = taken.iter().map(|(_, missed)| missed).sum();
        assert_eq!(taken.len() + missed as usize, 100);
        assert!((12..=13).contains(&missed));
    }

    #[test]
    fn a_slow_loop_fills_the_grid_and_a_turned_rate_does_not_break_it() {
        let taken = rows(30, 50.0, steady(20.0, 200));
        let all: usize = taken.iter().map(|(_, missed)| 1 + *missed as usize).sum();
        // As many rows as there were instants up to the last tick.
        assert!((298..=299).contains(&all), "{all}");
        let mut grid = Grid::new(30);
        let (mut now, mut all) = (0.0, 0);
        for n in 0..600_u32 {
            let hz = [30.0, 60.0, 50.0, 15.0][n as usize / 150];
            let period = Duration::from_secs_f64(1.0 / hz);
            if grid.is_due(Duration::from_secs_f64(now), period) {
                all += 1 + grid.take();
            }
            now += 1.0 / hz;
        }
        let lasted = 150.0 / 30.0 + 150.0 / 60.0 + 150.0 / 50.0 + 150.0 / 15.0;
        assert!((f64::from(all) - lasted * 30.0).abs() <= 2.0, "{all}");
    }

    #[test]
    fn what_found_no_place_is_missed() {
        let mut grid = Grid::new(30);
        let at = |row: u32| Duration::from_secs_f64(f64::from(row) / 30.0);
        let period = at(1);
        assert!(grid.is_due(at(3), period));
        assert_eq!(grid.take(), 0);
        grid.give_back(0);
        assert_eq!(grid.rows(), 0, "an episode begins with a row");
        assert!(grid.is_due(at(4), period) && grid.take() == 0);
        assert!(grid.is_due(at(5), period) && grid.take() == 0);
        grid.give_back(0);
        assert!(grid.is_due(at(6), period) && grid.take() == 1);
        grid.give_back(1);
        assert!(grid.is_due(at(7), period) && grid.take() == 2);
        assert_eq!(grid.rows(), 4);
    }
}
