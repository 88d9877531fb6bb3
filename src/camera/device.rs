//! Real cameras, through nokhwa: V4L2 on Linux, `AVFoundation` on macOS, Media Foundation on Windows. No other file names it.
//!
//! Frames arrive raw with a label and are decoded by `pixels`. A driver that neither delivers nor fails blocks the camera's
//! thread, since nokhwa offers no timeout: the feed then ages, which pauses the policy, until the camera is pulled.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crossbeam_channel::bounded;
use nokhwa::utils::{
    ApiBackend, CameraFormat, CameraIndex, CameraInfo, FrameFormat, RequestedFormat,
    RequestedFormatType, Resolution, frame_formats,
};
use nokhwa::{Buffer, NokhwaError};

use super::error::Error;
use super::grab::{Grab, Grabbed, Picture};
use super::listing::{DeviceInfo, select};
use super::mode::{Mode, Options, PixelFormat};
use super::pixels::{rgb_from_raw, without_page_rest};
use crate::clock::Clock;

/// A person has to answer the system's question whether this program may use cameras.
const PERMISSION_PATIENCE: Duration = Duration::from_mins(1);
/// A frame cannot be older than this when it arrives; a driver that says so counts time in its own way.
const OLDEST_ARRIVAL: Duration = Duration::from_secs(2);

/// Lists the cameras of this machine that deliver pictures, by index.
///
/// # Errors
/// [`Error::List`] when the system cannot be asked.
pub fn list() -> Result<Vec<DeviceInfo>, Error> {
    let found = nokhwa::query(ApiBackend::Auto).map_err(|why| Error::List {
        why: why.to_string(),
    })?;
    let mut devices: Vec<_> = found.iter().filter_map(info).collect();
    devices.sort_by_key(|device| device.index);
    Ok(devices)
}

#[cfg(target_os = "linux")]
fn info(camera: &CameraInfo) -> Option<DeviceInfo> {
    let index = camera.index().as_index().ok()?;
    let nodes = super::nodes::Nodes::of_this_machine();
    let node = nodes.node(index);
    nodes.captures(index).then(|| DeviceInfo {
        id: nodes
            .stable_id(index)
            .unwrap_or_else(|| node.display().to_string()),
        name: camera.human_name(),
        index,
        node: Some(node),
    })
}

/// macOS and Windows put their stable name into `misc`. Both may list with a textual index.
#[cfg(not(target_os = "linux"))]
fn info(camera: &CameraInfo) -> Option<DeviceInfo> {
    Some(DeviceInfo {
        id: camera.misc(),
        name: camera.human_name(),
        index: camera.index().as_index().ok()?,
        node: None,
    })
}

/// An open camera.
pub(super) struct Device {
    camera: nokhwa::Camera,
    info: DeviceInfo,
    mode: Mode,
    read_as: PixelFormat,
    clock: Clock,
    /// The driver's stamp of the newest frame; the same stamp again is the same frame again.
    stamp: Option<Duration>,
}

impl Device {
    /// Opens the camera that `wanted` means in the mode that fits `options` best, and starts its stream.
    ///
    /// # Errors
    /// Names the camera and what is wrong: absent, ambiguous, forbidden, busy, or without a fitting mode.
    pub(super) fn open(wanted: &str, options: &Options, clock: &Clock) -> Result<Self, Error> {
        ask_permission()?;
        let present = list()?;
        let info = select(wanted, &present)?.clone();
        let failed = |why: NokhwaError| Error::Open {
            camera: info.to_string(),
            why: why.to_string(),
        };
        let any = RequestedFormat::with_formats(RequestedFormatType::None, frame_formats());
        let mut camera =
            nokhwa::Camera::new(CameraIndex::Index(info.index), any).map_err(failed)?;
        let formats = camera.compatible_camera_formats().map_err(failed)?;
        let modes: Vec<_> = formats.iter().map(mode_from_nokhwa).collect();
        let chosen = options
            .choose(&modes)
            .ok_or_else(|| no_mode(&info, options, &modes))?;
        let exact = nokhwa_from_mode(chosen).ok_or_else(|| no_mode(&info, options, &modes))?;
        camera
            .set_camera_requset(RequestedFormat::with_formats(
                RequestedFormatType::Exact(exact),
                &[exact.format()],
            ))
            .map_err(failed)?;
        camera.open_stream().map_err(failed)?;
        let mode = mode_from_nokhwa(&camera.camera_format());
        Ok(Self {
            camera,
            info,
            mode,
            read_as: options.read_as.unwrap_or(mode.format),
            clock: clock.clone(),
            stamp: None,
        })
    }

    /// The name by which to find it again.
    pub(super) fn id(&self) -> &str {
        &self.info.id
    }

