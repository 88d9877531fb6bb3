//! What is written below the pictures of an exported film: the task, the time, who drove, and a bar for each joint.

use super::canvas::{Canvas, Colour, Rect};
use super::letters::{Face, Letters};

/// Pixels below the pictures.
pub const HEIGHT: u32 = 136;
/// Narrower it cannot be read.
pub const LEAST_WIDTH: u32 = 640;
pub const GROUND: Colour = [22, 24, 28];
const INK: Colour = [222, 226, 232];
const QUIET: Colour = [142, 150, 160];
const TRACK: Colour = [52, 57, 66];
/// As in the window: measured is neutral, commanded blue, a person amber.
const MEASURED: Colour = [150, 158, 170];
const COMMANDED: Colour = [92, 164, 240];
const HUMAN: Colour = [244, 180, 58];
const MARGIN: i32 = 12;

/// A joint as a row shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    pub name: String,
    /// The episode's least and largest value, measured or commanded.
    pub range: (f32, f32),
    pub measured: f32,
    pub commanded: f32,
}

/// One row of an episode in words and bars.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Caption {
    pub task: String,
    /// Seconds since the episode's begin, and its length.
    pub time: (f64, f64),
    /// "cubes, episode 3".
    pub name: String,
    /// Who drove; empty where nobody wrote it down.
    pub driver: String,
    /// A person drove.
    pub is_human: bool,
    pub bars: Vec<Bar>,
}

/// Draws the strip below `top`.
pub fn draw(canvas: &mut Canvas, letters: &Letters, top: i32, caption: &Caption) {
    let width = canvas.width as i32;
    let ground = Rect {
        x: 0,
        y: top,
        width,
        height: HEIGHT as i32,
    };
    canvas.fill(ground, GROUND);
    let time = format!("{} / {}", clock(caption.time.0), clock(caption.time.1));
    let time_width = letters.width(Face::Figures, &time, 16.0);
    let right = (width - MARGIN) as f32 - time_width;
    letters.write(
        canvas,
        (Face::Figures, 16.0),
        (right, (top + 26) as f32),
        &time,
        INK,
    );
    let room = right - 2.0 * MARGIN as f32;
    let task = letters.shortened(Face::Words, &caption.task, 20.0, room);
    letters.write(
        canvas,
        (Face::Words, 20.0),
        (MARGIN as f32, (top + 27) as f32),
        &task,
        INK,
    );
    letters.write(
        canvas,
        (Face::Words, 14.0),
        (MARGIN as f32, (top + 50) as f32),
        &caption.name,
        QUIET,
    );
    badge(canvas, letters, top, caption);
    let count = caption.bars.len().max(1) as i32;
    let column = (width - 2 * MARGIN) / count;
    for (at, bar) in (0..).zip(&caption.bars) {
        draw_bar(
            canvas,
            letters,
            (MARGIN + at * column, top + 64),
            column - MARGIN,
            bar,
        );
    }
}

fn badge(canvas: &mut Canvas, letters: &Letters, top: i32, caption: &Caption) {
    if caption.driver.is_empty() {
        return;
    }
    let (ground, ink) = if caption.is_human {
        (HUMAN, GROUND)
    } else {
        (TRACK, INK)
    };
    let text = letters.width(Face::Words, &caption.driver, 14.0);
    let width = text.ceil() as i32 + 16;
    let rect = Rect {
        x: canvas.width as i32 - MARGIN - width,
        y: top + 35,
        width,
        height: 20,
    };
    canvas.fill(rect, ground);
    let place = ((rect.x + 8) as f32, (top + 50) as f32);
    letters.write(canvas, (Face::Words, 14.0), place, &caption.driver, ink);
}

/// The measured value fills the bar, the commanded one is a stroke across it.
fn draw_bar(canvas: &mut Canvas, letters: &Letters, (x, y): (i32, i32), width: i32, bar: &Bar) {
    let room = width as f32;
    let name = letters.shortened(Face::Words, &bar.name, 13.0, room);
    letters.write(
        canvas,
        (Face::Words, 13.0),
        (x as f32, (y + 12) as f32),
        &name,
        QUIET,
    );
    let rect = |x, y, width, height| Rect {
        x,
        y,
        width,
        height,
    };
    canvas.fill(rect(x, y + 20, width, 12), TRACK);
    let at = |value: f32| (share(value, bar.range) * width as f32).round() as i32;
    canvas.fill(rect(x, y + 20, at(bar.measured), 12), MEASURED);
    let stroke = at(bar.commanded).clamp(1, (width - 2).max(1));
    canvas.fill(rect(x + stroke - 1, y + 17, 3, 18), COMMANDED);
    let value = format!("{:.1}", bar.measured);
    let value = letters.shortened(Face::Figures, &value, 13.0, room);
    letters.write(
        canvas,
        (Face::Figures, 13.0),
        (x as f32, (y + 52) as f32),
        &value,
        INK,
    );
}

/// Where a value is in a range, 0 to 1.
fn share(value: f32, (from, to): (f32, f32)) -> f32 {
    if to > from {
        ((value - from) / (to - from)).clamp(0.0, 1.0)
    } else {
        0.5
    }
}

/// Minutes, seconds and tenths.
fn clock(seconds: f64) -> String {
    let tenths = (seconds * 10.0).round() as u64;
    format!(
        "{:02}:{:02}.{}",
        tenths / 600,
        tenths / 10 % 60,
        tenths % 10
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caption() -> Caption {
        let bar = |measured| Bar {
            name: "shoulder_pan".to_owned(),
            range: (-50.0, 50.0),
            measured,
            commanded: 20.0,
        };
        Caption {
            task: "put the red cube in the box".to_owned(),
            time: (3.4, 75.0),
            name: "cubes, episode 3".to_owned(),
            driver: "teleop".to_owned(),
            is_human: true,
            bars: [-50.0, 0.0, 50.0].map(bar).to_vec(),
        }
    }

    #[test]
    fn bars_fill_with_the_measured_value_and_a_person_is_amber() {
        let letters = Letters::new().unwrap();
        let mut canvas = Canvas::new(LEAST_WIDTH, HEIGHT, [0; 3]);
        draw(&mut canvas, &letters, 0, &caption());
        let row: Vec<Colour> = (0..LEAST_WIDTH).map(|x| canvas.pixel(x, 90)).collect();
        let count = |colour| row.iter().filter(|pixel| **pixel == colour).count();
        let width = (LEAST_WIDTH as usize - 24) / 3 - 12;
        let filled = count(MEASURED);
        // Half of the second bar and all of the third but the stroke across it.
        assert!(filled.abs_diff(width * 3 / 2) <= 4, "{filled} of {width}");
        assert_eq!(count(COMMANDED), 9);
        assert!((0..LEAST_WIDTH).any(|x| canvas.pixel(x, 45) == HUMAN));
        let written = |rows: std::ops::Range<u32>| {
            rows.into_iter()
                .any(|y| (0..200).any(|x| canvas.pixel(x, y) == INK))
        };
        assert!(written(10..30));
    }

    #[test]
    fn time_is_told_in_tenths_and_values_stay_in_their_range() {
        assert_eq!(
            [0.0, 3.44, 75.06].map(clock),
            ["00:00.0", "00:03.4", "01:15.1"]
        );
        assert_eq!(share(9.0, (0.0, 3.0)), 1.0);
        assert_eq!(share(f32::NAN.max(1.0), (2.0, 2.0)), 0.5);
    }
}
