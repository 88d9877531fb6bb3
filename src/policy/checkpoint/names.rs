//! How tensor names in older and other files become the names of LeRobot 0.6.1.

use super::super::tensor_table::VLM;

/// Pieces that wrappers leave in names, and why they are there. Each is removed wherever it stands as a whole part.
const WRAPPERS: [(&str, &str); 2] = [
    (
        "_orig_mod",
        "the policy was saved while compiled with torch.compile",
    ),
    (
        "module",
        "the policy was saved inside a DistributedDataParallel wrapper",
    ),
];

/// Beginnings of tensors that old LeRobot versions (0.3 and before) kept in the weights: statistics.
const STATISTICS: [&str; 3] = [
    "normalize_inputs.",
    "normalize_targets.",
    "unnormalize_outputs.",
];

/// What a tensor of a file is to us.
#[derive(Debug, PartialEq, Eq)]
pub enum Named {
    /// A weight, by its present name.
    Weight(String),
    /// A statistic of an old layout, by its name in the file.
    Statistic(String),
    /// A buffer that old versions of transformers saved and nobody reads.
    Ignored,
}

/// Sorts one name of a file.
pub fn sort(raw: &str) -> Named {
    let name = raw
        .split('.')
        .filter(|part| WRAPPERS.iter().all(|(wrapper, _)| part != wrapper))
        .collect::<Vec<_>>()
        .join(".");
    if STATISTICS.iter().any(|start| name.starts_with(start)) {
        return Named::Statistic(name);
    }
    // Constants that follow from the sizes; transformers before 4.31 saved them.
    let constant = name.ends_with("rotary_emb.inv_freq")
        || name == format!("{VLM}.vision_model.embeddings.position_ids");
    if constant {
        return Named::Ignored;
    }
    Named::Weight(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_go_and_statistics_are_set_apart() {
        let weight = |name: &str| Named::Weight(name.into());
        assert_eq!(
            sort("model.state_proj.bias"),
            weight("model.state_proj.bias")
        );
        assert_eq!(
            sort("model._orig_mod.state_proj.bias"),
            weight("model.state_proj.bias")
        );
        assert_eq!(
            sort("_orig_mod.module.model.state_proj.bias"),
            weight("model.state_proj.bias")
        );
        assert_eq!(
            sort("normalize_inputs.so100-blue_buffer_observation_state.mean"),
            Named::Statistic("normalize_inputs.so100-blue_buffer_observation_state.mean".into())
        );
        assert_eq!(
            sort(
                "model.vlm_with_expert.vlm.model.text_model.layers.0.self_attn.rotary_emb.inv_freq"
            ),
            Named::Ignored
        );
        assert_eq!(sort("lm_module.x"), weight("lm_module.x"));
    }
}
