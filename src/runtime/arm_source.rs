//! Which arm the runtime drives: the pretend one, or the one behind a serial port with the calibration of an id.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::arm::Role;
use crate::runtime::Connector;

/// Makes the way to an arm: what opens its port and does the handshake, again and again if need be.
pub type ArmSupply = Arc<dyn Fn(Role, &ArmSource) -> Connector + Send + Sync>;

/// Where an arm is to be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ArmSource {
    /// The arm of the pretend rig.
    Simulated,
    Port {
        /// The port's name: `/dev/ttyACM0`, `COM3`.
        path: String,
        /// The id that its calibration is kept under.
        id: String,
    },
}

impl ArmSource {
    /// The port, for a real arm.
    pub fn port(&self) -> Option<&str> {
        match self {
            Self::Simulated => None,
            Self::Port { path, .. } => Some(path),
        }
    }

    /// Whether people stand beside it.
    pub fn is_real(&self) -> bool {
        matches!(self, Self::Port { .. })
    }
}

impl fmt::Display for ArmSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simulated => f.write_str("simulated rig"),
            Self::Port { path, .. } => f.write_str(path),
        }
    }
}

/// The arms in use, by role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sources {
    pub follower: Option<ArmSource>,
    pub leader: Option<ArmSource>,
}

impl Sources {
    /// The arm in this role.
    pub fn of(&self, role: Role) -> Option<&ArmSource> {
        match role {
            Role::Follower => self.follower.as_ref(),
            Role::Leader => self.leader.as_ref(),
        }
    }

    /// Whether the arm in this role is a real one.
    pub fn is_real(&self, role: Role) -> bool {
        self.of(role).is_some_and(ArmSource::is_real)
    }

    /// Puts another arm into a role, or none.
    pub fn set(&mut self, role: Role, source: Option<ArmSource>) {
        match role {
            Role::Follower => self.follower = source,
            Role::Leader => self.leader = source,
        }
    }

    /// What the arm behind a port is used as, if it is used at all.
    pub fn role_of(&self, port: &str) -> Option<Role> {
        let at = |role: &Role| self.of(*role).and_then(ArmSource::port) == Some(port);
        Role::ALL.into_iter().find(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_found_by_the_role_it_is_used_in() {
        let mut sources = Sources::default();
        assert_eq!(sources.role_of("COM3"), None);
        let leader = ArmSource::Port {
            path: "COM3".to_owned(),
            id: "amber".to_owned(),
        };
        sources.set(Role::Leader, Some(leader.clone()));
        sources.set(Role::Follower, Some(ArmSource::Simulated));
        assert_eq!(sources.role_of("COM3"), Some(Role::Leader));
        assert_eq!(sources.of(Role::Leader), Some(&leader));
        assert_eq!(leader.to_string(), "COM3");
        assert!(sources.is_real(Role::Leader) && !sources.is_real(Role::Follower));
    }
}
