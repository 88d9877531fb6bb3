//! What happens on the pretend table between the operator and the referee: it is laid for a task, the task is judged, and after
//! a success it is laid anew. Without a thread of its own, so that it can be tested on a virtual clock.

use std::time::Duration;

use glam::vec2;

use crate::runtime::{RigOrder, RigView};
use crate::sim::{Colour, Layout, Referee, SENTENCES, SimArm, Task, Truth, Verdict};

/// How long a success is looked at before the table is laid anew, real time.
const LOOKED_AT: Duration = Duration::from_secs(2);
/// A hand that is not heard of for so long has let go, real time. A window draws at least three times in it.
const FORGOTTEN: Duration = Duration::from_millis(1500);
/// Colours that the usual table has, which the menu offers.
const OFFERED: [Colour; 3] = [Colour::Red, Colour::Blue, Colour::Green];

/// The table, the task that is judged on it, and who reaches for it.
#[derive(Debug)]
pub struct Tabletop {
    arm: SimArm,
    seed: u64,
    /// The task that the table is laid for.
    laid_for: Task,
    /// When the present try began.
    since: Duration,
    referee: Option<Referee>,
    verdict: Verdict,
    obstacle: Option<String>,
    done_since: Option<Duration>,
    repeats: bool,
    successes: u32,
    attempts: u32,
    /// The cube that a hand holds, and until when, if it is not heard of again.
    hand: Option<(usize, Duration)>,
}

/// The task in these words, if there is one.
fn understood(words: &str) -> Option<Task> {
    words.parse().ok()
}

/// The table for a task in words, or the usual one.
pub fn layout(words: &str, seed: u64) -> Layout {
    understood(words).unwrap_or(Task::USUAL).layout(seed)
}

impl Tabletop {
    /// An arm whose table was laid by [`layout`] with these words and this seed.
    pub fn new(arm: SimArm, words: &str, seed: u64) -> Self {
        let task = understood(words);
        Self {
            since: arm.clock().now(),
            arm,
            seed,
            laid_for: task.unwrap_or(Task::USUAL),
            referee: task.map(Referee::new),
            verdict: Verdict::default(),
            obstacle: None,
            done_since: None,
            repeats: true,
            successes: 0,
            attempts: 1,
            hand: None,
        }
    }

    /// Does what the operator or the runtime asks for.
    pub fn obey(&mut self, order: RigOrder) {
        match order {
            RigOrder::Reset { seed } => self.lay(seed.unwrap_or(self.seed)),
            RigOrder::Lay { task } => {
                if let Some(task) = understood(&task) {
                    self.laid_for = task;
                }
                self.judge(&task);
                self.lay(self.seed);
            }
            RigOrder::Judge { task } => self.judge(&task),
            RigOrder::Repeat(repeats) => self.repeats = repeats,
            RigOrder::Drag { cube, x, y } => {
                let until = self.in_real(FORGOTTEN);
                self.hand = Some((cube, until));
                self.arm.drag(cube, Some(vec2(x, y)));
            }
            RigOrder::LetGo { cube } => {
                self.hand = None;
                self.arm.drag(cube, None);
            }
            // The clock is the runtime's.
            RigOrder::Speed(_) => {}
        }
    }

    /// Lets the world go on to this moment, judges it, and lays the table anew when it is time.
    pub fn follow(&mut self) -> Truth {
        self.arm.advance();
        let now = self.arm.clock().now();
        if let Some((cube, _)) = self.hand.take_if(|(_, until)| *until <= now) {
            self.arm.drag(cube, None);
        }
        let truth = self.arm.truth();
        self.watch(&truth, now);
        let looked_at = self.arm.clock().passes_in(LOOKED_AT);
        let is_over = self
            .done_since
            .is_some_and(|since| now >= since + looked_at);
        if !is_over || !self.repeats || self.hand.is_some() {
            return truth;
        }
        self.lay(self.seed.wrapping_add(1));
        self.arm.truth()
    }

