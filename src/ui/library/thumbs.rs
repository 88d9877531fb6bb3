//! Small pictures of episodes on the GPU: only those that were in sight lately, however long the list is.

use std::collections::BTreeMap;

use egui::{ColorImage, Context, TextureHandle, TextureOptions};

use crate::observation::Frame;

/// Pictures kept: a few screens of the list.
const KEPT: usize = 64;

/// The textures, by the number of their picture.
#[derive(Default)]
pub struct Thumbs {
    by_seq: BTreeMap<u64, (TextureHandle, u64)>,
    /// Counts what was asked for, to tell what was not for long.
    turn: u64,
}

impl Thumbs {
    /// The texture of a picture, made when it comes into sight.
    pub fn get(&mut self, ctx: &Context, frame: &Frame) -> &TextureHandle {
        self.turn += 1;
        let turn = self.turn;
        if !self.by_seq.contains_key(&frame.seq) && self.by_seq.len() >= KEPT {
            let oldest = self.by_seq.iter().min_by_key(|(_, (_, seen))| *seen);
            if let Some(seq) = oldest.map(|(seq, _)| *seq) {
                self.by_seq.remove(&seq);
            }
        }
        let (texture, seen) = self.by_seq.entry(frame.seq).or_insert_with(|| {
            let size = [frame.width as usize, frame.height as usize];
            let image = ColorImage::from_rgb(size, &frame.rgb);
            let name = format!("episode picture {}", frame.seq);
            (ctx.load_texture(name, image, TextureOptions::LINEAR), turn)
        });
        *seen = turn;
        texture
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_long_list_does_not_fill_the_memory() {
        let ctx = Context::default();
        let mut thumbs = Thumbs::default();
        for seq in 0..500 {
            let frame = Frame::new(2, 1, vec![0; 6], seq, Duration::ZERO).unwrap();
            thumbs.get(&ctx, &frame);
        }
        assert_eq!(thumbs.by_seq.len(), KEPT);
        assert!(thumbs.by_seq.contains_key(&499) && !thumbs.by_seq.contains_key(&400));
    }
}
