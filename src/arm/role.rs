//! What an arm is for: the one that works, or the one that a hand leads it with. Same servos, same bus, other gears and
//! another folder for the calibration.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The two arms of a pair.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Has motors that move it and does the work.
    #[default]
    Follower,
    /// Stays limp and is moved by a hand; its pose is the follower's goal.
    Leader,
}

impl Role {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Follower, Self::Leader];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Follower => "follower",
            Self::Leader => "leader",
        }
    }

    /// Position in [`Role::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no role: say follower or leader")]
pub struct UnknownRole(String);

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let mut all = Self::ALL.into_iter();
        all.find(|role| role.name() == text)
            .ok_or_else(|| UnknownRole(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_read_by_its_word() {
        for role in Role::ALL {
            assert_eq!(role.to_string().parse(), Ok(role));
        }
        let wrong = "teacher".parse::<Role>().unwrap_err();
        assert!(wrong.to_string().contains("follower or leader"));
    }
}