    /// How it stands.
    pub fn view(&self, truth: &Truth) -> RigView {
        RigView {
            seed: self.seed,
            laid: truth.laid,
            speed: self.arm.clock().rate(),
            tasks: offered().iter().map(ToString::to_string).collect(),
            sentences: SENTENCES.map(str::to_owned).to_vec(),
            task: self.task().map(|task| task.to_string()),
            obstacle: self.obstacle.clone(),
            progress: self.verdict.progress,
            stage: self.verdict.stage.clone(),
            done_since: self.done_since,
            elapsed: self.elapsed(),
            repeats: self.repeats,
            successes: self.successes,
            attempts: self.attempts,
        }
    }

    fn elapsed(&self) -> Duration {
        let end = self.done_since.unwrap_or_else(|| self.arm.clock().now());
        end.saturating_sub(self.since)
    }

    fn task(&self) -> Option<Task> {
        self.referee.as_ref().map(Referee::task)
    }

    /// Judges by another task from now on, on the table as it is.
    fn judge(&mut self, words: &str) {
        let task = understood(words);
        if task != self.task() {
            (self.successes, self.attempts) = (0, 1);
            self.referee = task.map(Referee::new);
            self.verdict = Verdict::default();
            self.done_since = None;
            self.since = self.arm.clock().now();
        }
    }

    /// Another try on another table. It stays one of the kind that it is, if that will do for the task in force.
    fn lay(&mut self, seed: u64) {
        if let Some(task) = self.task().filter(|_| self.obstacle.is_some()) {
            self.laid_for = task;
        }
        self.seed = seed;
        self.hand = None;
        self.arm.lay(&self.laid_for.layout(seed), false);
        self.since = self.arm.clock().now();
        self.referee = self.task().map(Referee::new);
        self.verdict = Verdict::default();
        self.obstacle = None;
        self.done_since = None;
        self.attempts += 1;
    }

    fn watch(&mut self, truth: &Truth, now: Duration) {
        let Some(referee) = &mut self.referee else {
            self.obstacle = None;
            return;
        };
        self.obstacle = referee.task().obstacle(truth);
        self.verdict = referee.watch(truth);
        if self.verdict.is_done && self.done_since.is_none() {
            self.done_since = Some(now);
            self.successes += 1;
        }
    }

    fn in_real(&self, real: Duration) -> Duration {
        let clock = self.arm.clock();
        clock.now() + clock.passes_in(real)
    }
}

