//! The thread of one camera: it alone talks to the device, and nobody ever waits for it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use super::error::Error;
use super::feed::Feed;
use super::images::Images;
use super::mode::Options;
use super::pump::{Opener, Pump};
use super::reel::{Projector, Show};
use super::source::{Source, Spec};
use crate::clock::Clock;

/// How long closing waits for a driver that blocks; after that its thread is left to end by itself.
const PATIENCE: Duration = Duration::from_secs(1);

/// A running camera. Dropping it closes the device and ends its thread.
#[derive(Debug)]
pub struct Camera {
    feed: Feed,
    /// Dropped to say stop.
    stop: Option<Sender<()>>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

impl Camera {
    /// Starts the thread of a camera and returns at once; the feed says how the opening went. `projector` opens films.
    ///
    /// # Errors
    /// [`Error::NoDeviceSupport`] for a device in a build without cameras, [`Error::Thread`] when the system gives no thread.
    pub fn open(spec: &Spec, clock: Clock, projector: &Projector) -> Result<Self, Error> {
        let feed = Feed::new(&spec.name, spec.source.to_string());
        let opener = opener(spec, &clock, projector)?;
        Self::start(feed, clock, opener)
    }

    /// The reader's end; clone it for the runtime.
    pub fn feed(&self) -> &Feed {
        &self.feed
    }

    fn start(feed: Feed, clock: Clock, open: Opener) -> Result<Self, Error> {
        let (stop, stopped) = bounded::<()>(0);
        let (end, ended) = bounded::<()>(0);
        let (name, for_pump) = (feed.name.clone(), feed.clone());
        std::thread::Builder::new()
            .name(format!("camera {name}"))
            .spawn(move || {
                // Drivers' handles belong to one thread, so that the pump is made, used and dropped here.
                let mut pump = Pump::new(for_pump, clock, open);
                run(&name, &mut pump, &stopped);
                // The device is closed before the end is told.
                drop(pump);
                drop(end);
            })
            .map_err(|source| Error::Thread {
                camera: feed.name.clone(),
                source,
            })?;
        Ok(Self {
            feed,
            stop: Some(stop),
            ended,
        })
    }
}

impl Drop for Camera {
    fn drop(&mut self) {
        self.stop = None;
        if self.ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            log::warn!(
                "camera {}: its driver blocks; its thread ends when the driver answers",
                self.feed.name
            );
        }
    }
}

fn run(name: &str, pump: &mut Pump, stopped: &Receiver<()>) {
    let mut wait = Duration::ZERO;
    while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        // Camera drivers and their bindings panic on devices that answer oddly; that must cost one camera a second, not
        // the thread.
        wait = catch_unwind(AssertUnwindSafe(|| pump.step())).unwrap_or_else(|panic| {
            pump.lose(&Error::Panicked {
                camera: name.to_owned(),
                why: said(panic.as_ref()),
            })
        });
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_else(|| "a panic without words".to_owned())
}

fn opener(spec: &Spec, clock: &Clock, projector: &Projector) -> Result<Opener, Error> {
    let (options, clock) = (spec.options, clock.clone());
    Ok(match spec.source.clone() {
        Source::Image(path) => {
            Box::new(move || Ok(Box::new(Images::still(&path, options.rate_hz, &clock)?)))
        }
        Source::Directory(path) => {
            Box::new(move || Ok(Box::new(Images::directory(&path, options.rate_hz, &clock)?)))
        }
        source @ (Source::Film(_) | Source::Episode { .. }) => {
            let projector = Arc::clone(projector);
            Box::new(move || {
                let reel = projector(&source).map_err(Error::Film)?;
                Ok(Box::new(Show::new(reel, &clock)?))
            })
        }
        Source::Device(wanted) => device_opener(wanted, options, clock)?,
    })
}

#[cfg(feature = "gui")]
#[expect(
    clippy::unnecessary_wraps,
    reason = "the build without cameras returns an error here"
)]
fn device_opener(wanted: String, options: Options, clock: Clock) -> Result<Opener, Error> {
    // Once found it is sought by its stable id: the node that the operator named may be another camera's after a replug.
    let mut wanted = wanted;
    Ok(Box::new(move || {
        let device = super::device::Device::open(&wanted, &options, &clock)?;
        device.id().clone_into(&mut wanted);
        Ok(Box::new(device))
    }))
}

