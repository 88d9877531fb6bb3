//! What the arm can be asked to do on the pretend table: the words for it, a table to do it on, and a referee who judges it.

mod laying;
mod referee;
mod track;
mod words;

use std::fmt;

pub use referee::{Referee, Verdict};
pub use words::{SENTENCES, UnknownTask};

pub(super) use referee::tray_of;
pub(super) use track::is_gripped;

use crate::scene::Tray;
use crate::sim::{Colour, CubeTruth, Truth};

/// One thing to do. Its [`Display`](fmt::Display) is the sentence that a policy is given; people may word it otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// Bring the finger tips to the cube without shoving it about.
    Touch(Colour),
    /// Hold the cube in the air between both jaws.
    PickUp(Colour),
    /// Set the cube down in the box.
    PutInBox(Colour),
    /// Set the first cube down on the second one.
    Stack(Colour, Colour),
    /// Each red cube into the red box, each blue cube into the blue box.
    Sort,
    /// Shove the cube along the table until its middle is on the mark.
    Push(Colour),
}

/// Colours that are sorted, each into the box of its own.
pub(super) const SORTED: [Colour; 2] = [Colour::Red, Colour::Blue];

impl Task {
    /// What a newcomer sees first, and what the published figures were measured on.
    pub const USUAL: Self = Self::PutInBox(Colour::Red);

    /// One of each kind, in the order in which a menu shows them.
    pub const ALL: [Self; 6] = [
        Self::USUAL,
        Self::PickUp(Colour::Red),
        Self::Touch(Colour::Red),
        Self::Stack(Colour::Red, Colour::Blue),
        Self::Push(Colour::Red),
        Self::Sort,
    ];

    /// The colours of the cubes that it is about.
    pub fn colours(self) -> Vec<Colour> {
        match self {
            Self::Touch(cube) | Self::PickUp(cube) | Self::PutInBox(cube) | Self::Push(cube) => {
                vec![cube]
            }
            Self::Stack(top, base) => vec![top, base],
            Self::Sort => SORTED.to_vec(),
        }
    }

    /// Why it cannot be done on this table: what is missing there.
    pub fn obstacle(self, truth: &Truth) -> Option<String> {
        let colours = self.colours();
        let lacks = |colour: &&Colour| truth.cube_of(**colour).is_none();
        let no_cube = colours.iter().find(lacks);
        let no_place = || match self {
            Self::PutInBox(_) => truth.trays.is_empty().then(|| "box".to_owned()),
            Self::Push(_) => truth.marks.is_empty().then(|| "mark".to_owned()),
            Self::Sort => {
                let mut colours = colours.iter();
                let unboxed = colours.find(|colour| tray_of(truth, **colour).is_none())?;
                Some(format!("{unboxed} box"))
            }
            Self::Touch(_) | Self::PickUp(_) | Self::Stack(..) => None,
        };
        let missing = no_cube.map(|colour| format!("{colour} cube"));
        let missing = missing.or_else(no_place)?;
        Some(format!("there is no {missing} on the table"))
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Touch(cube) => write!(f, "touch the {cube} cube"),
            Self::PickUp(cube) => write!(f, "pick up the {cube} cube"),
            Self::PutInBox(cube) => write!(f, "put the {cube} cube in the box"),
            Self::Stack(top, base) => write!(f, "stack the {top} cube on the {base} cube"),
            Self::Sort => {
                f.write_str("sort: red cubes into the red box and blue cubes into the blue box")
            }
            Self::Push(cube) => write!(f, "push the {cube} cube to the mark"),
        }
    }
}

/// Whether the middle of a cube is between the walls of a tray and below their top.
pub(super) fn is_inside(cube: &CubeTruth, tray: &Tray) -> bool {
    let off = tray_from_base(tray, cube.cube.position.truncate()).abs();
    off.cmple(0.5 * tray.inner).all() && cube.cube.position.z < tray.height + 0.5 * cube.cube.edge
}

/// A place of the table in the frame of a tray, metres.
pub(super) fn tray_from_base(tray: &Tray, place: glam::Vec2) -> glam::Vec2 {
    glam::Vec2::from_angle(-tray.turn).rotate(place - tray.position)
}
