//! Cameras: one thread each, the newest frame wins, and a lost camera says so instead of repeating its last picture.

#[cfg(feature = "gui")]
mod device;
mod error;
mod feed;
mod grab;
mod images;
mod listing;
mod mjpeg;
mod mode;
#[cfg(all(feature = "gui", target_os = "linux"))]
mod nodes;
mod pixels;
mod pump;
mod reel;
mod source;
mod thread;

#[cfg(feature = "gui")]
pub use device::list;
pub use error::Error;
pub use feed::{Feed, FeedState};
pub use listing::DeviceInfo;
pub use mode::{Mode, Options, PixelFormat};
pub use pixels::rgb_from_raw;
pub use reel::{Projector, Reel};
pub use source::{Source, Spec};
pub use thread::Camera;

/// Lists the cameras of this machine.
///
/// # Errors
/// Always: this build knows no cameras.
#[cfg(not(feature = "gui"))]
pub fn list() -> Result<Vec<DeviceInfo>, Error> {
    Err(Error::NoDeviceSupport {
        wanted: "the list of cameras".to_owned(),
    })
}
