//! Every tensor that a SmolVLA network of given sizes has on disk: the one list that reading, checking and writing share.

use super::Architecture;

/// Where the parts of the network live in a LeRobot checkpoint.
pub const VLM: &str = "model.vlm_with_expert.vlm.model";
/// The action expert.
pub const EXPERT: &str = "model.vlm_with_expert.lm_expert";
/// The head that predicts words; SmolVLA predicts none.
pub const LM_HEAD: &str = "model.vlm_with_expert.vlm.lm_head.weight";

/// One tensor of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorSpec {
    pub name: String,
    /// Sizes, outermost first.
    pub shape: Vec<usize>,
    /// The network reads it. LeRobot also saves a few that no action depends on; those may be absent.
    pub read: bool,
    /// Stored as BF16 in `lerobot/smolvla_base`. The projections around the expert and the expert's cross-attention
    /// keys and values are F32 there, because LeRobot creates them after the cast.
    pub bf16: bool,
}

/// All tensors of a network, sorted by name; 500 for the 450M model.
pub fn tensor_table(arch: &Architecture) -> Vec<TensorSpec> {
    let mut table = Table(Vec::new());
    vision(&mut table, arch);
    vlm(&mut table, arch);
    expert(&mut table, arch);
    projections(&mut table, arch);
    table.0.sort_by(|a, b| a.name.cmp(&b.name));
    table.0
}

/// True when layer `index` (of the VLM or of the expert, each by its own count) is a self-attention layer.
pub fn is_self_attention(arch: &Architecture, index: usize) -> bool {
    let every = arch.self_attn_every_n_layers;
    !arch.cross_attention || (every > 0 && index.is_multiple_of(every.unsigned_abs() as usize))
}

struct Table(Vec<TensorSpec>);

impl Table {
    fn add(&mut self, name: String, shape: &[usize]) -> &mut TensorSpec {
        self.0.push(TensorSpec {
            name,
            shape: shape.to_vec(),
            read: true,
            bf16: true,
        });
        let last = self.0.len() - 1;
        &mut self.0[last]
    }

    /// A linear layer with bias, `[out, in]`.
    fn linear(&mut self, name: &str, out: usize, input: usize) {
        self.add(format!("{name}.weight"), &[out, input]);
        self.add(format!("{name}.bias"), &[out]);
    }

    fn norm(&mut self, name: &str, width: usize) {
        self.add(format!("{name}.weight"), &[width]);
        self.add(format!("{name}.bias"), &[width]);
    }
}

fn vision(table: &mut Table, arch: &Architecture) {
    let v = &arch.vision;
    let root = format!("{VLM}.vision_model");
    let grid = v.image_size / v.patch_size;
    let patch = format!("{root}.embeddings.patch_embedding");
    table.add(
        format!("{patch}.weight"),
        &[v.hidden_size, 3, v.patch_size, v.patch_size],
    );
    table.add(format!("{patch}.bias"), &[v.hidden_size]);
    table.add(
        format!("{root}.embeddings.position_embedding.weight"),
        &[grid * grid, v.hidden_size],
    );
    for layer in 0..v.num_layers {
        let at = format!("{root}.encoder.layers.{layer}");
        table.norm(&format!("{at}.layer_norm1"), v.hidden_size);
        table.norm(&format!("{at}.layer_norm2"), v.hidden_size);
        for proj in ["q_proj", "k_proj", "v_proj", "out_proj"] {
            table.linear(
                &format!("{at}.self_attn.{proj}"),
                v.hidden_size,
                v.hidden_size,
            );
        }
        table.linear(&format!("{at}.mlp.fc1"), v.intermediate_size, v.hidden_size);
        table.linear(&format!("{at}.mlp.fc2"), v.hidden_size, v.intermediate_size);
    }
    table.norm(&format!("{root}.post_layernorm"), v.hidden_size);
    table.add(
        format!("{VLM}.connector.modality_projection.proj.weight"),
        &[
            arch.hidden_size,
            v.hidden_size * arch.scale_factor * arch.scale_factor,
        ],
    );
}

