//! Why a serial port cannot be had, system by system, and what to do about it as the person you are: nobody needs an
//! administrator's rights to fly an arm.

/// The systems whose ways differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    Linux,
    Mac,
    Windows,
}

impl System {
    /// The one this program runs on.
    pub fn here() -> Self {
        if cfg!(target_os = "windows") {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::Mac
        } else {
            Self::Linux
        }
    }

    /// What to do when no USB port is listed although an adapter is plugged in.
    pub fn without_port(self) -> &'static str {
        match self {
            Self::Linux => {
                "Check that the USB cable carries data and not only power, and that the board's jumper is on B (USB). The system brings the drivers along"
            }
            Self::Mac => {
                "Check that the USB cable carries data and not only power, and that the board's jumper is on B (USB). Boards with a CH343 work at once; for a CP210x board install Silicon Labs' driver, then plug in again"
            }
            Self::Windows => {
                "Check that the USB cable carries data and not only power, and that the board's jumper is on B (USB). In the Device Manager it stands under Ports; with a yellow mark it lacks its driver: CH343 from WCH, CP210x from Silicon Labs, then plug in again"
            }
        }
    }

    /// What to do when there is no port of the name that was given.
    pub fn without_named_port(self) -> String {
        format!(
            "Choose one of the ports that are listed. If the adapter's is not among them: {}",
            self.without_port()
        )
    }

    /// What to do when the system does not let this user open the port at `path`.
    pub fn without_permission(self, path: &str) -> String {
        self.without_membership(owner_of(path).as_deref())
    }

    /// The same; `group` is the one that owns the port, where known.
    fn without_membership(self, group: Option<&str>) -> String {
        match self {
            Self::Linux => {
                let group = group.unwrap_or("dialout");
                format!(
                    "The port belongs to the group {group}, and you are not in it. Type `sudo usermod -aG {group} $USER`, log out and in again, and it is yours for good"
                )
            }
            Self::Mac => {
                "Close other programs that use the port, unplug the board and plug it in again; if it stays, allow the accessory under System Settings, Privacy & Security".to_owned()
            }
            Self::Windows => {
                "Another program holds the port, or its driver is not well: close serial monitors and LeRobot, unplug the board and plug it in again; then update its driver (CH343 from WCH, CP210x from Silicon Labs)".to_owned()
            }
        }
    }
}

/// Name of the group that a device file belongs to.
#[cfg(unix)]
fn owner_of(path: &str) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let id = std::fs::metadata(path).ok()?.gid();
    group_name(&std::fs::read_to_string("/etc/group").ok()?, id)
}

#[cfg(not(unix))]
fn owner_of(_path: &str) -> Option<String> {
    None
}

/// The name of a group in the text of `/etc/group`. The administrator's own is none that anybody should join.
#[cfg(any(unix, test))]
fn group_name(groups: &str, id: u32) -> Option<String> {
    let id = (id != 0).then(|| id.to_string())?;
    groups.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, of) = (fields.next()?, fields.next()?, fields.next()?);
        (of == id).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owning_group_is_named() {
        let groups = "root:x:0:\ntty:x:5:\ndialout:x:20:ada\nuucp:x:986:\n";
        assert_eq!(group_name(groups, 20).as_deref(), Some("dialout"));
        assert_eq!(group_name(groups, 986).as_deref(), Some("uucp"));
        assert_eq!(group_name(groups, 0), None);
        assert_eq!(group_name(groups, 7), None);
        let words = System::Linux.without_membership(Some("uucp"));
        assert!(words.contains("usermod -aG uucp $USER"), "{words}");
    }

    #[test]
    fn every_system_has_its_way_and_none_is_to_be_an_administrator() {
        for system in [System::Linux, System::Mac, System::Windows] {
            for words in [
                system.without_membership(None),
                system.without_port().to_owned(),
            ] {
                let words = words.to_lowercase();
                assert!(!words.contains("root") && !words.contains("administrator"));
                assert!(!words.contains("chmod"), "{words}");
            }
        }
        for system in [System::Mac, System::Windows] {
            let words = system.without_port();
            assert!(words.contains("CH343") && words.contains("CP210x"));
        }
    }
}