/// Tasks for a menu.
fn offered() -> Vec<Task> {
    let of_one: [fn(Colour) -> Task; 4] = [Task::PutInBox, Task::PickUp, Task::Touch, Task::Push];
    let mut tasks: Vec<Task> = of_one.iter().flat_map(|task| OFFERED.map(task)).collect();
    let [red, blue, green] = OFFERED;
    tasks.extend(
        [(red, blue), (blue, green), (green, red)].map(|(top, base)| Task::Stack(top, base)),
    );
    tasks.push(Task::Sort);
    tasks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    const RED: &str = "put the red cube in the box";
    const TICK: Duration = Duration::from_millis(16);

    fn laid(words: &str, seed: u64) -> Tabletop {
        let clock = Clock::virtual_at_zero();
        let arm = SimArm::on_table(clock, &layout(words, seed));
        Tabletop::new(arm, words, seed)
    }

    /// How it stands after this time.
    fn after(table: &mut Tabletop, time: Duration) -> RigView {
        let end = table.arm.clock().now() + time;
        while table.arm.clock().now() < end {
            table.arm.clock().advance(TICK);
            table.follow();
        }
        let truth = table.follow();
        table.view(&truth)
    }

    fn lay(task: &str) -> RigOrder {
        let task = task.to_owned();
        RigOrder::Lay { task }
    }

    fn judge(task: &str) -> RigOrder {
        let task = task.to_owned();
        RigOrder::Judge { task }
    }

    #[test]
    fn every_task_on_offer_is_understood_and_can_be_done_on_its_table() {
        for task in offered() {
            assert_eq!(understood(&task.to_string()), Some(task));
            let mut table = laid(&task.to_string(), 3);
            let view = after(&mut table, TICK);
            assert_eq!((view.task, view.obstacle), (Some(task.to_string()), None));
        }
        let colours = |sentence: &str| sentence.replacen('…', "red", 1).replacen('…', "blue", 1);
        for sentence in SENTENCES {
            assert!(understood(&colours(sentence)).is_some(), "{sentence}");
        }
    }

    #[test]
    fn a_table_is_laid_as_it_was_or_as_another_seed_lays_it() {
        let mut table = laid(RED, 3);
        let first = table.follow();
        table.obey(RigOrder::Drag {
            cube: 0,
            x: 0.3,
            y: 0.2,
        });
        after(&mut table, TICK * 20);
        table.obey(RigOrder::Reset { seed: None });
        let again = table.follow();
        let places = |truth: &Truth| {
            truth
                .cubes
                .iter()
                .map(|it| it.cube.position.truncate())
                .collect::<Vec<_>>()
        };
        for (a, b) in places(&first).iter().zip(places(&again)) {
            assert!(a.distance(b) < 1e-3, "{a} {b}");
        }
        assert_ne!(first.laid, again.laid);
        table.obey(RigOrder::Reset { seed: Some(4) });
        let view = after(&mut table, TICK);
        assert_eq!((view.seed, view.attempts), (4, 3));
    }

    #[test]
    fn what_is_asked_for_in_mid_run_is_judged_on_the_table_as_it_is() {
        let mut table = laid(RED, 3);
        let laid = after(&mut table, TICK).laid;
        table.obey(judge("put the blue cube in the box"));
        let view = after(&mut table, TICK);
        assert_eq!(view.task.as_deref(), Some("put the blue cube in the box"));
        assert_eq!((view.laid, view.obstacle), (laid, None));
        table.obey(judge("sort the cubes"));
        let view = after(&mut table, TICK);
        assert!(view.obstacle.is_some_and(|why| why.contains("red box")));
        table.obey(lay("sort the cubes"));
        let view = after(&mut table, TICK);
        assert_eq!((view.obstacle, view.laid), (None, laid + 1));
        table.obey(judge("make coffee"));
        let view = after(&mut table, TICK);
        assert_eq!((view.task, view.progress), (None, 0.0));
    }

    #[test]
    fn a_reset_lays_what_the_task_in_force_needs() {
        let mut table = laid(RED, 3);
        table.obey(judge("sort the cubes"));
        after(&mut table, TICK);
        table.obey(RigOrder::Reset { seed: None });
        assert_eq!(after(&mut table, TICK).obstacle, None);
    }

    #[test]
    fn a_hand_that_is_heard_of_no_more_has_let_go() {
        let mut table = laid(RED, 3);
        table.obey(RigOrder::Drag {
            cube: 1,
            x: 0.2,
            y: 0.0,
        });
        after(&mut table, TICK);
        assert!(table.follow().cubes[1].is_dragged);
        // It is set down gently, not dropped.
        after(&mut table, 2 * FORGOTTEN);
        assert!(!table.follow().cubes[1].is_dragged);
    }

    #[test]
    fn a_success_counts_once_and_lays_the_next_table() {
        let mut table = laid(RED, 3);
        after(&mut table, TICK);
        let done = |table: &mut Tabletop| {
            table.done_since = Some(table.arm.clock().now());
            table.successes += 1;
        };
        done(&mut table);
        let view = after(&mut table, LOOKED_AT / 2);
        assert_eq!((view.seed, view.successes, view.attempts), (3, 1, 1));
        let view = after(&mut table, LOOKED_AT);
        assert_eq!((view.seed, view.successes, view.attempts), (4, 1, 2));
        assert!(view.done_since.is_none());
        table.obey(RigOrder::Repeat(false));
        done(&mut table);
        let view = after(&mut table, LOOKED_AT * 2);
        assert_eq!((view.seed, view.repeats), (4, false));
    }
}
