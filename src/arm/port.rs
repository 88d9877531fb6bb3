//! Opening the serial port of a bus adapter, and finding which ports there are.

use std::time::Duration;

use crate::arm::Port;
use crate::arm::error::{Error, ErrorKind};

/// The rate that SO-101 servos leave the factory with.
pub const BAUD_RATE: u32 = 1_000_000;
/// The bus sets its own timeout for every transaction; this one only has to be finite.
const OPEN_TIMEOUT: Duration = Duration::from_millis(20);

/// A serial port of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortInfo {
    /// What [`open_port`] takes: `/dev/ttyACM0`, `COM3`.
    pub path: String,
    /// Maker and product of a USB adapter, as far as it says.
    pub description: String,
    /// A USB device: the others are hardly ever an arm.
    pub usb: bool,
    /// The adapter's own number, by which it is known again under another path.
    pub serial: Option<String>,
    /// Its maker builds serial adapters, so that it may be spoken to: opening the port of another device can restart it.
    pub adapter: bool,
}

/// USB makers whose chips sit on servo adapters: WCH, Silicon Labs, FTDI, Prolific.
const ADAPTER_MAKERS: [u16; 4] = [0x1A86, 0x10C4, 0x0403, 0x067B];

/// Opens the port at `path` for this program alone: 1 Mbaud, 8N1. Nothing is sent.
///
/// # Errors
/// Busy, forbidden, absent, or whatever else the system says.
pub fn open_port(path: &str) -> Result<Port, Error> {
    serialport::new(path, BAUD_RATE)
        .timeout(OPEN_TIMEOUT)
        .open()
        .map_err(|source| Error {
            port: path.to_owned(),
            kind: open_failure(path, &source),
        })
}

fn open_failure(path: &str, source: &serialport::Error) -> ErrorKind {
    use std::io::ErrorKind as Io;
    let text = source.description.to_lowercase();
    match source.kind {
        serialport::ErrorKind::Io(Io::PermissionDenied) => ErrorKind::Permission,
        _ if text.contains("exclusive lock")
            || text.contains("busy")
            || text.contains("access is denied") =>
        {
            ErrorKind::Busy
        }
        serialport::ErrorKind::Io(Io::NotFound) => ErrorKind::NoPort,
        // Linux also says "no device" when somebody else holds the lock: then the file is there.
        serialport::ErrorKind::NoDevice if !std::path::Path::new(path).exists() => {
            ErrorKind::NoPort
        }
        _ => ErrorKind::Open(source.description.clone()),
    }
}

/// The serial ports of this machine, USB adapters first. Empty when the system cannot list them.
pub fn list_ports() -> Vec<PortInfo> {
    let ports = serialport::available_ports().unwrap_or_else(|error| {
        log::warn!("the serial ports cannot be listed: {error}");
        Vec::new()
    });
    let mut ports: Vec<PortInfo> = ports.into_iter().map(port_info).collect();
    ports.sort_by(|a, b| (!a.usb, &a.path).cmp(&(!b.usb, &b.path)));
    ports
}

fn port_info(port: serialport::SerialPortInfo) -> PortInfo {
    let plain = |path: String, description: &str| PortInfo {
        path,
        description: description.to_owned(),
        ..PortInfo::default()
    };
    match port.port_type {
        serialport::SerialPortType::UsbPort(usb) => {
            let words = [usb.manufacturer, usb.product];
            let words: Vec<String> = words.into_iter().flatten().collect();
            PortInfo {
                path: port.port_name,
                description: words.join(" "),
                usb: true,
                serial: usb.serial_number.filter(|serial| !serial.is_empty()),
                adapter: ADAPTER_MAKERS.contains(&usb.vid),
            }
        }
        serialport::SerialPortType::BluetoothPort => plain(port.port_name, "Bluetooth"),
        serialport::SerialPortType::PciPort => plain(port.port_name, "built in"),
        serialport::SerialPortType::Unknown => plain(port.port_name, ""),
    }
}

/// The path at which an adapter is now: where its number is listed, or, where it is not or several have it, where it was.
/// `/dev/ttyACM0` is whoever was plugged in first; the number is always the same board.
pub fn path_of(serial: Option<&str>, path: &str, ports: &[PortInfo]) -> String {
    let same = |port: &&PortInfo| serial.is_some() && port.serial.as_deref() == serial;
    let mut found = ports.iter().filter(same);
    match (found.next(), found.next()) {
        (Some(only), None) => only.path.clone(),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_to_open_are_told_apart() {
        let failure =
            |kind, text: &str| open_failure("/nowhere/tty", &serialport::Error::new(kind, text));
        let io = serialport::ErrorKind::Io;
        assert_eq!(
            failure(
                io(std::io::ErrorKind::PermissionDenied),
                "Permission denied"
            ),
            ErrorKind::Permission
        );
        let no_device = serialport::ErrorKind::NoDevice;
        assert_eq!(
            failure(no_device, "Unable to acquire exclusive lock on serial port"),
            ErrorKind::Busy
        );
        assert_eq!(failure(no_device, "No such device"), ErrorKind::NoPort);
        assert_eq!(
            failure(serialport::ErrorKind::Unknown, "Not a typewriter"),
            ErrorKind::Open("Not a typewriter".to_owned())
        );
    }

    #[test]
    fn a_port_that_is_not_there_is_named() {
        let error = open_port("/nowhere/ttyACM9").err().unwrap();
        assert!(error.to_string().contains("/nowhere/ttyACM9"), "{error}");
        assert!(list_ports().iter().all(|port| !port.path.is_empty()));
    }

    #[test]
    fn an_adapter_is_known_by_its_number_wherever_it_is_plugged_in() {
        let port = |path: &str, serial: &str| PortInfo {
            path: path.to_owned(),
            serial: Some(serial.to_owned()),
            ..PortInfo::default()
        };
        let twin = |path: &str| port(path, "0001");
        let ports = [
            port("/dev/ttyACM0", "B2"),
            port("/dev/ttyACM1", "A1"),
            twin("/dev/ttyACM2"),
            twin("/dev/ttyACM3"),
        ];
        let path = |serial, path| path_of(serial, path, &ports);
        assert_eq!(path(Some("A1"), "/dev/ttyACM0"), "/dev/ttyACM1");
        assert_eq!(path(Some("C3"), "/dev/ttyACM0"), "/dev/ttyACM0");
        assert_eq!(path(None, "/dev/pts/3"), "/dev/pts/3");
        assert_eq!(path(Some("0001"), "/dev/ttyACM3"), "/dev/ttyACM3");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_port_is_opened_for_one_program_only() {
        use serialport::SerialPort as _;
        let (_master, slave) = serialport::TTYPort::pair().unwrap();
        let path = slave.name().unwrap();
        drop(slave);
        let port = open_port(&path).unwrap();
        assert_eq!(port.baud_rate().unwrap(), BAUD_RATE);
        let error = open_port(&path).err().unwrap();
        assert_eq!(error.kind, ErrorKind::Busy, "{error}");
    }
}
