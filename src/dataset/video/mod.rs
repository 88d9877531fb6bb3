//! Films of an episode's cameras: made while it runs, packed into mp4 files as LeRobot reads them, and looked at again.
//!
//! While an episode runs, the built-in H.264 encoder makes one [`AccessUnit`] of each picture, so that a journal holds exactly as many
//! as there are rows. What an installed ffmpeg is wanted for (AV1, an encoder of the graphics card) is done from that journal when the
//! episode is saved: such an encoder looks ahead, holds pictures back and can die, and none of that may happen beside the arm.

use std::time::Duration;

mod decode;
mod encode;
mod ffmpeg;
mod film;
pub mod mp4;
pub mod pixels;
mod scratch;
#[cfg(test)]
mod tests;
mod unit;

pub use encode::{Encoder, open_encoder};
pub use ffmpeg::{Ffmpeg, Settings, transcode};
pub use film::Film;
pub use unit::{AccessUnit, CodecConfig, Coding};

/// No film is longer: LeRobot finds pictures by their time in 32 bits, which beyond 1024 s is coarser than its own tolerance.
pub const LONGEST_FILM: Duration = Duration::from_secs(1000);
