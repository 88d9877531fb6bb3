//! A network small enough to run on any device in a moment, with every kind of layer: for the self-test and for tests.

use crate::policy::{Architecture, ImageInput, NetworkInput, VisionArchitecture};

/// Two cameras of 64 pixels, grouped heads, self- and cross-attention, widths that are no powers of two.
pub fn architecture() -> Architecture {
    Architecture {
        vision: VisionArchitecture {
            hidden_size: 48,
            intermediate_size: 96,
            num_layers: 2,
            num_heads: 3,
            patch_size: 8,
            image_size: 64,
            layer_norm_eps: 1e-6,
        },
        scale_factor: 4,
        hidden_size: 96,
        intermediate_size: 160,
        vocab_size: 64,
        num_attention_heads: 6,
        num_key_value_heads: 2,
        head_dim: 16,
        num_vlm_layers: 4,
        expert_hidden_size: 72,
        expert_intermediate_size: 128,
        num_expert_layers: 4,
        self_attn_every_n_layers: 2,
        cross_attention: true,
        rms_norm_eps: 1e-5,
        chunk_size: 10,
        max_state_dim: 32,
        max_action_dim: 32,
        add_image_special_tokens: false,
        fake_image_token: 1,
        global_image_token: 2,
        prefix_length: 0,
        min_period: 4e-3,
        max_period: 4.0,
        num_steps: 3,
    }
}

/// Something smooth but not regular to look at, read and start from; the same on every machine.
pub fn input(architecture: &Architecture, batch: usize) -> NetworkInput {
    let edge = architecture.vision.image_size;
    let wave = |count: usize, pace: f32, size: f32| -> Vec<f32> {
        (0..count).map(|i| (i as f32 * pace).sin() * size).collect()
    };
    let image = |camera: usize| ImageInput {
        height: edge,
        width: edge,
        pixels: wave(batch * 3 * edge * edge, 0.37 + camera as f32 * 0.11, 0.9),
        present: vec![true; batch],
    };
    let words = architecture.vocab_size as u32;
    NetworkInput {
        batch,
        images: vec![image(0), image(1)],
        tokens: (0..batch as u32)
            .map(|sample| {
                (0..6 + sample)
                    .map(|i| (7 * i + 3 + sample) % words)
                    .collect()
            })
            .collect(),
        state: wave(batch * architecture.max_state_dim, 0.9, 1.2),
        noise: wave(
            batch * architecture.chunk_size * architecture.max_action_dim,
            1.7,
            1.4,
        ),
    }
}
