//! The workshop: where an arm becomes one that may be driven. It finds ports, says who is on them, gives servos their
//! numbers, calibrates, and shows which arm is which, on a thread of its own that owns every port it opens and never opens
//! one that the runtime drives.

mod calibration;
mod identify;
mod numbering;
mod shop;
mod survey;
mod thread;
mod view;

use std::fmt;

pub use shop::{Shop, Tools};
pub use thread::Workshop;
pub use view::{
    Activity, ArmCard, CalibratingView, CalibrationState, IdentifiedArm, Line, NumberingView,
    PortView, SavedView, Trouble, WorkshopView,
};

use crate::arm::Role;
use crate::joint::Joint;

/// What the operator wants of the workshop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Which ports are there now, and who is on those that servo adapters sit behind?
    Survey,
    /// Who is on this port, listed or not?
    Look(String),
    /// Which port is it? Found by pulling the plug and putting it in again.
    FindPort,
    /// Which arm is which? Shows how the joints of all arms are moved by hand.
    Identify,
    /// Calibrate the arm on this port.
    Calibrate { port: String, role: Role },
    /// Give the servos of an arm their numbers, one at a time, on this port.
    SetIds { port: String, role: Role },
    /// What this step asked for has been done: on to the next.
    Next,
    /// Do it although the servo looks like another joint's.
    Insist,
    /// Back by a step.
    Back,
    /// Sweep this joint again.
    Redo(Joint),
    /// Take the torque off the arm on this port; the operator supports it.
    LetGo(String),
    /// Write the calibration into the servos and keep it under this id.
    Save { id: String },
    /// Leave what is being done. Nothing has been written unless it was saved.
    Cancel,
}

impl Order {
    /// The port that it is about to open, if it names one.
    pub fn port(&self) -> Option<&str> {
        match self {
            Self::Look(port)
            | Self::LetGo(port)
            | Self::Calibrate { port, .. }
            | Self::SetIds { port, .. } => Some(port),
            _ => None,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Survey | Self::Look(_) => "looking at a port",
            Self::FindPort => "finding a port",
            Self::Identify => "identifying the arms",
            Self::Calibrate { .. } => "calibrating",
            Self::SetIds { .. } => "numbering servos",
            Self::LetGo(_) => "letting an arm go",
            Self::Next | Self::Insist | Self::Back | Self::Redo(_) => "a step",
            Self::Save { .. } => "saving",
            Self::Cancel => "leaving",
        })
    }
}