fn vlm(table: &mut Table, arch: &Architecture) {
    let h = arch.hidden_size;
    let words = [arch.vocab_size, h];
    table.add(format!("{VLM}.text_model.embed_tokens.weight"), &words);
    table
        .add(format!("{VLM}.text_model.norm.weight"), &[h])
        .read = false;
    table.add(LM_HEAD.to_owned(), &words).read = false;
    for layer in 0..arch.num_vlm_layers {
        let at = format!("{VLM}.text_model.layers.{layer}");
        llama_layer(table, arch, &at, h, arch.intermediate_size, h);
    }
}

fn expert(table: &mut Table, arch: &Architecture) {
    let e = arch.expert_hidden_size;
    table.add(format!("{EXPERT}.norm.weight"), &[e]);
    for layer in 0..arch.num_expert_layers {
        let at = format!("{EXPERT}.layers.{layer}");
        // A cross layer projects the VLM's keys and values instead of its own hidden state.
        let own = is_self_attention(arch, layer);
        let kv_in = if own {
            e
        } else {
            arch.num_key_value_heads * arch.head_dim
        };
        llama_layer(table, arch, &at, e, arch.expert_intermediate_size, kv_in);
        if !own {
            let tail = table.0.len() - 2;
            table.0[tail..]
                .iter_mut()
                .for_each(|spec| spec.bf16 = false);
        }
    }
}

/// One Llama layer of width `width`; its key and value projections come last.
fn llama_layer(
    table: &mut Table,
    arch: &Architecture,
    at: &str,
    width: usize,
    mlp: usize,
    kv_in: usize,
) {
    let queries = arch.num_attention_heads * arch.head_dim;
    let keys = arch.num_key_value_heads * arch.head_dim;
    table.add(format!("{at}.input_layernorm.weight"), &[width]);
    table.add(format!("{at}.post_attention_layernorm.weight"), &[width]);
    table.add(format!("{at}.mlp.gate_proj.weight"), &[mlp, width]);
    table.add(format!("{at}.mlp.up_proj.weight"), &[mlp, width]);
    table.add(format!("{at}.mlp.down_proj.weight"), &[width, mlp]);
    table.add(format!("{at}.self_attn.q_proj.weight"), &[queries, width]);
    table.add(format!("{at}.self_attn.o_proj.weight"), &[width, queries]);
    table.add(format!("{at}.self_attn.k_proj.weight"), &[keys, kv_in]);
    table.add(format!("{at}.self_attn.v_proj.weight"), &[keys, kv_in]);
}

fn projections(table: &mut Table, arch: &Architecture) {
    let e = arch.expert_hidden_size;
    let first = table.0.len();
    table.linear("model.state_proj", arch.hidden_size, arch.max_state_dim);
    table.linear("model.action_in_proj", e, arch.max_action_dim);
    table.linear("model.action_out_proj", arch.max_action_dim, e);
    table.linear("model.action_time_mlp_in", e, 2 * e);
    table.linear("model.action_time_mlp_out", e, e);
    table.0[first..]
        .iter_mut()
        .for_each(|spec| spec.bf16 = false);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::geometry::smolvla_base;

    /// Numbers of `lerobot/smolvla_base`: 500 tensors, 450 046 176 parameters, 26 of the tensors F32.
    #[test]
    fn the_full_network_has_the_published_inventory() {
        let table = tensor_table(&smolvla_base());
        let parameters: usize = table
            .iter()
            .map(|t| t.shape.iter().product::<usize>())
            .sum();
        assert_eq!(table.len(), 500);
        assert_eq!(parameters, 450_046_176);
        assert_eq!(table.iter().filter(|t| !t.bf16).count(), 26);
        assert_eq!(table.iter().filter(|t| !t.read).count(), 2);
        let cross = format!("{EXPERT}.layers.1.self_attn.k_proj.weight");
        let cross = table.iter().find(|t| t.name == cross).unwrap();
        assert_eq!(
            (cross.shape.as_slice(), cross.bf16),
            (&[320, 320][..], false)
        );
    }
}
