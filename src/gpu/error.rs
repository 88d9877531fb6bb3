//! Why no device could be opened, and the way out.

/// A device that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `--device` names nothing that exists.
    #[error("`{0}` is no device; choose auto, flex, wgpu, gpu:N or software")]
    Unknown(String),
    /// There is no adapter of the kind that was asked for.
    #[error("no {wanted} was found ({seen}); `--device flex` computes on the CPU without a driver")]
    Absent {
        /// What was asked for.
        wanted: String,
        /// What is there instead.
        seen: String,
    },
    /// The adapter cannot hold the network.
    #[error("{adapter} will not do: {why}; `--device flex` computes on the CPU")]
    TooSmall {
        /// Its name.
        adapter: String,
        /// The limit that falls short.
        why: String,
    },
    /// The device does not compute the way that was asked for.
    #[error("{0}")]
    Arithmetic(String),
    /// The driver refused or failed.
    #[error("{adapter} could not be opened: {reason}; update its driver, or use `--device flex`")]
    Driver {
        /// The adapter's name.
        adapter: String,
        /// What the driver said.
        reason: String,
    },
}
