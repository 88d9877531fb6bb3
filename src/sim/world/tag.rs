//! What a shape in the engine belongs to, so that a contact can be told.

/// Whose shape it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    Table,
    FixedJaw,
    MovingJaw,
    /// The arm but for its jaws.
    Arm,
    Tray(usize),
    Cube(usize),
}

/// From here on codes are those of trays, and from there on of cubes.
const TRAYS: u128 = 1 << 16;
const CUBES: u128 = 1 << 32;

impl Tag {
    /// As the engine carries it.
    pub fn code(self) -> u128 {
        match self {
            Self::Table => 0,
            Self::FixedJaw => 1,
            Self::MovingJaw => 2,
            Self::Arm => 3,
            Self::Tray(k) => TRAYS + k as u128,
            Self::Cube(k) => CUBES + k as u128,
        }
    }

    /// Whose code it is.
    pub fn of(code: u128) -> Self {
        match code {
            0 => Self::Table,
            1 => Self::FixedJaw,
            2 => Self::MovingJaw,
            3..TRAYS => Self::Arm,
            TRAYS..CUBES => Self::Tray((code - TRAYS) as usize),
            _ => Self::Cube((code - CUBES) as usize),
        }
    }

    /// Whether it is part of the arm.
    pub fn is_arm(self) -> bool {
        matches!(self, Self::FixedJaw | Self::MovingJaw | Self::Arm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_comes_back_from_its_code() {
        for tag in [
            Tag::Table,
            Tag::FixedJaw,
            Tag::MovingJaw,
            Tag::Arm,
            Tag::Tray(0),
            Tag::Tray(7),
            Tag::Cube(0),
            Tag::Cube(12),
        ] {
            assert_eq!(Tag::of(tag.code()), tag);
        }
    }
}
