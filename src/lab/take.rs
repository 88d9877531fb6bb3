//! One demonstration by the scripted expert, row by row, on a virtual clock: what the control core records of a flight, and what
//! there was to see at each row. The pictures are drawn later, and only of what is kept.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::clock::Clock;
use crate::dataset::{RecorderView, Running, Step};
use crate::joint::JointVec;
use crate::lab::flight::{Error, Flight, Plan};
use crate::lab::pilot::Pilot;
use crate::latest::Latest;
use crate::runtime::{
    Command, Knobs, LatencyModel, RecordLink, RecordOrder, SessionOrder, SessionPhase, SessionPlan,
};
use crate::scene::Props;
use crate::sim::{Referee, SimArm, Task};

/// What is demonstrated.
#[derive(Clone, Debug)]
pub struct Demonstration {
    pub task: Task,
    pub knobs: Knobs,
    /// How long the expert takes to answer.
    pub latency: LatencyModel,
    /// Rows a second; the loop ticks at the rate of the knobs.
    pub fps: u32,
    /// A try that takes longer has failed, virtual time.
    pub limit: Duration,
    /// Keep the predicted chunk with each row.
    pub chunk: bool,
}

/// What there was to see at one row.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Where the joints truly were, robot units.
    pub joints: JointVec,
    pub props: Props,
}

/// A demonstration that was flown.
#[derive(Clone, Debug)]
pub struct Take {
    pub seed: u64,
    /// Without pictures.
    pub steps: Vec<Step>,
    /// As many.
    pub scenes: Vec<Scene>,
    /// Why it is none to learn from; `None` if the referee was content.
    pub failure: Option<String>,
}

impl Demonstration {
    /// Flies it on the table of this seed; twice alike.
    ///
    /// # Errors
    /// The expert does not take off.
    pub fn fly(&self, seed: u64) -> Result<Take, Error> {
        let clock = Clock::virtual_at_zero();
        let arm = SimArm::on_table(clock, &self.task.layout(seed));
        let plan = Plan {
            task: self.task.to_string(),
            knobs: self.knobs,
            latency: self.latency.reseeded(seed),
            seed,
            traces: false,
        };
        let rows = Rows::default();
        let mut flight = Flight::prepare(arm, &Pilot::Expert, &plan, Some(rows.link()))?;
        flight.tell(Command::Session(SessionOrder::Begin(Box::new(
            self.session(),
        ))))?;
        let phase_is = |wanted| {
            move |seen: &crate::runtime::Snapshot| {
                seen.session.as_ref().is_some_and(|it| it.phase == wanted)
            }
        };
        flight.until("nothing can be recorded", phase_is(SessionPhase::Ready))?;
        flight.tell(Command::Session(SessionOrder::Record))?;
        // What the expert does first is recorded as well.
        flight.let_drive()?;
        flight.began = flight.now();
        let mut take = Take {
            seed,
            steps: vec![],
            scenes: vec![],
            failure: None,
        };
        let mut referee = Referee::new(self.task);
        loop {
            let truth = flight.arm.truth();
            rows.drain(&mut take, truth.joints, &truth.props());
            let verdict = referee.watch(&truth);
            if verdict.is_done {
                return Ok(take);
            }
            take.failure = flight.grounded().or_else(|| {
                let percent = verdict.progress * 100.0;
                (flight.time() >= self.limit)
                    .then(|| format!("not done in {} s: {percent:.0} %", self.limit.as_secs()))
            });
            if take.failure.is_some() {
                return Ok(take);
            }
            flight.tick();
        }
    }

    fn session(&self) -> SessionPlan {
        SessionPlan {
            fps: self.fps,
            chunk: self.chunk,
            ..SessionPlan::new("a take")
        }
    }
}

/// A recorder that keeps rows in memory.
#[derive(Clone, Default)]
struct Rows {
    view: Latest<RecorderView>,
    taken: Arc<Mutex<Vec<Step>>>,
}

impl Rows {
    fn link(&self) -> RecordLink {
        let rows = self.clone();
        let mut view = RecorderView::default();
        RecordLink {
            view: self.view.clone(),
            order: Box::new(move |order| {
                match order {
                    RecordOrder::Step(step) => {
                        let mut taken = rows.taken.lock().unwrap_or_else(PoisonError::into_inner);
                        taken.push(*step);
                        return Ok(());
                    }
                    RecordOrder::Open(plan) => view.root = Some(plan.root.clone()),
                    RecordOrder::Begin => view.running = Some(Running::default()),
                    _ => {}
                }
                rows.view.set(view.clone());
                Ok(())
            }),
        }
    }

    /// Moves the rows since the last look into the take, with what there was to see.
    fn drain(&self, take: &mut Take, joints: JointVec, props: &Props) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        for mut step in taken.drain(..) {
            step.frames.clear();
            let props = props.clone();
            take.scenes.push(Scene { joints, props });
            take.steps.push(step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Driver;

    fn demonstration(limit: u64) -> Demonstration {
        Demonstration {
            task: "put the red cube in the box".parse().unwrap(),
            knobs: Knobs::default(),
            latency: Duration::from_millis(100).into(),
            fps: 30,
            limit: Duration::from_secs(limit),
            chunk: false,
        }
    }

    #[test]
    fn a_demonstration_is_the_whole_way_to_success_and_twice_alike() {
        let take = demonstration(40).fly(3).unwrap();
        assert_eq!(take.failure, None);
        assert!(take.steps.len() > 150, "{}", take.steps.len());
        assert_eq!(take.steps.len(), take.scenes.len());
        let begin = take.steps[0].at;
        for (row, step) in take.steps.iter().enumerate() {
            let off = step.at.saturating_sub(begin).as_secs_f64() - row as f64 / 30.0;
            assert!(off.abs() < 1e-4 && step.missed == 0, "row {row}: {off}");
            assert_eq!(step.provenance.driver, Driver::Policy);
            // The encoders tell where the joints are, to a step of theirs.
            assert!(step.state.max_abs_diff(take.scenes[row].joints) < 1.0);
        }
        let again = demonstration(40).fly(3).unwrap();
        let rows = |take: &Take| {
            let row = |step: &Step| (step.at, step.state, step.action, step.provenance.clone());
            take.steps.iter().map(row).collect::<Vec<_>>()
        };
        assert_eq!(rows(&take), rows(&again));
        assert_eq!(take.scenes, again.scenes);
    }

    #[test]
    fn one_that_takes_too_long_says_so() {
        let take = demonstration(2).fly(3).unwrap();
        assert!(take.failure.unwrap().contains("not done in 2 s"));
        assert!((59..=62).contains(&take.steps.len()));
    }
}
