//! Camera frames to what the vision tower sees: the declared views in the checkpoint's order, resized, from -1 to 1.

use std::collections::BTreeMap;

use super::{Error, Normalizer, Planes, resize_with_pad};
use crate::observation::Frame;
use crate::policy::ImageInput;
use crate::policy::config::Config;

/// Which pictures the network takes, and how.
#[derive(Clone, Debug)]
pub struct Images {
    /// Every visual feature in the order of `config.json`, which is the order in the prefix.
    keys: Vec<String>,
    empty_cameras: usize,
    /// Height and width.
    size: Option<(usize, usize)>,
    /// Value of each byte of each colour, 0 to 1 unless the checkpoint normalises pictures; by key.
    tables: BTreeMap<String, [[f32; 256]; 3]>,
}

impl Images {
    /// Takes order, sizes and normalisers from the checkpoint.
    pub fn new(config: &Config, normalizers: &BTreeMap<String, Normalizer>) -> Self {
        let keys: Vec<String> = config
            .visual_keys()
            .into_iter()
            .map(str::to_owned)
            .collect();
        let table = |key: &String| {
            let normalizer = normalizers.get(key).unwrap_or(&Normalizer::Identity);
            (key.clone(), byte_values(normalizer))
        };
        Self {
            tables: keys.iter().map(table).collect(),
            keys,
            empty_cameras: config.empty_cameras,
            size: config
                .resize_imgs_with_padding
                .map(|(width, height)| (height, width)),
        }
    }

    /// Prepares one picture a present view, then a masked one for each missing view up to `empty_cameras`.
    ///
    /// # Errors
    /// No declared view has a picture, or a picture that is not resized is not square.
    pub fn prepare<'a>(
        &self,
        frame: impl Fn(&str) -> Option<&'a Frame>,
    ) -> Result<Vec<ImageInput>, Error> {
        let mut images = Vec::new();
        let mut missing = 0;
        for key in &self.keys {
            match frame(key) {
                Some(frame) => images.push(self.picture(key, frame)?),
                None => missing += 1,
            }
        }
        let Some(last) = images.last() else {
            return Err(Error::NoPicture(self.keys.join(", ")));
        };
        let empty = ImageInput {
            pixels: vec![-1.0; last.pixels.len()],
            present: vec![false],
            ..*last
        };
        let count = missing.min(self.empty_cameras);
        images.extend(std::iter::repeat_n(empty, count));
        Ok(images)
    }

    fn picture(&self, key: &str, frame: &Frame) -> Result<ImageInput, Error> {
        let picture = planes(frame, &self.tables[key]);
        let (height, width) = self.size.unwrap_or((picture.height, picture.width));
        if height != width {
            return Err(Error::NotSquare {
                key: key.to_owned(),
                width,
                height,
            });
        }
        let mut picture = resize_with_pad(&picture, height, width, 0.0);
        for value in &mut picture.values {
            *value = *value * 2.0 - 1.0;
        }
        Ok(ImageInput {
            height,
            width,
            pixels: picture.values,
            present: vec![true],
        })
    }
}

fn byte_values(normalizer: &Normalizer) -> [[f32; 256]; 3] {
    std::array::from_fn(|channel| {
        std::array::from_fn(|byte| normalizer.forward(channel, byte as f32 / 255.0))
    })
}

/// Interleaved bytes to planes, `[height, width, 3]` to `[3, height, width]`.
fn planes(frame: &Frame, table: &[[f32; 256]; 3]) -> Planes {
    let (height, width) = (frame.height as usize, frame.width as usize);
    let (pixels, _) = frame.rgb.as_chunks::<3>();
    let plane = |channel: usize| {
        pixels
            .iter()
            .map(move |pixel| table[channel][usize::from(pixel[channel])])
    };
    Planes {
        height,
        width,
        values: (0..3).flat_map(plane).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::policy::config::{Feature, FeatureKind, Features};

    fn images(keys: &[&str], empty_cameras: usize) -> Images {
        let feature = Feature {
            kind: FeatureKind::Visual,
            shape: vec![3, 8, 8],
        };
        let features = keys.iter().map(|k| ((*k).to_owned(), feature.clone()));
        let config = Config {
            input_features: Features(features.collect()),
            resize_imgs_with_padding: Some((4, 4)),
            empty_cameras,
            ..Config::default()
        };
        Images::new(&config, &BTreeMap::new())
    }

    fn flat(byte: u8) -> Frame {
        Frame::new(4, 4, vec![byte; 48], 0, Duration::ZERO).unwrap()
    }

    #[test]
    fn order_is_the_checkpoints_and_missing_views_come_last() {
        let (a, c) = (flat(0), flat(255));
        let find = |key: &str| match key {
            "c" => Some(&c),
            "a" => Some(&a),
            _ => None,
        };
        let out = images(&["c", "b", "a", "d"], 1).prepare(find).unwrap();
        let seen: Vec<(f32, bool)> = out.iter().map(|i| (i.pixels[0], i.present[0])).collect();
        assert_eq!(seen, [(1.0, true), (-1.0, true), (-1.0, false)]);
        assert_eq!(images(&["c", "b"], 0).prepare(find).unwrap().len(), 1);
    }

    #[test]
    fn no_picture_at_all_is_refused_with_the_views() {
        let err = images(&["front", "wrist"], 1)
            .prepare(|_| None)
            .unwrap_err();
        assert!(err.to_string().contains("front, wrist"), "{err}");
    }

    #[test]
    fn normalized_pictures_are_normalized_before_the_resize() {
        let normalizer = Normalizer::MeanStd {
            mean: vec![0.5, 0.5, 0.5],
            std: vec![0.25, 0.25, 0.5],
            eps: 0.0,
        };
        let table = byte_values(&normalizer);
        assert_eq!(table[0][255], 2.0);
        assert_eq!(table[2][0], -1.0);
    }
}
