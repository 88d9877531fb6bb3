//! Which of several ports is this arm's? Unplug it and see which one goes; plug it in again and see which one comes.

use crate::arm::port::PortInfo;

/// How far the search has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The arm's USB cable is to be pulled out; these ports were there at first.
    Unplug { before: Vec<PortInfo> },
    /// One port is gone; the cable is to be put in again.
    Replug {
        gone: PortInfo,
        /// The ports that are left.
        rest: Vec<PortInfo>,
    },
    /// This one.
    Found(PortInfo),
    /// Several ports went or came at once: nobody can tell which is the arm's.
    Several(Vec<PortInfo>),
}

impl Finding {
    /// Begins with the ports that are there while the arm is plugged in.
    pub fn begin(ports: Vec<PortInfo>) -> Self {
        Self::Unplug { before: ports }
    }

    /// Takes the ports that are there now. An arm that was not plugged in at first and is now counts as found.
    #[must_use]
    pub fn seen(self, ports: &[PortInfo]) -> Self {
        match self {
            Self::Unplug { before } => {
                let gone = missing(&before, ports);
                let come = missing(ports, &before);
                match (gone.as_slice(), come.as_slice()) {
                    ([], []) => Self::Unplug { before },
                    ([one], []) => Self::Replug {
                        gone: one.clone(),
                        rest: ports.to_vec(),
                    },
                    // Plugged in only now, or pulled out and put in again between two looks.
                    ([] | [_], [one]) => Self::Found(one.clone()),
                    _ => Self::Several([gone, come].concat()),
                }
            }
            Self::Replug { gone, rest } => {
                let come = missing(ports, &rest);
                match come.as_slice() {
                    [] => Self::Replug { gone, rest },
                    [one] => Self::Found(one.clone()),
                    _ => Self::Several(come),
                }
            }
            over @ (Self::Found(_) | Self::Several(_)) => over,
        }
    }
}

/// The ports of `from` that are not in `others`, by path.
fn missing(from: &[PortInfo], others: &[PortInfo]) -> Vec<PortInfo> {
    let absent = |port: &&PortInfo| !others.iter().any(|other| other.path == port.path);
    from.iter().filter(absent).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(path: &str) -> PortInfo {
        PortInfo {
            path: path.to_owned(),
            usb: true,
            ..PortInfo::default()
        }
    }

    fn ports(paths: &[&str]) -> Vec<PortInfo> {
        paths.iter().map(|path| port(path)).collect()
    }

    fn steps(looks: &[&[&str]]) -> Finding {
        let first = Finding::begin(ports(looks[0]));
        looks[1..]
            .iter()
            .fold(first, |finding, look| finding.seen(&ports(look)))
    }

    #[test]
    fn the_port_that_goes_and_comes_is_found_under_its_new_name() {
        let both: &[&str] = &["/dev/ttyACM0", "/dev/ttyACM1", "/dev/ttyS0"];
        let one: &[&str] = &["/dev/ttyACM1", "/dev/ttyS0"];
        assert!(matches!(steps(&[both, both]), Finding::Unplug { .. }));
        let Finding::Replug { gone, .. } = steps(&[both, one, one]) else {
            panic!("not noticed")
        };
        assert_eq!(gone, port("/dev/ttyACM0"));
        assert_eq!(
            steps(&[both, one, both]),
            Finding::Found(port("/dev/ttyACM0"))
        );
        let renamed: &[&str] = &["/dev/ttyACM1", "/dev/ttyACM2", "/dev/ttyS0"];
        assert_eq!(
            steps(&[both, one, renamed]),
            Finding::Found(port("/dev/ttyACM2"))
        );
        assert_eq!(
            steps(&[both, one, both, one]),
            Finding::Found(port("/dev/ttyACM0")),
            "what was found stays found"
        );
    }

    #[test]
    fn an_arm_that_is_only_now_plugged_in_is_found_and_two_at_once_are_not() {
        assert_eq!(steps(&[&[], &["COM5"]]), Finding::Found(port("COM5")));
        let hub = steps(&[&["COM3", "COM5"], &[]]);
        assert_eq!(hub, Finding::Several(ports(&["COM3", "COM5"])));
        let hub = steps(&[&["COM3"], &[], &["COM3", "COM5"]]);
        assert_eq!(hub, Finding::Several(ports(&["COM3", "COM5"])));
    }
}
