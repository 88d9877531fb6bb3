//! Reads a checkpoint's statistics as joint ranges, and doubts them when they cannot be an SO-101's degrees and percent.

use serde::Serialize;

use crate::joint::{JOINT_COUNT, Joint};
use crate::policy::processor::Normalizer;

/// Half a turn in radians, with some room: body joints that never leave it were hardly recorded in degrees.
const RADIANS: f32 = 3.5;

/// What one dimension went through in training: two standard deviations about the mean, or the recorded bounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Range {
    pub name: String,
    pub low: f32,
    pub high: f32,
}

/// The range of each dimension; empty when the values are not normalised.
pub fn ranges(normalizer: &Normalizer, names: &[String]) -> Vec<Range> {
    let range = |(name, (low, high)): (&String, (f32, f32))| Range {
        name: name.clone(),
        low,
        high,
    };
    let pairs: Vec<(f32, f32)> = match normalizer {
        Normalizer::Identity => return Vec::new(),
        Normalizer::MeanStd { mean, std, .. } => {
            let pair = |(mean, std): (&f32, &f32)| (mean - 2.0 * std, mean + 2.0 * std);
            mean.iter().zip(std).map(pair).collect()
        }
        Normalizer::Bounds { low, span } => low
            .iter()
            .zip(span)
            .map(|(low, span)| (*low, low + span))
            .collect(),
    };
    names.iter().zip(pairs).map(range).collect()
}

/// What is odd about the ranges of an SO-101's joints, in words.
pub fn doubts(what: &str, ranges: &[Range]) -> Vec<String> {
    if ranges.is_empty() {
        return vec![format!(
            "{what} is not normalised: the network sees and gives robot units as they are, which SmolVLA is hardly ever trained on"
        )];
    }
    if ranges.len() != JOINT_COUNT {
        return Vec::new();
    }
    let (body, gripper) = ranges.split_at(Joint::Gripper.index());
    let mut words = Vec::new();
    if body
        .iter()
        .all(|range| range.low.abs().max(range.high.abs()) <= RADIANS)
    {
        words.push(format!(
            "the statistics of {what} stay within {RADIANS} on every body joint: radians or normalised values rather than degrees, so that the arm would hardly move"
        ));
    }
    if let [gripper] = gripper
        && (gripper.low < -60.0 || gripper.high > 160.0)
    {
        words.push(format!(
            "the gripper of {what} goes from {:.0} to {:.0}: not percent open, so that it was recorded in other units",
            gripper.low, gripper.high
        ));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(values: [(f32, f32); JOINT_COUNT]) -> Vec<Range> {
        let joints = Joint::ALL.iter().zip(values);
        let range = |(joint, (low, high)): (&Joint, (f32, f32))| Range {
            name: joint.to_string(),
            low,
            high,
        };
        joints.map(range).collect()
    }

    #[test]
    fn ranges_come_from_either_kind_of_statistics() {
        let names = vec!["a".to_owned()];
        let spread = Normalizer::MeanStd {
            mean: vec![10.0],
            std: vec![2.0],
            eps: 1e-8,
        };
        let bounds = Normalizer::Bounds {
            low: vec![-5.0],
            span: vec![15.0],
        };
        let pair = |ranges: Vec<Range>| (ranges[0].low, ranges[0].high);
        assert_eq!(pair(ranges(&spread, &names)), (6.0, 14.0));
        assert_eq!(pair(ranges(&bounds, &names)), (-5.0, 10.0));
        assert!(ranges(&Normalizer::Identity, &names).is_empty());
    }

    #[test]
    fn degrees_and_percent_raise_no_doubt() {
        // The published statistics of so100: mean and two standard deviations.
        let so100 = named([
            (-51.2, 54.4),
            (15.1, 224.8),
            (19.8, 199.8),
            (-17.3, 130.7),
            (-146.1, 91.3),
            (-26.1, 50.1),
        ]);
        assert!(doubts("action", &so100).is_empty());
    }

    #[test]
    fn radians_and_other_units_are_doubted() {
        let radians = named([(-1.5, 1.5); JOINT_COUNT]);
        assert!(doubts("action", &radians)[0].contains("radians"));
        let mut wide = [(-60.0, 60.0); JOINT_COUNT];
        wide[5] = (-180.0, 180.0);
        assert!(doubts("action", &named(wide))[0].contains("gripper"));
        assert!(doubts("action", &[])[0].contains("not normalised"));
    }
}
