//! Camera pictures on the GPU: one texture a camera, uploaded only when a new frame has come.

use std::collections::BTreeMap;

use egui::{ColorImage, Context, TextureHandle, TextureOptions};

use crate::observation::Frame;
use crate::runtime::CameraView;

struct Picture {
    /// Number of the frame that the texture holds. A picture that is shown again, later, keeps its number.
    seq: u64,
    texture: TextureHandle,
}

/// The textures of all cameras, by camera name.
#[derive(Default)]
pub struct Pictures {
    by_camera: BTreeMap<String, Picture>,
    uploads: u64,
}

impl Pictures {
    /// Brings the textures up to the snapshot's frames and drops those of cameras that are gone.
    pub fn refresh(&mut self, ctx: &Context, cameras: &[CameraView]) {
        self.by_camera
            .retain(|name, _| cameras.iter().any(|camera| &camera.name == name));
        for camera in cameras {
            if let Some(frame) = &camera.frame {
                self.refresh_one(ctx, &camera.name, frame);
            }
        }
    }

    /// The same for pictures of a recording.
    pub fn refresh_recorded(&mut self, ctx: &Context, frames: &[(String, Frame)]) {
        self.by_camera
            .retain(|name, _| frames.iter().any(|(camera, _)| camera == name));
        for (camera, frame) in frames {
            self.refresh_one(ctx, camera, frame);
        }
    }

    /// The texture of a camera, if a frame has ever come.
    pub fn get(&self, camera: &str) -> Option<&TextureHandle> {
        self.by_camera.get(camera).map(|picture| &picture.texture)
    }

    /// How many frames went to the GPU so far.
    pub fn uploads(&self) -> u64 {
        self.uploads
    }

    fn refresh_one(&mut self, ctx: &Context, name: &str, frame: &Frame) {
        let known = self.by_camera.get_mut(name);
        if known
            .as_ref()
            .is_some_and(|picture| picture.seq == frame.seq)
        {
            return;
        }
        self.uploads += 1;
        let size = [frame.width as usize, frame.height as usize];
        let image = ColorImage::from_rgb(size, &frame.rgb);
        if let Some(picture) = known {
            picture.texture.set(image, TextureOptions::LINEAR);
            picture.seq = frame.seq;
            return;
        }
        let texture = ctx.load_texture(format!("camera {name}"), image, TextureOptions::LINEAR);
        let picture = Picture {
            seq: frame.seq,
            texture,
        };
        self.by_camera.insert(name.to_owned(), picture);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn camera(seq: u64, ms: u64) -> CameraView {
        CameraView {
            name: "front".to_owned(),
            source: "test".to_owned(),
            frame: Frame::new(2, 1, vec![0; 6], seq, Duration::from_millis(ms)),
            age: None,
            rate_hz: 0.0,
            status: crate::runtime::CameraStatus::Live,
        }
    }

    #[test]
    fn the_same_frame_is_uploaded_once() {
        let ctx = Context::default();
        let mut pictures = Pictures::default();
        for (ms, seq) in [1, 1, 1, 2, 2].into_iter().enumerate() {
            pictures.refresh(&ctx, &[camera(seq, ms as u64)]);
        }
        assert_eq!(pictures.uploads(), 2);
        assert!(pictures.get("front").is_some());
        pictures.refresh(&ctx, &[]);
        assert!(pictures.get("front").is_none());
    }
}
