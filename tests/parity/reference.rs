//! The reference tensors and tiny checkpoints that LeRobot 0.6.1 wrote, as the tests need them.

use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};
use smolpilot::policy::checkpoint::Checkpoint;
use smolpilot::policy::{self, Architecture, HostTensor, ImageInput, LoadRequest, NetworkInput};

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

    /// All names.
    pub fn names(&self) -> Vec<String> {
        let tensors = self.tensors();
        tensors.names().into_iter().map(str::to_owned).collect()
    }

    /// Shape and values of a floating-point or byte tensor.
    pub fn get(&self, name: &str) -> HostTensor {
        let tensors = self.tensors();
        let tensor = tensors
            .tensor(name)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let bytes = tensor.data();
        let values = match tensor.dtype() {
            Dtype::F32 => {
                let words = bytes.as_chunks::<4>().0.iter();
                words.map(|word| f32::from_le_bytes(*word)).collect()
            }
            Dtype::U8 => bytes.iter().map(|&byte| f32::from(byte)).collect(),
            other => panic!("{name} is {other:?}"),
        };
        HostTensor {
            shape: tensor.shape().to_vec(),
            values,
        }
    }

    /// The tasks in words, one a sample.
    pub fn tasks(&self) -> Vec<String> {
        let (_, header) = SafeTensors::read_metadata(&self.0).unwrap();
        let metadata = header.metadata().clone().unwrap();
        serde_json::from_str(&metadata["tasks"]).unwrap()
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

/// One tiny checkpoint with its goldens.
pub struct Case {
    pub name: &'static str,
    pub architecture: Architecture,
    pub checkpoint: Checkpoint,
    /// How the whole policy is asked for.
    pub request: LoadRequest,
    pub golden: File,
    pub input: NetworkInput,
    /// Word padding of the reference run.
    pub language_length: usize,
    pub action_dim: usize,
}

impl Case {
    pub fn open(name: &'static str) -> Self {
        let directory = golden(&format!("{name}/checkpoint"));
        let request = LoadRequest {
            source: directory.display().to_string(),
            stats: None,
        };
        let inspected = policy::inspect(&request, &mut |_| ()).unwrap();
        let checkpoint = Checkpoint::open(&directory).unwrap();
        let golden = File::open(&format!("{name}/golden.safetensors"));
        let input = input(&golden);
        Self {
            name,
            language_length: golden.get("pre.lang_mask").shape[1],
            action_dim: golden.get("out.actions").shape[2],
            architecture: inspected.architecture.clone(),
            checkpoint,
            request,
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
