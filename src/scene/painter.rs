//! Whatever can draw the scene on this machine: a GPU if there is one, else the CPU.

use crate::scene::{Edges, Offscreen, SceneInput, Software, View};

/// Draws pictures of one size.
pub enum Painter {
    /// On a hardware adapter.
    Hardware(Box<Offscreen>),
    /// On the CPU, with the reason why not on an adapter.
    Software(Box<Software>, String),
}

impl Painter {
    /// Takes the hardware adapter; an emulated one is passed over, because it needs more of the CPU than [`Software`] does.
    pub fn open(size: [u32; 2]) -> Self {
        match Offscreen::on_hardware(size) {
            Ok(offscreen) => Self::Hardware(Box::new(offscreen)),
            Err(reason) => Self::software(size, reason.to_string()),
        }
    }

    /// On the CPU, for this reason.
    pub fn software(size: [u32; 2], reason: String) -> Self {
        Self::Software(Box::new(Software::new(size, Edges::Stepped)), reason)
    }

    /// What draws, and why, for people.
    pub fn name(&self) -> String {
        match self {
            Self::Hardware(offscreen) => offscreen.adapter_name(),
            Self::Software(_, reason) => format!("the CPU, because {reason}"),
        }
    }

    /// Draws one picture: RGB, 8 bits a channel, row-major. An adapter that fails is left for the CPU, once and for all.
    pub fn draw(&mut self, input: &SceneInput<'_>, view: &View) -> Vec<u8> {
        if let Self::Hardware(offscreen) = self {
            match offscreen.draw(input, view) {
                Ok((rgb, _)) => return rgb,
                Err(error) => {
                    log::warn!("{error}; the scene is drawn on the CPU from now on");
                    *self = Self::software(offscreen.size(), error.to_string());
                }
            }
        }
        match self {
            Self::Software(software, _) => software.draw(input, view),
            Self::Hardware(_) => Vec::new(),
        }
    }
}
