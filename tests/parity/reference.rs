//! The reference tensors and tiny checkpoints that LeRobot 0.6.1 wrote, as the tests need them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use half::bf16;
use safetensors::{Dtype, SafeTensors};
use serde_json::Value;
use smolpilot::policy::{
    Architecture, HostTensor, ImageInput, NetworkInput, TensorSource, VisionArchitecture,
};

/// A safetensors file read whole.
pub struct File(Vec<u8>);

impl File {
    /// A file under `tests/golden`.
    pub fn open(path: &str) -> Self {
        Self::at(golden(path))
    }

    /// A file anywhere.
    pub fn at(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        Self(std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    fn tensors(&self) -> SafeTensors<'_> {
        SafeTensors::deserialize(&self.0).unwrap()
    }

    pub fn has(&self, name: &str) -> bool {
        self.tensors().tensor(name).is_ok()
    }

    /// Shape and values of a floating-point or byte tensor.
    pub fn get(&self, name: &str) -> HostTensor {
        self.tensor(name).unwrap()
    }

    /// Values of an integer tensor.
    pub fn integers(&self, name: &str) -> Vec<i64> {
        let tensors = self.tensors();
        let tensor = tensors.tensor(name).unwrap();
        assert_eq!(tensor.dtype(), Dtype::I64, "{name}");
        let (words, _) = tensor.data().as_chunks::<8>();
        words.iter().map(|word| i64::from_le_bytes(*word)).collect()
    }

    /// Values of a 0/1 tensor.
    pub fn flags(&self, name: &str) -> Vec<bool> {
        self.get(name)
            .values
            .iter()
            .map(|&flag| flag != 0.0)
            .collect()
    }
}

impl TensorSource for File {
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .tensors()
            .names()
            .into_iter()
            .map(str::to_owned)
            .collect();
        names.sort();
        names
    }

    fn shape(&self, name: &str) -> Option<Vec<usize>> {
        let tensors = self.tensors();
        tensors
            .tensor(name)
            .ok()
            .map(|tensor| tensor.shape().to_vec())
    }

    fn tensor(&self, name: &str) -> anyhow::Result<HostTensor> {
        let tensors = self.tensors();
        let tensor = tensors.tensor(name).with_context(|| name.to_owned())?;
        let bytes = tensor.data();
        let values = match tensor.dtype() {
            Dtype::F32 => bytes
                .as_chunks::<4>()
                .0
                .iter()
                .map(|b| f32::from_le_bytes(*b))
                .collect(),
            Dtype::F64 => {
                let words = bytes.as_chunks::<8>().0.iter();
                words.map(|b| f64::from_le_bytes(*b) as f32).collect()
            }
            Dtype::BF16 => {
                let words = bytes.as_chunks::<2>().0.iter();
                words.map(|b| bf16::from_le_bytes(*b).to_f32()).collect()
            }
            Dtype::U8 => bytes.iter().map(|&b| f32::from(b)).collect(),
            other => anyhow::bail!("{name} is {other:?}"),
        };
        let shape = tensor.shape().to_vec();
        Ok(HostTensor { shape, values })
    }
}

/// One tiny checkpoint with its goldens.
pub struct Case {
    pub name: &'static str,
    pub architecture: Architecture,
    pub checkpoint: File,
    pub golden: File,
    pub input: NetworkInput,
    /// Word padding of the reference run.
    pub language_length: usize,
    pub action_dim: usize,
}

impl Case {
    pub fn open(name: &'static str) -> Self {
        let config = json(&format!("{name}/checkpoint/config.json"));
        let vlm = json(&format!("{name}/vlm/config.json"));
        let checkpoint = File::open(&format!("{name}/checkpoint/model.safetensors"));
        let golden = File::open(&format!("{name}/golden.safetensors"));
        let architecture = architecture(&config, &vlm, &checkpoint, &golden_path_tokenizer(name));
        let input = input(&golden);
        Self {
            name,
            language_length: golden.get("pre.lang_mask").shape[1],
            action_dim: golden.get("out.actions").shape[2],
            architecture,
            checkpoint,
            golden,
            input,
        }
    }
}

fn golden(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(path)
}

fn json(path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(golden(path)).unwrap()).unwrap()
}

fn golden_path_tokenizer(name: &str) -> Value {
    json(&format!("{name}/vlm/tokenizer.json"))
}

