//! Which layout a data set is in, so that old and new ones are read alike and others are refused with the way out.

use std::fmt;

/// The layout of a data set on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// One table and one film an episode, statistics of the whole.
    V20,
    /// As 2.0, with statistics by episode.
    V21,
    /// Many episodes in one table and one film.
    V30,
}

impl Version {
    /// Reads `codebase_version`; `Err` says why it cannot be read and what helps.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let digits = text.trim().trim_start_matches('v');
        let mut parts = digits.split('.').map(str::parse::<u32>);
        let (Some(Ok(major)), minor) = (parts.next(), parts.next()) else {
            return Err(format!("codebase_version is {text:?}, expected \"v3.0\""));
        };
        match (major, minor) {
            (0 | 1, _) => Err(format!(
                "is a data set of layout {text}, which is too old: convert it with LeRobot's own scripts (v1 to v2.0, v2.0 to v2.1, \
                 v2.1 to v3.0)"
            )),
            (2, Some(Ok(0)) | None) => Ok(Self::V20),
            (2, _) => Ok(Self::V21),
            (3, _) => Ok(Self::V30),
            _ => Err(format!(
                "is a data set of layout {text}, which is newer than this program knows (v3): get a newer smolpilot"
            )),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V20 => "v2.0",
            Self::V21 => "v2.1",
            Self::V30 => "v3.0",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_told_apart_and_others_refused_with_a_way_out() {
        let read = |text| Version::parse(text);
        assert_eq!(read("v3.0"), Ok(Version::V30));
        assert_eq!(read("v3.1"), Ok(Version::V30));
        assert_eq!(read("v2.1"), Ok(Version::V21));
        assert_eq!(read("v2.0"), Ok(Version::V20));
        assert_eq!(read("2.0"), Ok(Version::V20));
        assert!(read("v1.6").unwrap_err().contains("convert it"));
        assert!(read("v4.0").unwrap_err().contains("newer smolpilot"));
        assert!(read("three").unwrap_err().contains("v3.0"));
        assert_eq!(Version::V21.to_string(), "v2.1");
    }
}
