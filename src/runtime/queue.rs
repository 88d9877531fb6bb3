//! The actions that the arm will execute next, front first; the control thread alone owns them, so no lock is needed.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::action::{Action, ActionChunk};
use crate::runtime::Aggregate;
use crate::runtime::merge::{Planned, blend, share_of_new};

/// The plan, and how much of all plans has been executed so far.
#[derive(Debug, Default)]
pub struct ActionQueue {
    planned: VecDeque<Planned>,
    consumed: u64,
}

impl ActionQueue {
    /// Actions that are left.
    pub fn len(&self) -> usize {
        self.planned.len()
    }

    /// Actions taken since the start. The delay of a chunk is a difference of two readings of this, so that time in which
    /// the robot stood still skips nothing.
    pub fn consumed(&self) -> u64 {
        self.consumed
    }

    /// Takes the action for this tick.
    pub fn pop(&mut self) -> Option<Action> {
        let next = self.planned.pop_front()?;
        self.consumed += 1;
        Some(next.action)
    }

    /// The action that would be taken next.
    pub fn front(&self) -> Option<Action> {
        self.planned.front().map(|step| step.action)
    }

    /// Forgets the plan, not the count.
    pub fn clear(&mut self) {
        self.planned.clear();
    }

    /// Keeps at most the next `len` actions; what comes next does not change.
    pub fn trim(&mut self, len: usize) {
        self.planned.truncate(len);
    }

    /// Puts `fresh` in place of the plan.
    pub fn replace(&mut self, fresh: Vec<Planned>) {
        self.planned = fresh.into();
    }

    /// Blends `fresh` into the plan; both begin with the next action to execute.
    ///
    /// `blend_steps` shortens the overlap that the ramps use. After the overlap the new plan goes on; an old tail that is
    /// longer than the new plan is kept.
    pub fn merge(&mut self, fresh: Vec<Planned>, aggregate: Aggregate, blend_steps: Option<usize>) {
        let overlap = self.planned.len().min(fresh.len());
        let width = blend_steps.map_or(overlap, |steps| steps.clamp(1, overlap.max(1)));
        for (k, new) in fresh.into_iter().enumerate() {
            match self.planned.get_mut(k) {
                Some(old) => *old = blend(old, &new, share_of_new(aggregate, k, width)),
                None => self.planned.push_back(new),
            }
        }
    }

    /// The un-executed tail in the network's space for real-time chunking, `[steps][action_dim]`, first the action that
    /// is executed now.
    pub fn left_over(&self) -> Vec<Vec<f32>> {
        let rows = self.planned.iter().map(|step| step.normalized.clone());
        rows.take_while(|row| !row.is_empty()).collect()
    }

    /// The plan in robot units.
    pub fn upcoming(&self) -> Arc<[Action]> {
        self.planned.iter().map(|step| step.action).collect()
    }
}

