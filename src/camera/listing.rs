//! The cameras of this machine by names that survive unplugging, and the search for the one the operator means.

use std::fmt;
use std::path::PathBuf;

#[cfg(any(feature = "gui", test))]
use super::error::Error;

/// One camera as the system lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Stays the same after unplugging and at every start: the udev name on Linux, the unique id on macOS, the symbolic link
    /// on Windows. Without one of these, the device node.
    pub id: String,
    /// The maker's name, which two cameras may share.
    pub name: String,
    /// The system's number, which changes.
    pub index: u32,
    /// Where it is now, on Linux.
    pub node: Option<PathBuf>,
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.node {
            Some(node) => write!(f, "{} ({})", self.name, node.display()),
            None => f.write_str(&self.name),
        }
    }
}

/// Finds the camera that `wanted` means: its id, its node (a link to it too), its whole name, or a part of its name.
///
/// # Errors
/// [`Error::NoSuchCamera`] with what is present, [`Error::Ambiguous`] with the ids to choose from.
#[cfg(any(feature = "gui", test))]
pub(super) fn select<'a>(wanted: &str, present: &'a [DeviceInfo]) -> Result<&'a DeviceInfo, Error> {
    let lower = wanted.to_lowercase();
    let path = std::fs::canonicalize(wanted).ok();
    let tests: [&dyn Fn(&DeviceInfo) -> bool; 4] = [
        &|device| device.id == wanted,
        &|device| device.node.is_some() && device.node == path,
        &|device| device.name.to_lowercase() == lower,
        &|device| !lower.is_empty() && device.name.to_lowercase().contains(&lower),
    ];
    for test in tests {
        let fits: Vec<_> = present.iter().filter(|device| test(device)).collect();
        match fits.as_slice() {
            [] => {}
            [one] => return Ok(one),
            several => {
                return Err(Error::Ambiguous {
                    wanted: wanted.to_owned(),
                    ids: ids(several.iter().copied()),
                });
            }
        }
    }
    Err(Error::NoSuchCamera {
        wanted: wanted.to_owned(),
        present: match present {
            [] => "none".to_owned(),
            some => ids(some.iter()),
        },
    })
}

#[cfg(any(feature = "gui", test))]
fn ids<'a>(devices: impl Iterator<Item = &'a DeviceInfo>) -> String {
    devices
        .map(|device| format!("{} [{device}]", device.id))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(id: &str, name: &str, index: u32) -> DeviceInfo {
        DeviceInfo {
            id: id.to_owned(),
            name: name.to_owned(),
            index,
            node: None,
        }
    }

    #[test]
    fn a_camera_is_found_by_id_name_or_part_of_its_name() {
        let present = [
            device("usb-A-index0", "HD Pro Webcam C920", 0),
            device("usb-B-index0", "USB 2.0 Camera", 2),
        ];
        for (wanted, index) in [
            ("usb-B-index0", 2),
            ("hd pro webcam c920", 0),
            ("c920", 0),
            ("USB 2.0", 2),
        ] {
            assert_eq!(select(wanted, &present).unwrap().index, index, "{wanted}");
        }
    }

    #[test]
    fn twins_must_be_told_apart_by_id() {
        let present = [
            device("path-1", "USB Camera", 0),
            device("path-2", "USB Camera", 1),
        ];
        assert_eq!(select("path-2", &present).unwrap().index, 1);
        let text = select("USB Camera", &present).unwrap_err().to_string();
        assert!(text.contains("path-1") && text.contains("path-2"), "{text}");
    }

    #[test]
    fn an_absent_camera_is_named_with_those_present() {
        let present = [device("path-1", "USB Camera", 0)];
        let text = select("C920", &present).unwrap_err().to_string();
        assert!(
            text.contains("C920") && text.contains("USB Camera"),
            "{text}"
        );
        let none = select("C920", &[]).unwrap_err().to_string();
        assert!(none.contains("present: none"), "{none}");
        assert!(select("", &present).is_err());
    }
}
