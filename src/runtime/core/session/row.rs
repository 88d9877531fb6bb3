//! The row of a tick: what was sensed, what was sent after the limits, and who drove with what.

use std::sync::Arc;

use crate::dataset::{Driver, Provenance, Step};
use crate::observation::Frame;
use crate::runtime::core::Control;
use crate::runtime::{Aggregate, Mode, RecordOrder, SessionPhase};

impl Control {
    /// Takes the row of this tick, if it is time for one. Called once it is known what was sent.
    pub(in crate::runtime::core) fn take_row(&mut self) {
        // A pose that could not be read is no row, and neither is one that would overtake an order.
        let is_waiting = !self.session.outbox.is_empty() && self.session.rows() > 0;
        if self.session.phase != SessionPhase::Recording || self.arm.failed.is_some() || is_waiting
        {
            return;
        }
        let (now, period) = (self.now, self.period());
        let Some(grid) = &mut self.session.grid else {
            return;
        };
        if !grid.is_due(now, period) {
            return;
        }
        let missed = grid.take();
        let step = self.step(missed);
        self.session.tell(RecordOrder::Step(Box::new(step)));
    }

    fn step(&mut self, missed: u32) -> Step {
        if *self.session.task != *self.task {
            self.session.task = Arc::from(self.task.as_str());
        }
        Step {
            at: self.now,
            state: self.arm.measured,
            action: self.arm.commanded,
            frames: self.pictures(),
            task: Arc::clone(&self.session.task),
            provenance: self.provenance(),
            missed,
        }
    }

    fn pictures(&self) -> Vec<Option<Frame>> {
        let newest = |name: &String| {
            let camera = self.cameras.iter().find(|camera| camera.name == *name);
            camera.and_then(|camera| camera.frame.clone())
        };
        self.session.cameras.iter().map(newest).collect()
    }

    fn provenance(&self) -> Provenance {
        let knobs = &self.knobs;
        let aggregate = Aggregate::ALL.iter().position(|it| *it == knobs.aggregate);
        let keeps_chunk = self.session.plan.as_ref().is_some_and(|plan| plan.chunk);
        let chunk = self.chunk.as_ref().filter(|_| keeps_chunk);
        let latency = self.latency.total().last().unwrap_or_default();
        Provenance {
            driver: driver(self.mode),
            intervention: self.intervenes(),
            scheduling: knobs.scheduling as u8,
            chunk_size_threshold: knobs.chunk_size_threshold,
            n_action_steps: knobs.n_action_steps as u32,
            actions_per_chunk: knobs.actions_per_chunk as u32,
            aggregate: aggregate.unwrap_or_default() as u8,
            queue: self.queue.len() as u32,
            latency_s: latency.as_secs_f32(),
            chunk: chunk.map(|it| Arc::clone(&it.actions)).unwrap_or_default(),
            chunk_age: chunk.map_or(0, |it| self.tick.since(it.first_tick) as u32),
        }
    }
}

fn driver(mode: Mode) -> Driver {
    match mode {
        Mode::Hold => Driver::Nobody,
        Mode::Policy => Driver::Policy,
        Mode::Teleop => Driver::Teleop,
        Mode::Jog => Driver::Jog,
        Mode::Replay => Driver::Replay,
    }
}
