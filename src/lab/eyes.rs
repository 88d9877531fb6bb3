//! What the cameras of a measured run show. The expert needs no pictures, but it is asked as a network would be: with fresh
//! ones, and not at all while a camera is frozen.

use std::sync::Arc;
use std::time::Duration;

use crate::camera::{Feed, FeedState};
use crate::observation::Frame;

/// The cameras of the rig.
pub const CAMERAS: [&str; 2] = ["front", "wrist"];
/// Edge of the picture for policies that do not look at it, pixels.
const SMALL: u32 = 2;
/// What the feeds say of their rate; it is shown and nothing depends on it.
const RATE_HZ: f32 = 30.0;

/// Two cameras that deliver once a tick.
#[derive(Debug)]
pub struct Eyes {
    feeds: [Feed; 2],
    /// Width and height of what they show, and its pixels.
    size: [u32; 2],
    pixels: Vec<Arc<[u8]>>,
    seq: u64,
    frozen: Option<usize>,
}

impl Eyes {
    /// Cameras that show a grey speck and have delivered nothing yet.
    pub fn open() -> Self {
        let feeds = CAMERAS.map(|name| Feed::new(name, "made for a measured run"));
        for feed in &feeds {
            feed.state.set(FeedState::Live { rate_hz: RATE_HZ });
        }
        let grey: Arc<[u8]> = vec![127; (SMALL * SMALL * 3) as usize].into();
        Self {
            feeds,
            size: [SMALL, SMALL],
            pixels: vec![Arc::clone(&grey), grey],
            seq: 0,
            frozen: None,
        }
    }

    /// The readers' ends.
    pub fn feeds(&self) -> Vec<Feed> {
        self.feeds.to_vec()
    }

    /// This camera, by its place in [`CAMERAS`], delivers nothing from now on; `None` lets all go on.
    pub fn freeze(&mut self, camera: Option<usize>) {
        self.frozen = camera;
    }

    /// From now on the cameras show these pictures, RGB, in the order of [`CAMERAS`].
    pub fn show(&mut self, size: [u32; 2], pixels: Vec<Arc<[u8]>>) {
        (self.size, self.pixels) = (size, pixels);
        self.seq += 1;
    }

    /// Delivers what they show, taken at `now`.
    pub fn deliver(&mut self, now: Duration) {
        let [width, height] = self.size;
        for (at, (feed, rgb)) in self.feeds.iter().zip(&self.pixels).enumerate() {
            if self.frozen == Some(at) {
                continue;
            }
            if let Some(frame) = Frame::new(width, height, Arc::clone(rgb), self.seq, now) {
                feed.frames.set(frame);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frozen_camera_delivers_nothing_new() {
        let mut eyes = Eyes::open();
        let second = Duration::from_secs(1);
        eyes.deliver(second);
        eyes.freeze(Some(1));
        eyes.deliver(second * 2);
        let times = || {
            let feeds = eyes.feeds();
            let taken = feeds.iter().map(|feed| feed.frames.get());
            let times: Vec<_> = taken.flatten().map(|frame| frame.captured_at).collect();
            times
        };
        assert_eq!(times(), [second * 2, second]);
    }
}
