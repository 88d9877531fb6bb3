//! How a new chunk is blended into what is still queued, so that the arm does not step where two plans meet.
//!
//! Source: the SmolVLA paper's aggregate function f (arXiv 2506.01844) and LeRobot's four constant weights; the ramps
//! end at the new plan, so that nothing steps where the overlap ends.

use std::f32::consts::PI;

use crate::action::Action;
use crate::runtime::Aggregate;

/// One step of the plan: what the arm is sent, and the same step in the network's normalised space.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planned {
    /// Robot units.
    pub action: Action,
    /// The network's space, `[action_dim]`; empty when the policy does not tell.
    pub normalized: Vec<f32>,
}

/// The weight of the new plan at step `k` of an overlap of `width` steps, 0 to 1.
pub fn share_of_new(aggregate: Aggregate, k: usize, width: usize) -> f32 {
    let along = if k < width {
        (k + 1) as f32 / width as f32
    } else {
        1.0
    };
    match aggregate {
        Aggregate::LinearRamp => along,
        Aggregate::CosineRamp => (1.0 - (PI * along).cos()) / 2.0,
        Aggregate::LatestOnly => 1.0,
        Aggregate::WeightedAverage => 0.7,
        Aggregate::Average => 0.5,
        Aggregate::Conservative => 0.3,
    }
}

/// `share * new + (1 - share) * old`, joint by joint.
///
/// Normalisation is affine for each joint, so the same blend holds in the network's space; that keeps the plan usable
/// as the left-over of real-time chunking.
pub fn blend(old: &Planned, new: &Planned, share: f32) -> Planned {
    let mix = |old: f32, new: f32| share * new + (1.0 - share) * old;
    let normalized = if old.normalized.len() == new.normalized.len() {
        let rows = old.normalized.iter().zip(&new.normalized);
        rows.map(|(&old, &new)| mix(old, new)).collect()
    } else {
        new.normalized.clone()
    };
    Planned {
        action: old.action.zip(new.action, mix),
        normalized,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::JointVec;

    fn shares(aggregate: Aggregate, width: usize) -> Vec<f32> {
        (0..width)
            .map(|k| share_of_new(aggregate, k, width))
            .collect()
    }

    #[test]
    fn ramps_rise_to_the_new_plan_and_constants_stay() {
        assert_eq!(shares(Aggregate::LinearRamp, 4), vec![0.25, 0.5, 0.75, 1.0]);
        let cosine = shares(Aggregate::CosineRamp, 4);
        for (got, want) in cosine.iter().zip([0.14644661, 0.5, 0.8535534, 1.0]) {
            assert!((got - want).abs() < 1e-6, "{cosine:?}");
        }
        assert_eq!(shares(Aggregate::LatestOnly, 2), vec![1.0, 1.0]);
        assert_eq!(shares(Aggregate::WeightedAverage, 2), vec![0.7, 0.7]);
        assert_eq!(shares(Aggregate::Average, 2), vec![0.5, 0.5]);
        assert_eq!(shares(Aggregate::Conservative, 2), vec![0.3, 0.3]);
    }

    #[test]
    fn a_blend_mixes_each_joint_in_both_spaces() {
        let step = |action: f32, normalized: f32| Planned {
            action: JointVec([action; 6]),
            normalized: vec![normalized; 2],
        };
        let mixed = blend(&step(10.0, 1.0), &step(20.0, -1.0), 0.25);
        assert_eq!(mixed, step(12.5, 0.5));
        let bare = Planned {
            action: JointVec([0.0; 6]),
            normalized: vec![],
        };
        assert_eq!(blend(&bare, &step(20.0, 3.0), 0.5), step(10.0, 3.0));
    }
}
