//! Words in a picture, in the fonts of the window.

use ab_glyph::{Font as _, FontRef, ScaleFont as _, point};

use super::canvas::{Canvas, Colour};

/// Fonts that words are written in.
pub struct Letters {
    words: FontRef<'static>,
    /// All digits are equally wide, so that numbers do not jump.
    figures: FontRef<'static>,
}

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    Words,
    Figures,
}

impl Letters {
    /// # Errors
    /// A font is damaged; says so.
    pub fn new() -> Result<Self, String> {
        let font = |bytes| FontRef::try_from_slice(bytes).map_err(|why| why.to_string());
        Ok(Self {
            words: font(epaint_default_fonts::UBUNTU_LIGHT)?,
            figures: font(epaint_default_fonts::HACK_REGULAR)?,
        })
    }

    fn face(&self, face: Face) -> &FontRef<'static> {
        match face {
            Face::Words => &self.words,
            Face::Figures => &self.figures,
        }
    }

    /// Width of a text in pixels, when letters are `size` high.
    pub fn width(&self, face: Face, text: &str, size: f32) -> f32 {
        let font = self.face(face).as_scaled(size);
        let mut before = None;
        let mut width = 0.0;
        for letter in text.chars() {
            let glyph = font.glyph_id(letter);
            width += before.map_or(0.0, |before| font.kern(before, glyph)) + font.h_advance(glyph);
            before = Some(glyph);
        }
        width
    }

    /// As much of a text as fits into `room` pixels.
    pub fn shortened(&self, face: Face, text: &str, size: f32, room: f32) -> String {
        if self.width(face, text, size) <= room {
            return text.to_owned();
        }
        let mut letters: Vec<char> = text.chars().collect();
        while letters.pop().is_some() {
            let short: String = letters.iter().chain(&['…']).collect();
            if self.width(face, &short, size) <= room {
                return short;
            }
        }
        String::new()
    }

    /// Writes a text with its left end at `x` and its foot at `y`.
    pub fn write(
        &self,
        canvas: &mut Canvas,
        (face, size): (Face, f32),
        (x, y): (f32, f32),
        text: &str,
        colour: Colour,
    ) {
        let font = self.face(face);
        let scaled = font.as_scaled(size);
        let mut caret = x;
        let mut before = None;
        for letter in text.chars() {
            let id = scaled.glyph_id(letter);
            caret += before.map_or(0.0, |before| scaled.kern(before, id));
            let glyph = id.with_scale_and_position(size, point(caret, y));
            caret += scaled.h_advance(id);
            before = Some(id);
            if let Some(outline) = font.outline_glyph(glyph) {
                let corner = outline.px_bounds().min;
                outline.draw(|dx, dy, share| {
                    let (x, y) = (corner.x as i32 + dx as i32, corner.y as i32 + dy as i32);
                    canvas.mix(x, y, colour, share);
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_written_where_they_belong_and_cut_to_their_room() {
        let letters = Letters::new().unwrap();
        let mut canvas = Canvas::new(200, 40, [0; 3]);
        letters.write(
            &mut canvas,
            (Face::Words, 20.0),
            (50.0, 30.0),
            "cube",
            [255; 3],
        );
        let lit = |x: u32, y: u32| canvas.pixel(x, y) != [0; 3];
        let columns: Vec<u32> = (0..200).filter(|x| (0..40).any(|y| lit(*x, y))).collect();
        let width = letters.width(Face::Words, "cube", 20.0);
        let (first, last) = (columns[0], columns[columns.len() - 1]);
        assert!(
            first >= 49 && last as f32 <= 51.0 + width,
            "{first} {last} {width}"
        );
        assert!((20.0..60.0).contains(&width), "{width}");
        let digits = |text| letters.width(Face::Figures, text, 14.0);
        assert_eq!(digits("111.1"), digits("888.8"));
        let long = "put the red cube in the box";
        let short = letters.shortened(Face::Words, long, 20.0, 100.0);
        assert!(short.ends_with('…') && letters.width(Face::Words, &short, 20.0) <= 100.0);
        assert_eq!(letters.shortened(Face::Words, long, 20.0, 1000.0), long);
    }
}
