//! What can go wrong in the network: a tensor that does not fit, an input that does not fit, a device that fails.

/// Why the network could not be loaded or run.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// The checkpoint lacks a tensor or cannot give its values.
    #[error("tensor {name}: {source}")]
    Tensor {
        /// Name in the checkpoint.
        name: String,
        /// What the source said.
        source: anyhow::Error,
    },
    /// A tensor has another shape than the architecture says.
    #[error(
        "tensor {name} has shape {found:?}, but the architecture needs {expected:?}; config.json and \
         model.safetensors do not belong together"
    )]
    Shape {
        /// Name in the checkpoint.
        name: String,
        /// Shape that the architecture needs.
        expected: Vec<usize>,
        /// Shape in the checkpoint.
        found: Vec<usize>,
    },
    /// A tensor cannot be held the way that was asked for.
    #[error("tensor {name}: {reason}")]
    Packing {
        /// Name in the checkpoint.
        name: String,
        /// What does not fit, and the way out.
        reason: String,
    },
    /// Sizes and switches that contradict each other.
    #[error("the architecture does not hold together: {0}")]
    Architecture(String),
    /// Sizes that are sound, but not for own kernels.
    #[error("own kernels do not take this network: {0}; `--kernels burn` takes any")]
    Kernels(String),
    /// What the network was given does not fit it.
    #[error("network input: {0}")]
    Input(String),
    /// The device could not compute or give back values.
    #[error("the device failed while computing {stage}: {reason}")]
    Device {
        /// What was being computed.
        stage: String,
        /// What the device said.
        reason: String,
    },
    /// The network answered with something that is not a number.
    #[error(
        "the network's actions are not numbers (element {index} of {count}); the device or the checkpoint is broken, \
         try `--device flex` to tell which"
    )]
    Poisoned {
        /// First bad element.
        index: usize,
        /// Elements in the answer.
        count: usize,
    },
}

impl From<crate::gpu::compute::Error> for NetworkError {
    fn from(error: crate::gpu::compute::Error) -> Self {
        Self::Device {
            stage: error.what,
            reason: error.reason,
        }
    }
}

/// Result of the network's own functions.
pub type Result<T, E = NetworkError> = std::result::Result<T, E>;
