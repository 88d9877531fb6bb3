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
    /// Bytes of all buffers that own kernels ever made; stands in for the driver's count where that is missing.
    #[serde(skip)]
    pub own_bytes: u64,
    /// Bytes of the network on the device: of tensors and of own buffers, less what was there before it was loaded. `None` on
    /// the CPU.
    pub model_bytes: Option<u64>,
}

impl Holdings {
    /// What is held now. Waits for the device, so that what was dropped is gone.
    pub fn now(device: &OpenedDevice) -> Self {
        if let Err(error) = device.device.sync() {
            log::warn!("the device does not say when it is done: {error}");
        }
        Self {
            pool: gpu::memory(&device.device),
            driver: device.setup.as_ref().and_then(gpu::driver_memory),
            rss_bytes: rss_bytes(),
            own_bytes: device
                .compute
                .as_ref()
                .map_or(0, |own| own.counts().buffer_bytes),
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

    /// What tensors and own buffers use, and not what Burn's pool keeps for later.
    fn on_device(&self) -> Option<u64> {
        let pool = self.pool?;
        let outside =
            |driver: DriverMemory| driver.allocated_bytes.saturating_sub(pool.reserved_bytes);
        Some(pool.in_use_bytes + self.driver.map_or(self.own_bytes, outside))
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
        let held = |in_use_bytes, reserved_bytes, allocated_bytes| Holdings {
            pool: Some(DeviceMemory {
                in_use_bytes,
                reserved_bytes,
                ..DeviceMemory::default()
            }),
            driver: Some(DriverMemory {
                allocated_bytes,
                ..DriverMemory::default()
            }),
            ..Holdings::default()
        };
        // 500 in tensors, of which 400 found room in what the pool had kept, and 300 in own buffers.
        let after = held(600, 700, 1000).since(&held(100, 600, 600));
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
