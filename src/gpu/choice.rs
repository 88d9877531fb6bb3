//! What the operator may ask for with `--device`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::Error;

/// A wish for a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DeviceChoice {
    /// The best hardware GPU, or else the CPU.
    #[default]
    Auto,
    /// The best hardware GPU, or else an error.
    Wgpu,
    /// The CPU, through Burn's own kernels.
    Flex,
    /// The adapter of that number in [`super::adapters`], software or not.
    Gpu(usize),
    /// A software adapter (lavapipe, WARP): slow, for tests.
    Software,
}

impl FromStr for DeviceChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let unknown = || Error::Unknown(text.to_owned());
        match text.to_ascii_lowercase().as_str() {
            "auto" => Ok(Self::Auto),
            "wgpu" => Ok(Self::Wgpu),
            "flex" | "cpu" => Ok(Self::Flex),
            "software" => Ok(Self::Software),
            other => {
                let number = other.strip_prefix("gpu:").and_then(|n| n.parse().ok());
                number.map(Self::Gpu).ok_or_else(unknown)
            }
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Wgpu => f.write_str("wgpu"),
            Self::Flex => f.write_str("flex"),
            Self::Gpu(number) => write!(f, "gpu:{number}"),
            Self::Software => f.write_str("software"),
        }
    }
}

impl TryFrom<String> for DeviceChoice {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<DeviceChoice> for String {
    fn from(choice: DeviceChoice) -> Self {
        choice.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_choices_go_both_ways() {
        for text in ["auto", "wgpu", "flex", "gpu:3", "software"] {
            assert_eq!(text.parse::<DeviceChoice>().unwrap().to_string(), text);
        }
        assert_eq!("CPU".parse::<DeviceChoice>().unwrap(), DeviceChoice::Flex);
        for text in ["", "gpu", "gpu:", "gpu:-1", "cuda"] {
            assert!(text.parse::<DeviceChoice>().is_err(), "{text}");
        }
    }
}
