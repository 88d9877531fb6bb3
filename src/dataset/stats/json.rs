//! Statistics as `meta/stats.json` holds them.

use serde_json::{Map, Value, json};

use super::{FeatureStats, QUANTILES, Stats};
use crate::dataset::schema::Features;

/// `{feature: {min, max, mean, std, count, q01, ...}}`; cameras as `[[[red]], [[green]], [[blue]]]`.
pub fn to_json(stats: &Stats, features: &Features) -> Value {
    let features = stats.iter().map(|(name, stats)| {
        let picture = features
            .get(name)
            .is_some_and(|feature| feature.dtype.is_picture());
        let value = |values: &Vec<f64>| {
            if picture {
                values.iter().map(|&value| json!([[value]])).collect()
            } else {
                json!(values)
            }
        };
        let mut entry = Map::new();
        entry.insert("min".to_owned(), value(&stats.min));
        entry.insert("max".to_owned(), value(&stats.max));
        entry.insert("mean".to_owned(), value(&stats.mean));
        entry.insert("std".to_owned(), value(&stats.std));
        entry.insert("count".to_owned(), json!([stats.count]));
        for ((quantile, _), values) in QUANTILES.iter().zip(stats.quantiles.iter().flatten()) {
            entry.insert((*quantile).to_owned(), value(values));
        }
        (name.clone(), Value::Object(entry))
    });
    Value::Object(features.collect())
}

/// Reads what [`to_json`] writes, nested however deep. `None` when it is something else.
pub fn from_json(value: &Value) -> Option<Stats> {
    let features = value.as_object()?.iter();
    features
        .map(|(name, entry)| Some((name.clone(), feature_from_json(entry)?)))
        .collect()
}

fn feature_from_json(entry: &Value) -> Option<FeatureStats> {
    let values = |name: &str| {
        let mut flat = vec![];
        flatten(entry.get(name)?, &mut flat)?;
        Some(flat)
    };
    let quantiles = QUANTILES.map(|(name, _)| values(name));
    Some(FeatureStats {
        min: values("min")?,
        max: values("max")?,
        mean: values("mean")?,
        std: values("std")?,
        // Data sets before v2.1 have no count.
        count: values("count")
            .and_then(|count| count.first().copied())
            .unwrap_or(0.0) as u64,
        quantiles: match quantiles {
            [Some(q01), Some(q10), Some(q50), Some(q90), Some(q99)] => {
                Some([q01, q10, q50, q90, q99])
            }
            _ => None,
        },
    })
}

fn flatten(value: &Value, into: &mut Vec<f64>) -> Option<()> {
    match value {
        Value::Array(values) => values.iter().try_for_each(|value| flatten(value, into)),
        value => {
            into.push(value.as_f64()?);
            Some(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::schema::{Dtype, Feature};

    #[test]
    fn statistics_go_there_and_back() {
        let mut features = Features::default();
        features.push("action", Feature::vector(Dtype::Float32, 2, None));
        features.push("observation.images.front", Feature::video(4, 2, Map::new()));
        let of = |values: Vec<f64>| FeatureStats {
            min: values.clone(),
            max: values.clone(),
            mean: values.clone(),
            std: values.clone(),
            count: 7,
            quantiles: Some([1, 2, 3, 4, 5].map(|_| values.clone())),
        };
        let stats = vec![
            ("action".to_owned(), of(vec![1.5, -2.0])),
            (
                "observation.images.front".to_owned(),
                of(vec![0.25, 0.5, 1.0]),
            ),
        ];
        let json = to_json(&stats, &features);
        assert_eq!(json["action"]["q99"], json!([1.5, -2.0]));
        assert_eq!(
            json["observation.images.front"]["mean"],
            json!([[[0.25]], [[0.5]], [[1.0]]])
        );
        assert_eq!(json["action"]["count"], json!([7]));
        assert_eq!(from_json(&json).unwrap(), stats);
        assert_eq!(from_json(&json!({"action": {"min": "x"}})), None);
    }
}
