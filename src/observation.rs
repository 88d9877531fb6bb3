//! What the robot senses: camera frames, the joint state, and the task in words. Plain data, no I/O, no tensors.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One picture of one camera.
#[derive(Clone)]
pub struct Frame {
    /// Pixels per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// RGB, 8 bits a channel, row-major, `width * height * 3` bytes.
    pub rgb: Arc<[u8]>,
    /// Counts the frames of one camera; equal numbers mean the same picture.
    pub seq: u64,
    /// When the frame was captured, on the runtime's clock.
    pub captured_at: Duration,
}

impl Frame {
    /// A frame whose buffer is checked against its size.
    ///
    /// Returns `None` when `rgb` is not `width * height * 3` bytes, or empty.
    pub fn new(
        width: u32,
        height: u32,
        rgb: impl Into<Arc<[u8]>>,
        seq: u64,
        captured_at: Duration,
    ) -> Option<Self> {
        let rgb = rgb.into();
        let wanted = width as usize * height as usize * 3;
        (wanted > 0 && rgb.len() == wanted).then_some(Self {
            width,
            height,
            rgb,
            seq,
            captured_at,
        })
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Frame({}x{} #{} at {:?})",
            self.width, self.height, self.seq, self.captured_at
        )
    }
}

/// Everything a policy looks at once.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// Pictures by the checkpoint's feature key, for example `observation.images.camera1`. A declared view that is absent
    /// here counts as missing.
    pub images: Vec<(String, Frame)>,
    /// `observation.state` in robot units, `[state_dim]`.
    pub state: Vec<f32>,
    /// The task in words, without the newline that the tokenizer step adds.
    pub task: String,
}

impl Observation {
    /// The picture of the view `key`.
    pub fn image(&self, key: &str) -> Option<&Frame> {
        self.images
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, frame)| frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_of_the_wrong_length_is_refused() {
        assert!(Frame::new(2, 2, vec![0; 12], 0, Duration::ZERO).is_some());
        assert!(Frame::new(2, 2, vec![0; 11], 0, Duration::ZERO).is_none());
        assert!(Frame::new(0, 2, vec![], 0, Duration::ZERO).is_none());
    }
}