    /// When the light fell, from the driver's stamp where it has a believable one.
    fn captured_at(&self, stamp: Option<Duration>) -> Duration {
        let arrived = self.clock.now();
        let age = stamp.and_then(|stamp| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
            now.checked_sub(stamp).filter(|&age| age < OLDEST_ARRIVAL)
        });
        arrived.saturating_sub(age.unwrap_or_default())
    }

    fn picture(&self, frame: &Buffer) -> Result<Picture, Error> {
        let Resolution { width_x, height_y } = frame.resolution();
        let bytes = without_page_rest(self.read_as, width_x, height_y, frame.buffer());
        let rgb = rgb_from_raw(self.read_as, width_x, height_y, bytes)?;
        Ok(Picture {
            width: width_x,
            height: height_y,
            rgb: Arc::from(rgb),
            captured_at: self.captured_at(frame.capture_timestamp()),
            new: true,
        })
    }
}

impl Grab for Device {
    fn describe(&self) -> String {
        let relabelled = if self.read_as == self.mode.format {
            String::new()
        } else {
            format!(" read as {}", self.read_as)
        };
        format!("{} {}{relabelled}", self.info, self.mode)
    }

    fn grab(&mut self) -> Result<Grabbed, Error> {
        let frame = self.camera.frame().map_err(|why| Error::Stopped {
            camera: self.info.to_string(),
            why: why.to_string(),
        })?;
        let stamp = frame.capture_timestamp();
        let repeated = stamp.is_some() && stamp == self.stamp;
        self.stamp = stamp;
        Ok(Grabbed {
            picture: (!repeated).then(|| self.picture(&frame)).transpose()?,
            wait: Duration::ZERO,
        })
    }
}

/// Asks for the permission that macOS wants; other systems have given it already.
fn ask_permission() -> Result<(), Error> {
    if nokhwa::nokhwa_check() {
        return Ok(());
    }
    let (answer, answered) = bounded(1);
    nokhwa::nokhwa_initialize(move |granted| {
        // A second answer finds the channel full and is not needed.
        answer.try_send(granted).ok();
    });
    match answered.recv_timeout(PERMISSION_PATIENCE) {
        Ok(true) => Ok(()),
        Ok(false) | Err(_) => Err(Error::Forbidden),
    }
}

fn no_mode(info: &DeviceInfo, options: &Options, modes: &[Mode]) -> Error {
    let wanted = options
        .format
        .map_or_else(|| "usable".to_owned(), |format| format.to_string());
    Error::NoMode {
        camera: info.to_string(),
        wanted,
        has: match modes {
            [] => "none that this program reads".to_owned(),
            some => some
                .iter()
                .map(Mode::to_string)
                .collect::<Vec<_>>()
                .join(", "),
        },
    }
}

fn mode_from_nokhwa(format: &CameraFormat) -> Mode {
    Mode {
        width: format.width(),
        height: format.height(),
        rate_hz: format.frame_rate(),
        format: match format.format() {
            FrameFormat::MJPEG => PixelFormat::Mjpeg,
            FrameFormat::YUYV => PixelFormat::Yuyv,
            FrameFormat::NV12 => PixelFormat::Nv12,
            FrameFormat::GRAY => PixelFormat::Gray,
            FrameFormat::RAWRGB => PixelFormat::Rgb,
            FrameFormat::RAWBGR => PixelFormat::Bgr,
        },
    }
}

/// `None` for UYVY, which nokhwa does not know: such a camera appears under another label and needs `read_as`.
fn nokhwa_from_mode(mode: Mode) -> Option<CameraFormat> {
    let format = match mode.format {
        PixelFormat::Mjpeg => FrameFormat::MJPEG,
        PixelFormat::Yuyv => FrameFormat::YUYV,
        PixelFormat::Nv12 => FrameFormat::NV12,
        PixelFormat::Gray => FrameFormat::GRAY,
        PixelFormat::Rgb => FrameFormat::RAWRGB,
        PixelFormat::Bgr => FrameFormat::RAWBGR,
        PixelFormat::Uyvy => return None,
    };
    Some(CameraFormat::new(
        Resolution::new(mode.width, mode.height),
        format,
        mode.rate_hz,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_of_the_camera_crate_goes_there_and_back() {
        for &format in frame_formats() {
            let theirs = CameraFormat::new(Resolution::new(640, 480), format, 30);
            assert_eq!(nokhwa_from_mode(mode_from_nokhwa(&theirs)), Some(theirs));
        }
    }

    #[test]
    fn an_absent_camera_says_what_is_present() {
        let clock = Clock::virtual_at_zero();
        let opened = Device::open("no such camera 5f2c", &Options::default(), &clock);
        let text = opened.err().unwrap().to_string();
        assert!(text.contains("no such camera 5f2c"), "{text}");
    }
}
