//! Remembers which adapters passed the self-test, so that it is paid once a driver and not once a start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Passed;
use crate::gpu::OpenedDevice;

/// The file of verdicts. Only passes are kept: what failed is tested again, because drivers get better.
#[derive(Clone, Debug, Default)]
pub struct Verdicts {
    path: Option<PathBuf>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Entry {
    stages: usize,
    worst: String,
    error: f32,
}

type Entries = BTreeMap<String, Entry>;

impl Verdicts {
    /// In the user's cache directory.
    pub fn of_user() -> Self {
        let dirs = directories::ProjectDirs::from("", "", "smolpilot");
        Self {
            path: dirs.map(|dirs| dirs.cache_dir().join("device-verdicts.json")),
        }
    }

    /// In a file of one's own.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: Some(path.into()),
        }
    }

    /// Nowhere: every device is tested every time.
    pub fn forgetful() -> Self {
        Self::default()
    }

    /// A verdict on this very adapter, driver and program.
    pub(super) fn find(&self, device: &OpenedDevice) -> Option<Passed> {
        let entry = self.read().remove(&key(device))?;
        Some(Passed {
            stages: entry.stages,
            worst: entry.worst,
            error: entry.error,
            remembered: true,
        })
    }

    /// Notes a pass. That it cannot be written costs a test at the next start, nothing more.
    pub(super) fn remember(&self, device: &OpenedDevice, passed: &Passed) {
        let Some(path) = &self.path else { return };
        let mut entries = self.read();
        entries.insert(
            key(device),
            Entry {
                stages: passed.stages,
                worst: passed.worst.clone(),
                error: passed.error,
            },
        );
        if let Err(error) = write(path, &entries) {
            log::warn!(
                "{}: {error}; the device will be tested again at the next start",
                path.display()
            );
        }
    }

    /// A file that is missing or damaged remembers nothing.
    fn read(&self) -> Entries {
        let text = self.path.as_ref().and_then(|path| std::fs::read(path).ok());
        text.and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default()
    }
}

fn write(path: &Path, entries: &Entries) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    // Renamed into place, so that a crash leaves the old file or the new one.
    let fresh = path.with_extension(format!("{}.tmp", std::process::id()));
    std::fs::write(&fresh, serde_json::to_vec_pretty(entries)?)?;
    std::fs::rename(&fresh, path)
}

fn key(device: &OpenedDevice) -> String {
    let tuning = if cfg!(feature = "autotune") {
        ", tuned"
    } else {
        ""
    };
    let fusion = if cfg!(feature = "fusion") {
        ", fused"
    } else {
        ""
    };
    format!(
        "{} | {} | {} | smolpilot {}{tuning}{fusion} | {}",
        device.name,
        device.backend,
        device.driver,
        env!("CARGO_PKG_VERSION"),
        device.arithmetic,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::compute::Format;
    use crate::gpu::{self, DeviceChoice};

    fn passed() -> Passed {
        Passed {
            stages: 9,
            worst: "denoise.0.v_t".into(),
            error: 1.5e-6,
            remembered: false,
        }
    }

    #[test]
    fn a_pass_is_found_again_for_the_same_driver_only() {
        let directory = tempfile::tempdir().unwrap();
        let verdicts = Verdicts::at(directory.path().join("deep/verdicts.json"));
        let mut device = gpu::open(DeviceChoice::Flex).unwrap();
        device.driver = "driver 1".into();
        assert!(verdicts.find(&device).is_none());
        verdicts.remember(&device, &passed());
        let found = verdicts.find(&device).unwrap();
        assert!(found.remembered && found.stages == 9 && found.error == 1.5e-6);
        device.arithmetic.format = Format::F16;
        assert!(
            verdicts.find(&device).is_none(),
            "another precision flies on f32's pass"
        );
        device.arithmetic.format = Format::F32;
        device.driver = "driver 2".into();
        assert!(verdicts.find(&device).is_none());
    }

    #[test]
    fn a_damaged_file_remembers_nothing_and_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("verdicts.json");
        std::fs::write(&path, "{ not json").unwrap();
        let verdicts = Verdicts::at(&path);
        let device = gpu::open(DeviceChoice::Flex).unwrap();
        assert!(verdicts.find(&device).is_none());
        verdicts.remember(&device, &passed());
        assert!(verdicts.find(&device).is_some());
        assert!(Verdicts::forgetful().find(&device).is_none());
    }
}