fn token_id(tokenizer: &Value, content: &str) -> u32 {
    let added = tokenizer["added_tokens"].as_array().unwrap();
    let token = added.iter().find(|token| token["content"] == content);
    token.map_or(0, |token| size(&token["id"]) as u32)
}

fn size(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

fn architecture(config: &Value, vlm: &Value, file: &File, tokenizer: &Value) -> Architecture {
    let (text, eyes) = (&vlm["text_config"], &vlm["vision_config"]);
    let layers = |part: &str| {
        let names = file.names();
        let numbers = names
            .iter()
            .filter_map(|name| name.split_once(part)?.1.split('.').next()?.parse().ok());
        numbers.max().map_or(0, |last: usize| last + 1)
    };
    let expert = "model.vlm_with_expert.lm_expert";
    Architecture {
        vision: VisionArchitecture {
            hidden_size: size(&eyes["hidden_size"]),
            intermediate_size: size(&eyes["intermediate_size"]),
            num_layers: size(&eyes["num_hidden_layers"]),
            num_heads: size(&eyes["num_attention_heads"]),
            patch_size: size(&eyes["patch_size"]),
            image_size: size(&eyes["image_size"]),
            layer_norm_eps: 1e-6,
        },
        scale_factor: size(&vlm["scale_factor"]),
        hidden_size: size(&text["hidden_size"]),
        intermediate_size: size(&text["intermediate_size"]),
        vocab_size: size(&text["vocab_size"]),
        num_attention_heads: size(&text["num_attention_heads"]),
        num_key_value_heads: size(&text["num_key_value_heads"]),
        head_dim: size(&text["head_dim"]),
        num_vlm_layers: layers("text_model.layers."),
        expert_hidden_size: file.shape(&format!("{expert}.norm.weight")).unwrap()[0],
        expert_intermediate_size: file
            .shape(&format!("{expert}.layers.0.mlp.gate_proj.weight"))
            .unwrap()[0],
        num_expert_layers: layers("lm_expert.layers."),
        self_attn_every_n_layers: config["self_attn_every_n_layers"].as_i64().unwrap(),
        cross_attention: config["attention_mode"].as_str().unwrap().contains("cross"),
        rms_norm_eps: text["rms_norm_eps"].as_f64().unwrap(),
        chunk_size: size(&config["chunk_size"]),
        max_state_dim: size(&config["max_state_dim"]),
        max_action_dim: size(&config["max_action_dim"]),
        add_image_special_tokens: config["add_image_special_tokens"].as_bool().unwrap(),
        fake_image_token: token_id(tokenizer, "<fake_token_around_image>"),
        global_image_token: token_id(tokenizer, "<global-img>"),
        prefix_length: config["prefix_length"].as_i64().unwrap(),
        min_period: config["min_period"].as_f64().unwrap(),
        max_period: config["max_period"].as_f64().unwrap(),
        num_steps: size(&config["num_steps"]),
    }
}

/// The reference's own preprocessed tensors. A picture that was only a blank has no tensor: it is missing.
fn input(golden: &File) -> NetworkInput {
    let state = golden.get("pre.state_padded");
    let batch = state.shape[0];
    let mut images = Vec::new();
    for camera in (0..).take_while(|i| golden.has(&format!("pre.image_mask.{i}"))) {
        let present = golden.flags(&format!("pre.image_mask.{camera}"));
        let name = format!("pre.image.{camera}");
        let (height, width, pixels) = if golden.has(&name) {
            let image = golden.get(&name);
            (image.shape[2], image.shape[3], image.values)
        } else {
            let first = golden.get("pre.image.0");
            (first.shape[2], first.shape[3], Vec::new())
        };
        images.push(ImageInput {
            height,
            width,
            pixels,
            present,
        });
    }
    let tokens = golden.integers("pre.lang_tokens");
    let mask = golden.flags("pre.lang_mask");
    let width = tokens.len() / batch;
    let prompt = |sample: usize| {
        let range = sample * width..(sample + 1) * width;
        let valid = tokens[range.clone()]
            .iter()
            .zip(&mask[range])
            .filter(|(_, valid)| **valid);
        valid
            .map(|(token, _)| u32::try_from(*token).unwrap())
            .collect()
    };
    NetworkInput {
        batch,
        images,
        tokens: (0..batch).map(prompt).collect(),
        state: state.values,
        noise: golden.get("in.noise").values,
    }
}