#[cfg(not(feature = "gui"))]
#[expect(
    clippy::needless_pass_by_value,
    reason = "the build with cameras keeps them"
)]
fn device_opener(wanted: String, _options: Options, _clock: Clock) -> Result<Opener, Error> {
    Err(Error::NoDeviceSupport {
        wanted: format!("camera {wanted}"),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Instant;

    use super::super::feed::FeedState;
    use super::super::grab::{Grab, Grabbed, Picture};
    use super::*;

    /// Far longer than anything here takes; a test that reaches it has failed.
    const LONG: Duration = Duration::from_mins(1);

    fn spec(source: Source) -> Spec {
        Spec {
            name: "front".to_owned(),
            source,
            options: Options::default(),
        }
    }

    /// Shows no films.
    fn nobody() -> Projector {
        Arc::new(|source| Err(format!("{source}: no projector")))
    }

    fn wait_for(what: &str, mut seen: impl FnMut() -> bool) {
        let start = Instant::now();
        while !seen() {
            assert!(start.elapsed() < LONG, "never saw {what}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn pictures_of_a_directory_reach_the_feed_and_dropping_ends_the_thread() {
        let folder = tempfile::tempdir().unwrap();
        for (name, red) in [("1.png", 10), ("2.png", 20)] {
            image::RgbImage::from_pixel(2, 2, image::Rgb([red, 0, 0]))
                .save(folder.path().join(name))
                .unwrap();
        }
        let spec: Spec = format!("front={}?rate=200", folder.path().display())
            .parse()
            .unwrap();
        let camera = Camera::open(&spec, Clock::real(), &nobody()).unwrap();
        let feed = camera.feed().clone();
        wait_for("the third frame", || {
            feed.frames.get().is_some_and(|frame| frame.seq >= 3)
        });
        assert!(feed.describe().starts_with("2 images in"));
        let ended = camera.ended.clone();
        drop(camera);
        assert_eq!(
            ended.try_recv(),
            Err(crossbeam_channel::TryRecvError::Disconnected)
        );
    }

    #[test]
    fn a_picture_that_vanished_is_lost_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gone.png");
        let spec = spec(Source::Image(path));
        let camera = Camera::open(&spec, Clock::real(), &nobody()).unwrap();
        wait_for("the loss", || {
            matches!(
                camera.feed().state.get().as_deref(),
                Some(FeedState::Lost(why)) if why.contains("gone.png")
            )
        });
    }

    #[test]
    fn a_film_that_does_not_open_is_lost_with_the_reason() {
        let spec = spec(Source::Film("cubes.mp4".into()));
        let camera = Camera::open(&spec, Clock::real(), &nobody()).unwrap();
        wait_for("the loss", || {
            matches!(
                camera.feed().state.get().as_deref(),
                Some(FeedState::Lost(why)) if why.contains("film cubes.mp4: no projector")
            )
        });
    }

    #[test]
    fn a_driver_that_panics_is_opened_anew() {
        struct Nervous(u32);
        impl Grab for Nervous {
            fn describe(&self) -> String {
                "nervous".to_owned()
            }
            fn grab(&mut self) -> Result<Grabbed, Error> {
                assert!(self.0 > 0, "an answer nobody expected");
                Ok(Grabbed {
                    picture: Some(Picture {
                        width: 1,
                        height: 1,
                        rgb: Arc::from([1; 3]),
                        captured_at: Duration::ZERO,
                        new: true,
                    }),
                    wait: Duration::from_millis(1),
                })
            }
        }
        let opened = Arc::new(AtomicU32::new(0));
        let feed = Feed::new("front", "nervous");
        let count = Arc::clone(&opened);
        let open: Opener =
            Box::new(move || Ok(Box::new(Nervous(count.fetch_add(1, Ordering::SeqCst)))));
        let camera = Camera::start(feed.clone(), Clock::real(), open).unwrap();
        wait_for("a frame after the panic", || feed.frames.get().is_some());
        assert_eq!(opened.load(Ordering::SeqCst), 2);
        drop(camera);
    }

    #[test]
    fn closing_a_camera_whose_driver_blocks_does_not_block() {
        struct Stuck(Sender<()>, Receiver<()>);
        impl Grab for Stuck {
            fn describe(&self) -> String {
                "stuck".to_owned()
            }
            fn grab(&mut self) -> Result<Grabbed, Error> {
                self.0.send(()).unwrap();
                // Until the test lets go, long after the camera is closed.
                self.1.recv().unwrap_err();
                Ok(Grabbed {
                    picture: None,
                    wait: Duration::ZERO,
                })
            }
        }
        let (reached, blocked) = bounded(0);
        let (release, released) = bounded(0);
        let open: Opener = Box::new(move || Ok(Box::new(Stuck(reached.clone(), released.clone()))));
        let camera = Camera::start(Feed::new("front", "stuck"), Clock::real(), open).unwrap();
        let ended = camera.ended.clone();
        blocked.recv().unwrap();
        drop(camera);
        assert_eq!(
            ended.try_recv(),
            Err(crossbeam_channel::TryRecvError::Empty)
        );
        drop(release);
        assert_eq!(ended.recv(), Err(crossbeam_channel::RecvError));
    }

    #[cfg(not(feature = "gui"))]
    #[test]
    fn a_device_without_camera_support_is_refused_at_once() {
        let spec = spec(Source::Device("C920".to_owned()));
        let error = Camera::open(&spec, Clock::real(), &nobody()).unwrap_err();
        assert!(error.to_string().contains("C920"));
    }
}
