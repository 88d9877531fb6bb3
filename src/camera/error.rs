//! Why a camera gives no picture, naming the camera, file or size, and the way out.

use std::io;
use std::path::PathBuf;

use super::mode::PixelFormat;

/// What can go wrong between a lens, or a picture file, and an RGB frame.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The buffer is not as long as its label says.
    #[error(
        "a {width}x{height} {format} frame is {expected} bytes, the camera sent {got}{hint}: pictures are not guessed at"
    )]
    WrongLength {
        format: PixelFormat,
        width: u32,
        height: u32,
        expected: usize,
        got: usize,
        hint: String,
    },
    /// Chroma is shared by pairs of pixels, so the size must be even.
    #[error("{format} needs an even size, the camera says {width}x{height}: choose another size")]
    OddSize {
        format: PixelFormat,
        width: u32,
        height: u32,
    },
    /// A size that no buffer can have.
    #[error("a frame of {width}x{height} pixels cannot be held")]
    BadSize { width: u32, height: u32 },
    /// One frame of an MJPEG stream is damaged.
    #[error("a JPEG frame of {bytes} bytes cannot be decoded: {why}")]
    Jpeg { bytes: usize, why: String },
    /// An MJPEG frame of another size than the stream.
    #[error("the stream is {width}x{height}, a JPEG frame in it is {got_width}x{got_height}")]
    JpegSize {
        width: u32,
        height: u32,
        got_width: u32,
        got_height: u32,
    },
    /// `--camera` text that means nothing.
    #[error(
        "camera {text:?}: {why}; write NAME=SOURCE, for example front=/dev/video0 or wrist=pictures/wrist.png?rate=10"
    )]
    Spec { text: String, why: String },
    /// A picture that is not there.
    #[error("{}: no such picture, film or directory", path.display())]
    NotFound { path: PathBuf },
    /// An episode of a folder that holds no data set.
    #[error(
        "{text}: there is no data set in that folder; write DIR#EPISODE/CAMERA, for example recordings/cubes#3/front"
    )]
    NoEpisode { text: String },
    /// A film that cannot be opened, or a picture of it that cannot be decoded.
    #[error("{0}")]
    Film(String),
    /// A picture that cannot be read.
    #[error("{}: {why}; whole PNG and JPEG pictures are read", path.display())]
    Picture { path: PathBuf, why: String },
    /// A directory without pictures.
    #[error("{}: no PNG or JPEG pictures in this directory", path.display())]
    EmptyDirectory { path: PathBuf },
    /// No camera answers to this name.
    #[error("no camera is called {wanted:?}; present: {present}")]
    NoSuchCamera { wanted: String, present: String },
    /// Several cameras answer to this name.
    #[error("{wanted:?} fits several cameras, name one of: {ids}")]
    Ambiguous { wanted: String, ids: String },
    /// The cameras of this machine could not be listed.
    #[error("cameras cannot be listed: {why}")]
    List { why: String },
    /// The system has not allowed this program to use cameras.
    #[error("this program may not use cameras: allow it in the system's privacy settings")]
    Forbidden,
    /// A camera that is there but does not open.
    #[error("camera {camera} does not open: {why}; is another program using it?")]
    Open { camera: String, why: String },
    /// A camera without any mode that fits.
    #[error("camera {camera} has no {wanted} mode; it has: {has}")]
    NoMode {
        camera: String,
        wanted: String,
        has: String,
    },
    /// A camera that stopped in mid-stream.
    #[error("camera {camera} stopped: {why}; check its cable")]
    Stopped { camera: String, why: String },
    /// A build without camera support.
    #[error(
        "{wanted}: this build has no camera support (feature `gui` is off); use a picture, a directory of pictures, or a build with default features"
    )]
    NoDeviceSupport { wanted: String },
    /// A driver or a decoder panicked; the camera's thread goes on.
    #[error("the driver of camera {camera} failed inside: {why}")]
    Panicked { camera: String, why: String },
    /// The system gave no thread.
    #[error("no thread for camera {camera}: {source}")]
    Thread { camera: String, source: io::Error },
}

impl Error {
    /// Whether only one frame is bad and the next may be good, as on a noisy USB cable.
    pub(super) fn concerns_one_frame(&self) -> bool {
        matches!(
            self,
            Self::WrongLength { .. } | Self::Jpeg { .. } | Self::JpegSize { .. }
        )
    }
}
