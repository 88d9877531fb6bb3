//! The colours that things on the table are told apart by.

use std::fmt;

use crate::scene::srgb;

/// What a cube, a box or a mark is called by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Colour {
    Red,
    Blue,
    Green,
    Yellow,
    /// Of the usual box and mark, far in hue from the orange arm, a wooden table and all cubes. No cube has it.
    Teal,
}

impl Colour {
    /// Those that cubes have, in the order in which a table is laid.
    pub const CUBES: [Self; 4] = [Self::Red, Self::Blue, Self::Green, Self::Yellow];

    /// Linear RGB, 0 to 1.
    pub fn rgb(self) -> [f32; 3] {
        srgb(match self {
            Self::Red => 0xC8_372D,
            Self::Blue => 0x2F_6FD0,
            Self::Green => 0x3C_9A4E,
            Self::Yellow => 0xE3_B92F,
            Self::Teal => 0x1F_8A8C,
        })
    }

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Red => "red",
            Self::Blue => "blue",
            Self::Green => "green",
            Self::Yellow => "yellow",
            Self::Teal => "teal",
        }
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