/// The steps `skipped..kept` of a chunk as plan.
pub fn planned_from_chunk(chunk: &ActionChunk, skipped: usize, kept: usize) -> Vec<Planned> {
    let rows = chunk.actions.iter().enumerate().take(kept).skip(skipped);
    rows.map(|(k, &action)| Planned {
        action,
        normalized: chunk.normalized.get(k).cloned().unwrap_or_default(),
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Tick;
    use crate::joint::JointVec;

    fn plan(values: &[f32]) -> Vec<Planned> {
        let step = |&value: &f32| Planned {
            action: JointVec([value; 6]),
            normalized: vec![value / 100.0],
        };
        values.iter().map(step).collect()
    }

    fn queue(values: &[f32]) -> ActionQueue {
        let mut queue = ActionQueue::default();
        queue.replace(plan(values));
        queue
    }

    fn pans(queue: &ActionQueue) -> Vec<f32> {
        queue.upcoming().iter().map(|action| action.0[0]).collect()
    }

    #[test]
    fn merges_are_right_value_by_value() {
        let merged = |aggregate, blend_steps| {
            let mut queue = queue(&[0.0, 0.0, 0.0, 0.0]);
            queue.merge(plan(&[8.0; 6]), aggregate, blend_steps);
            pans(&queue)
        };
        assert_eq!(
            merged(Aggregate::LinearRamp, None),
            [2.0, 4.0, 6.0, 8.0, 8.0, 8.0]
        );
        assert_eq!(
            merged(Aggregate::LinearRamp, Some(2)),
            [4.0, 8.0, 8.0, 8.0, 8.0, 8.0]
        );
        let cosine = merged(Aggregate::CosineRamp, None);
        for (got, want) in cosine.iter().zip([1.1715729, 4.0, 6.828427, 8.0, 8.0, 8.0]) {
            assert!((got - want).abs() < 1e-5, "{cosine:?}");
        }
        assert_eq!(merged(Aggregate::LatestOnly, None), [8.0; 6]);
        let weighted = merged(Aggregate::WeightedAverage, Some(1));
        assert_eq!(weighted, [5.6, 5.6, 5.6, 5.6, 8.0, 8.0]);
        assert_eq!(
            merged(Aggregate::Average, None),
            [4.0, 4.0, 4.0, 4.0, 8.0, 8.0]
        );
        let conservative = merged(Aggregate::Conservative, None);
        for (got, want) in conservative.iter().zip([2.4, 2.4, 2.4, 2.4, 8.0, 8.0]) {
            assert!((got - want).abs() < 1e-5, "{conservative:?}");
        }
    }

    #[test]
    fn an_old_tail_longer_than_the_new_plan_is_kept() {
        let mut queue = queue(&[1.0, 2.0, 3.0, 4.0]);
        queue.merge(plan(&[11.0, 12.0]), Aggregate::LatestOnly, None);
        assert_eq!(pans(&queue), [11.0, 12.0, 3.0, 4.0]);
        queue.merge(vec![], Aggregate::LatestOnly, None);
        assert_eq!(queue.len(), 4);
    }

    #[test]
    fn only_executed_actions_are_counted() {
        let mut queue = queue(&[1.0, 2.0]);
        assert_eq!(queue.pop(), Some(JointVec([1.0; 6])));
        assert!(queue.pop().is_some() && queue.pop().is_none());
        assert_eq!((queue.consumed(), queue.len()), (2, 0));
    }

    #[test]
    fn the_left_over_begins_with_the_next_action() {
        let mut queue = queue(&[100.0, 200.0, 300.0]);
        assert!(queue.pop().is_some());
        assert_eq!(queue.left_over(), [[2.0], [3.0]]);
        assert!(ActionQueue::default().left_over().is_empty());
    }

    #[test]
    fn a_chunk_is_cut_at_both_ends() {
        let chunk = ActionChunk {
            observed_at: Tick(3),
            generation: 0,
            actions: (0..6u8).map(|k| JointVec([f32::from(k); 6])).collect(),
            normalized: (0..6u8).map(|k| vec![f32::from(k)]).collect(),
        };
        let planned = planned_from_chunk(&chunk, 2, 4);
        let firsts: Vec<f32> = planned.iter().map(|step| step.normalized[0]).collect();
        assert_eq!(firsts, [2.0, 3.0]);
        assert!(planned_from_chunk(&chunk, 4, 4).is_empty());
    }

    /// LeRobot's `select_action` of a tiny checkpoint with `n_action_steps` 3: the first three calls answer with the first
    /// three steps of one chunk, the fourth looks again.
    #[test]
    fn the_first_n_action_steps_of_a_chunk_are_executed_as_in_the_reference() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/golden/tiny_c/golden.safetensors"
        );
        let bytes = std::fs::read(path).unwrap();
        let golden = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let rows = |name: &str| -> Vec<Vec<f32>> {
            let tensor = golden.tensor(name).unwrap();
            let values = tensor.data().chunks_exact(4);
            let values: Vec<f32> = values
                .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
                .collect();
            let width = *tensor.shape().last().unwrap();
            values.chunks_exact(width).map(<[f32]>::to_vec).collect()
        };
        let (normalized, selected) = (rows("out.actions"), rows("queue.select_action"));
        let chunk = ActionChunk {
            observed_at: Tick(0),
            generation: 0,
            actions: vec![JointVec::default(); normalized.len()],
            normalized,
        };
        let mut queue = ActionQueue::default();
        queue.replace(planned_from_chunk(&chunk, 0, 3));
        for (call, wanted) in selected[..3].iter().enumerate() {
            assert_eq!(&queue.left_over()[0], wanted, "call {call}");
            assert!(queue.pop().is_some());
        }
        assert_eq!(queue.len(), 0);
        assert_ne!(chunk.normalized[3], selected[3], "a new observation");
    }
}
