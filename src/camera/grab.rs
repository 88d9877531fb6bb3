//! What the camera thread asks of whatever fills a camera: one frame after the other, until it fails.

use std::sync::Arc;
use std::time::Duration;

use super::error::Error;

/// One opened source. It is dropped at the first error and opened anew.
pub(super) trait Grab {
    /// What it is, for people.
    fn describe(&self) -> String;

    /// The next picture. May block for as long as the device needs.
    ///
    /// # Errors
    /// Whatever ended the stream; [`Error::concerns_one_frame`] tells errors that leave it open.
    fn grab(&mut self) -> Result<Grabbed, Error>;
}

/// What one call brought.
pub(super) struct Grabbed {
    /// Nothing when the device repeated its last frame.
    pub picture: Option<Picture>,
    /// How long to wait before the next call; zero where the device itself sets the pace.
    pub wait: Duration,
}

/// A decoded picture.
#[derive(Clone)]
pub(super) struct Picture {
    pub width: u32,
    pub height: u32,
    /// RGB, `width * height * 3` bytes.
    pub rgb: Arc<[u8]>,
    /// When the light fell, on the runtime's clock.
    pub captured_at: Duration,
    /// Another picture than the one before; a still picture is the same again, only later.
    pub new: bool,
}
