//! Configurations as they are found: old, partial, of another policy, damaged.

use super::*;

const MINIMAL: &str = r#"{"type": "smolvla", "from_the_future": {"a": 1},
    "input_features": {
        "observation.image2": {"type": "VISUAL", "shape": [3, 256, 256]},
        "observation.state": {"type": "STATE", "shape": [6]},
        "observation.image": {"type": "VISUAL", "shape": [3, 256, 256]},
        "observation.environment_state": {"type": "ENV", "shape": [2]}},
    "output_features": {"action": {"type": "ACTION", "shape": [6]}}}"#;

fn with(change: &str) -> Result<Config, Error> {
    let text = MINIMAL.replacen('{', &format!("{{{change},"), 1);
    Config::parse(&text, Path::new("x/config.json"))
}

#[test]
fn absent_fields_take_the_defaults_and_cameras_keep_their_order() {
    let config = Config::parse(MINIMAL, Path::new("config.json")).unwrap();
    assert_eq!(
        config.cameras(),
        ["observation.image2", "observation.image"]
    );
    assert_eq!((config.state_dim(), config.action_dim()), (6, 6));
    assert_eq!(config.chunk_size, 50);
    assert_eq!(config.resize_imgs_with_padding, Some((512, 512)));
    assert_eq!(config.normalization_mapping, Modes::default());
    assert!(config.cross_attention());
}

#[test]
fn what_cannot_run_is_refused_in_words() {
    let cases = [
        (r#""n_action_steps": 60"#, "n_action_steps 60"),
        (r#""resize_imgs_with_padding": [512, 384]"#, "square"),
        (
            r#""use_delta_joint_actions_aloha": true"#,
            "never implemented",
        ),
        (r#""attention_mode": "flash""#, "`flash` is unknown"),
        (r#""max_state_dim": 4"#, "max_state_dim 4"),
        (r#""max_action_dim": 5"#, "max_action_dim 5"),
        (r#""adapt_to_pi_aloha": true"#, "14 joints"),
        (r#""num_steps": 0"#, "num_steps is 0"),
        (r#""num_steps": 51"#, "num_steps is 51"),
        (r#""chunk_size": 1000000000"#, "chunk_size is 1000000000"),
        (r#""max_state_dim": 100000"#, "max_state_dim is 100000"),
        (r#""max_action_dim": 100000"#, "max_action_dim is 100000"),
        (r#""empty_cameras": 1000"#, "empty_cameras is 1000"),
        (r#""tokenizer_max_length": 8193"#, "length is 8193"),
        (
            r#""num_vlm_layers": 4611686018427387904"#,
            "num_vlm_layers is",
        ),
        (r#""num_expert_layers": 513"#, "num_expert_layers is 513"),
    ];
    for (change, words) in cases {
        let text = with(change).unwrap_err().to_string();
        assert!(text.contains(words), "{change}: {text}");
        assert!(text.contains("x/config.json"), "{text}");
    }
    let other = MINIMAL.replace("smolvla", "pi0");
    let text = Config::parse(&other, Path::new("c"))
        .unwrap_err()
        .to_string();
    assert!(text.contains("`pi0` policy"), "{text}");
}

/// 2^63 + 3 times 2 is 6 in 64 bits, which would pass for an SO-101.
#[test]
fn a_shape_beyond_counting_does_not_wrap_to_a_small_one() {
    let text = MINIMAL.replacen("[6]", "[9223372036854775811, 2]", 1);
    let err = Config::parse(&text, Path::new("c")).unwrap_err();
    assert!(err.to_string().contains("more than max_state_dim"), "{err}");
}

#[test]
fn a_partial_normalization_map_leaves_the_rest_alone() {
    let config = with(r#""normalization_mapping": {"ACTION": "MIN_MAX"}"#).unwrap();
    assert_eq!(config.normalization_mapping.action, Mode::MinMax);
    assert_eq!(config.normalization_mapping.state, Mode::Identity);
}

#[test]
fn placeholders_of_empty_cameras_are_no_cameras() {
    let text = MINIMAL.replace("observation.image2", "observation.images.empty_camera_0");
    let mut config = Config::parse(&text, Path::new("c")).unwrap();
    assert_eq!(config.cameras().len(), 2);
    config.empty_cameras = 1;
    assert_eq!(config.cameras(), ["observation.image"]);
}
