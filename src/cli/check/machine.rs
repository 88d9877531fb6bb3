//! What this machine has: adapters, the device that would compute, cameras and serial ports.

use std::io::{self, Write};

use serde::Serialize;

use super::probe::Speed;
use crate::camera;
use crate::clock::Clock;
use crate::gpu::{self, Adapter, OpenedDevice, Wish};
use crate::joint::JOINT_COUNT;
use crate::policy::self_test::{self, Verdicts};
use crate::priority::{self, Granted, Urgency};
use crate::runtime::workshop::{ArmCard, CalibrationState, Line, Order, PortView, Shop, Tools};

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
    /// Which place the arm's loop gets when all want the processor.
    pub priority: Granted,
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
    pub precision: String,
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
    /// Who answers on it, in words; `None` where nobody was asked, because no servo adapter is behind it.
    pub arm: Option<String>,
}

impl Machine {
    /// Looks at everything and opens the device; what fails is part of the report.
    pub fn look(wish: Wish) -> (Self, Option<OpenedDevice>) {
        let opened = self_test::open(wish, &Verdicts::of_user());
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
            ports: ports(),
            priority: priority::would_get(Urgency::Arm),
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
        writeln!(out, "priority   {} for the arm's loop", self.priority)?;
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
        let description = match self.description.as_str() {
            "" => String::new(),
            known => format!(", {known}"),
        };
        let doubt = if self.usb {
            ""
        } else {
            " (not USB: hardly an arm)"
        };
        let arm = match &self.arm {
            Some(arm) => format!(": {arm}"),
            None => String::new(),
        };
        format!("{}{description}{doubt}{arm}", self.path)
    }
}

fn device_line(device: &OpenedDevice) -> DeviceLine {
    let gflops = Speed::measure(&device.device);
    DeviceLine {
        name: device.name.clone(),
        backend: device.backend.clone(),
        driver: device.driver.clone(),
        precision: device.arithmetic.to_string(),
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

/// The serial ports; those with servo adapters are asked who is there, and closed again. Nothing is changed on them.
fn ports() -> Vec<PortLine> {
    let mut shop = Shop::new(Tools::of_machine(Clock::real()));
    shop.obey(Order::Survey);
    let looking = |port: &PortView| port.line == Line::Looking;
    while shop.view().ports.iter().any(looking) {
        shop.turn();
    }
    shop.view().ports.into_iter().map(port_line).collect()
}

fn port_line(port: PortView) -> PortLine {
    PortLine {
        arm: arm_words(&port.line),
        path: port.info.path,
        description: port.info.description,
        usb: port.info.usb,
    }
}

/// Who is on a port, in one line.
fn arm_words(line: &Line) -> Option<String> {
    match line {
        Line::Unknown | Line::Looking => None,
        Line::Empty => Some("no servo answers (power? fresh servos: smolpilot setup)".to_owned()),
        Line::Refused(trouble) => Some(format!("{}. {}", trouble.what, trouble.remedy)),
        Line::Arm(card) => Some(card_words(card)),
    }
}

fn card_words(card: &ArmCard) -> String {
    let who = match card.present {
        JOINT_COUNT => "an SO-101".to_owned(),
        some => format!("{some} of {JOINT_COUNT} servos"),
    };
    let calibrated = match &card.calibration {
        CalibrationState::Absent => "not calibrated (smolpilot calibrate)".to_owned(),
        CalibrationState::Foreign => "calibrated, but no file here fits it".to_owned(),
        CalibrationState::Known(owners) => {
            let owners: Vec<_> = owners
                .iter()
                .map(|(role, id)| format!("{role} {id}"))
                .collect();
            format!("calibrated ({})", owners.join(", "))
        }
    };
    let volts = card.volts.map(|volts| format!("{volts:.1} V"));
    let parts = [Some(who), Some(calibrated), volts, card.hint.clone()];
    let parts: Vec<String> = parts
        .into_iter()
        .flatten()
        .chain(card.problems.clone())
        .collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::Role;
    use crate::gpu::DeviceChoice;

    #[test]
    fn a_port_that_can_hardly_be_an_arm_says_why() {
        let mut port = PortLine {
            path: "/dev/ttyS0".into(),
            description: String::new(),
            usb: false,
            arm: None,
        };
        assert_eq!(port.words(), "/dev/ttyS0 (not USB: hardly an arm)");
        port.usb = true;
        port.description = "USB Single Serial".into();
        assert_eq!(port.words(), "/dev/ttyS0, USB Single Serial");
        port.arm = Some("no servo answers".into());
        assert_eq!(
            port.words(),
            "/dev/ttyS0, USB Single Serial: no servo answers"
        );
    }

    #[test]
    fn an_arm_is_told_in_one_line() {
        let mut card = ArmCard {
            present: 6,
            calibration: CalibrationState::Known(vec![(Role::Leader, "amber".into())]),
            volts: Some(5.02),
            hint: Some("5 to 7.4 V servos: a leader".into()),
            ..ArmCard::default()
        };
        assert_eq!(
            arm_words(&Line::Arm(Box::new(card.clone()))).unwrap(),
            "an SO-101, calibrated (leader amber), 5.0 V, 5 to 7.4 V servos: a leader"
        );
        card.present = 4;
        card.calibration = CalibrationState::Absent;
        card.problems = vec!["elbow_flex (motor 3) does not answer".into()];
        let words = arm_words(&Line::Arm(Box::new(card))).unwrap();
        assert!(
            words.starts_with("4 of 6 servos, not calibrated"),
            "{words}"
        );
        assert!(words.ends_with("elbow_flex (motor 3) does not answer"));
        assert_eq!(arm_words(&Line::Unknown), None);
    }

    #[test]
    fn a_device_that_is_not_there_is_part_of_the_report() {
        let (machine, device) = Machine::look(DeviceChoice::Gpu(9999).into());
        assert!(device.is_none() && machine.device.is_none());
        let mut out = Vec::new();
        machine.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("gpu:9999"), "{text}");
        assert!(
            text.contains("autotune off") && text.contains("port") && text.contains("priority"),
            "{text}"
        );
    }
}
