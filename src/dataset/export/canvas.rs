//! A picture that is drawn on: RGB, no anti-aliasing but that of letters.

/// Red, green, blue.
pub type Colour = [u8; 3];

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rect {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub height: i32,
}

/// A picture that is drawn on.
#[derive(Clone, Debug)]
pub struct Canvas {
    pub width: u32,
    pub height: u32,
    /// Row-major, `width * height * 3` bytes.
    pub rgb: Vec<u8>,
}

impl Canvas {
    pub fn new(width: u32, height: u32, colour: Colour) -> Self {
        let pixels = width as usize * height as usize;
        Self {
            width,
            height,
            rgb: colour.repeat(pixels),
        }
    }

    /// Fills a rectangle, as far as it is on the canvas.
    pub fn fill(&mut self, rect: Rect, colour: Colour) {
        let clip = |at: i32, most: u32| at.clamp(0, most as i32) as usize;
        let (left, right) = (
            clip(rect.x, self.width),
            clip(rect.x + rect.width, self.width),
        );
        let rows = clip(rect.y, self.height)..clip(rect.y + rect.height, self.height);
        for row in rows {
            let start = row * self.width as usize;
            for at in start + left..start + right {
                self.rgb[at * 3..at * 3 + 3].copy_from_slice(&colour);
            }
        }
    }

    /// Mixes a colour into one pixel, `share` 0 to 1.
    pub fn mix(&mut self, x: i32, y: i32, colour: Colour, share: f32) {
        if x < 0 || y < 0 || x >= self.width as i32 || y >= self.height as i32 {
            return;
        }
        let at = (y as usize * self.width as usize + x as usize) * 3;
        for (old, new) in self.rgb[at..at + 3].iter_mut().zip(colour) {
            let mixed =
                f32::from(*old) + (f32::from(new) - f32::from(*old)) * share.clamp(0.0, 1.0);
            *old = mixed.round() as u8;
        }
    }

    /// Lays a picture of `width` pixels a row down at `x` from the left, at the top.
    pub fn lay(&mut self, x: u32, width: u32, rgb: &[u8]) {
        let bytes = width as usize * 3;
        let own = self.width as usize * 3;
        let room = own.saturating_sub(x as usize * 3).min(bytes);
        if bytes == 0 {
            return;
        }
        for (row, line) in rgb
            .chunks_exact(bytes)
            .enumerate()
            .take(self.height as usize)
        {
            let start = row * own + x as usize * 3;
            self.rgb[start..start + room].copy_from_slice(&line[..room]);
        }
    }

    #[cfg(test)]
    pub fn pixel(&self, x: u32, y: u32) -> Colour {
        let at = (y as usize * self.width as usize + x as usize) * 3;
        [self.rgb[at], self.rgb[at + 1], self.rgb[at + 2]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_over_the_edge_is_cut_off() {
        let mut canvas = Canvas::new(4, 3, [0; 3]);
        let rect = Rect {
            x: -2,
            y: 1,
            width: 4,
            height: 9,
        };
        canvas.fill(rect, [9; 3]);
        let lit = canvas
            .rgb
            .chunks(3)
            .filter(|pixel| *pixel == [9; 3])
            .count();
        assert_eq!(lit, 4);
        assert_eq!(canvas.pixel(1, 2), [9; 3]);
        canvas.mix(9, 9, [255; 3], 1.0);
        canvas.mix(3, 0, [200; 3], 0.5);
        assert_eq!(canvas.pixel(3, 0), [100; 3]);
        canvas.lay(2, 3, &[7; 18]);
        assert_eq!((canvas.pixel(3, 1), canvas.pixel(1, 0)), ([7; 3], [0; 3]));
    }
}
