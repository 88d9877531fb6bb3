//! What this machine has: adapters, the device that would compute, cameras and serial ports.

use std::io::{self, Write};

use serde::Serialize;

use super::probe::Speed;
use crate::arm::{PortInfo, list_ports};
use crate::camera;
use crate::gpu::{self, Adapter, DeviceChoice, OpenedDevice, PRECISION};

/// The machine's part of `check --json`.
#[derive(Debug, Serialize)]
pub struct Machine {
    pub version: &'static str,
    /// Switches of this build that change numbers or speed.
    pub autotune: bool,
    pub fusion: bool,
    pub adapters: Vec<AdapterLine>,
    /// `None` when it could not be opened; `device_error` says why.
    pub device: Option<DeviceLine>,
    pub device_error: Option<String>,
    pub cameras: Vec<CameraLine>,
    pub cameras_error: Option<String>,
    pub ports: Vec<PortLine>,
}

/// One adapter and whether the network fits.
#[derive(Debug, Serialize)]
pub struct AdapterLine {
    #[serde(flatten)]
    pub adapter: Adapter,
    /// Why not, if not.
    pub shortfall: Option<String>,
}

/// The device that computes.
#[derive(Debug, Serialize)]
pub struct DeviceLine {
    pub name: String,
    pub backend: String,
    pub driver: String,
    pub precision: &'static str,
    pub software: bool,
    pub why: String,
    pub gflops: Option<Speed>,
}

/// One camera as the system lists it.
#[derive(Debug, Serialize)]
pub struct CameraLine {
    pub id: String,
    pub name: String,
    pub node: Option<String>,
}

/// One serial port.
#[derive(Debug, Serialize)]
pub struct PortLine {
    pub path: String,
    pub description: String,
    pub usb: bool,
}

impl Machine {
    /// Looks at everything and opens the device; what fails is part of the report.
    pub fn look(choice: DeviceChoice) -> (Self, Option<OpenedDevice>) {
        let opened = gpu::open(choice);
        let device_error = opened.as_ref().err().map(ToString::to_string);
        let opened = opened.ok();
        let (cameras, cameras_error) = match camera::list() {
            Ok(found) => (found.iter().map(camera_line).collect(), None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let adapter = |adapter: Adapter| AdapterLine {
            shortfall: adapter.shortfall(),
            adapter,
        };
        let machine = Self {
            version: env!("CARGO_PKG_VERSION"),
            autotune: cfg!(feature = "autotune"),
            fusion: cfg!(feature = "fusion"),
            adapters: gpu::adapters().into_iter().map(adapter).collect(),
            device: opened.as_ref().map(device_line),
            device_error,
            cameras,
            cameras_error,
            ports: list_ports().into_iter().map(port_line).collect(),
        };
        (machine, opened)
    }

    /// The report for people.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let on = |switch| if switch { "on" } else { "off" };
        writeln!(
            out,
            "smolpilot {} (autotune {}, fusion {})",
            self.version,
            on(self.autotune),
            on(self.fusion)
        )?;
        self.print_devices(out)?;
        for camera in &self.cameras {
            let node = camera.node.as_deref().unwrap_or(&camera.id);
            writeln!(out, "camera     {} ({node})", camera.name)?;
        }
        match &self.cameras_error {
            Some(error) => writeln!(out, "cameras    {error}")?,
            None if self.cameras.is_empty() => writeln!(out, "cameras    none")?,
            None => {}
        }
        for port in &self.ports {
            writeln!(out, "port       {}", port.words())?;
        }
        if self.ports.is_empty() {
            writeln!(out, "ports      none")?;
        }
        Ok(())
    }

    fn print_devices(&self, out: &mut dyn Write) -> io::Result<()> {
        for line in &self.adapters {
            match &line.shortfall {
                Some(why) => writeln!(out, "adapter    {}: {why}", line.adapter)?,
                None => writeln!(out, "adapter    {}, {}", line.adapter, line.adapter.driver)?,
            }
        }
        if self.adapters.is_empty() {
            writeln!(
                out,
                "adapters   none: no driver for Vulkan, Metal or DirectX 12"
            )?;
        }
        if let Some(error) = &self.device_error {
            writeln!(out, "device     {error}")?;
        }
        let Some(device) = &self.device else {
            return Ok(());
        };
        writeln!(
            out,
            "device     {}, {}, {} ({})",
            device.name, device.backend, device.precision, device.why
        )?;
        if let Some(speed) = device.gflops {
            writeln!(
                out,
                "speed      {:.0} GFLOP/s on vision shapes, {:.0} on the prefix, {:.0} on a denoising step",
                speed.vision, speed.prefix, speed.denoise
            )?;
        }
        Ok(())
    }
}

impl PortLine {
    /// An arm comes through USB; what a built-in port leads to is hardly one.
    fn words(&self) -> String {
        let mut words = self.path.clone();
        if !self.description.is_empty() {
            words.push_str(", ");
            words.push_str(&self.description);
        }
        if !self.usb {
            words.push_str(" (not USB: hardly an arm)");
        }
        words
    }
}

fn device_line(device: &OpenedDevice) -> DeviceLine {
    let gflops = Speed::measure(&device.device);
    DeviceLine {
        name: device.name.clone(),
        backend: device.backend.clone(),
        driver: device.driver.clone(),
        precision: PRECISION,
        software: device.software,
        why: device.why.clone(),
        gflops: gflops
            .inspect_err(|error| log::warn!("the speed of the device is not known: {error:#}"))
            .ok(),
    }
}

fn camera_line(camera: &camera::DeviceInfo) -> CameraLine {
    CameraLine {
        id: camera.id.clone(),
        name: camera.name.clone(),
        node: camera.node.as_ref().map(|node| node.display().to_string()),
    }
}

fn port_line(port: PortInfo) -> PortLine {
    PortLine {
        path: port.path,
        description: port.description,
        usb: port.usb,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_not_there_is_part_of_the_report() {
        let (machine, device) = Machine::look(DeviceChoice::Gpu(9999));
        assert!(device.is_none() && machine.device.is_none());
        let mut out = Vec::new();
        machine.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("gpu:9999"), "{text}");
        assert!(
            text.contains("autotune off") && text.contains("port"),
            "{text}"
        );
    }
}
