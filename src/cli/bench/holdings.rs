//! What a loaded network holds: memory on the device by Burn's count and by the driver's, and on the host.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::cli::memory::rss_bytes;
use crate::gpu::{self, DeviceMemory, DriverMemory, OpenedDevice};

/// Memory held at one moment. What cannot be known is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holdings {
    /// Burn's pool on the device; `None` on the CPU.
    pub pool: Option<DeviceMemory>,
    /// All that the driver has given to this device; `None` on the CPU and where wgpu does not know (Metal).
    pub driver: Option<DriverMemory>,
    /// Resident set of the program, bytes.
    pub rss_bytes: Option<u64>,
    /// Bytes of the network on the device: the driver's count, or the pool's where that is missing, less what was there
    /// before it was loaded. `None` on the CPU.
    pub model_bytes: Option<u64>,
}

impl Holdings {
    /// What is held now. Waits for the device.
    pub fn now(device: &OpenedDevice) -> Self {
        Self {
            pool: gpu::memory(&device.device),
            driver: device.setup.as_ref().and_then(gpu::driver_memory),
            rss_bytes: rss_bytes(),
            model_bytes: None,
        }
    }

    /// The same, knowing what was held before the network was loaded.
    #[must_use]
    pub fn since(self, before: &Self) -> Self {
        Self {
            model_bytes: self
                .on_device()
                .zip(before.on_device())
                .map(|(now, then)| now.saturating_sub(then)),
            ..self
        }
    }

    fn on_device(&self) -> Option<u64> {
        let driver = self.driver.map(|driver| driver.allocated_bytes);
        driver.or(self.pool.map(|pool| pool.reserved_bytes))
    }

    /// Lines for people.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
        match self.model_bytes {
            Some(bytes) => writeln!(out, "model        {} on the device", megabytes(bytes))?,
            None => writeln!(out, "model        in the program's own memory")?,
        }
        if let Some(pool) = self.pool {
            writeln!(
                out,
                "Burn's pool  {} in {} tensors, {} reserved",
                megabytes(pool.in_use_bytes),
                pool.allocations,
                megabytes(pool.reserved_bytes)
            )?;
        }
        if let Some(driver) = self.driver {
            writeln!(
                out,
                "driver       {} in {} pieces",
                megabytes(driver.allocated_bytes),
                driver.allocations
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_what_came_to_the_device() {
        let driver = |allocated_bytes| Holdings {
            driver: Some(DriverMemory {
                allocated_bytes,
                ..DriverMemory::default()
            }),
            ..Holdings::default()
        };
        let after = driver(900).since(&driver(100));
        assert_eq!(after.model_bytes, Some(800));
        assert_eq!(
            Holdings::default().since(&Holdings::default()).model_bytes,
            None
        );
        let mut out = Vec::new();
        after.print(&mut out).unwrap();
        assert!(
            String::from_utf8(out)
                .unwrap()
                .contains("0.0 MB on the device")
        );
    }

    #[test]
    fn the_cpu_holds_nothing_on_a_device() {
        let cpu = gpu::open(gpu::DeviceChoice::Flex).unwrap();
        let held = Holdings::now(&cpu);
        assert_eq!(
            (held.pool, held.driver, held.model_bytes),
            (None, None, None)
        );
    }
}
