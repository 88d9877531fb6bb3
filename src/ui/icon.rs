//! The program's icon, drawn in code so that there is no picture to lose: an arm of three links over a chunk of actions.

use egui::IconData;

use crate::ui::theme::DARK;

/// Pixels a side.
const SIDE: usize = 128;

/// Joints of the drawn arm, in units of the side, from the base to the gripper.
const JOINTS: [(f32, f32); 4] = [(0.28, 0.80), (0.34, 0.40), (0.66, 0.30), (0.74, 0.58)];

/// The icon as pixels.
pub fn icon() -> IconData {
    let mut rgba = Vec::with_capacity(SIDE * SIDE * 4);
    for y in 0..SIDE {
        for x in 0..SIDE {
            let at = |v: usize| (v as f32 + 0.5) / SIDE as f32;
            rgba.extend(pixel(at(x), at(y)));
        }
    }
    IconData {
        rgba,
        width: SIDE as u32,
        height: SIDE as u32,
    }
}

fn pixel(x: f32, y: f32) -> [u8; 4] {
    let mut color = [0.0, 0.0, 0.0, 0.0];
    let mut paint = |ink: egui::Color32, distance: f32| {
        // One pixel of soft edge.
        let cover = (0.5 - distance * SIDE as f32).clamp(0.0, 1.0);
        for (i, channel) in [ink.r(), ink.g(), ink.b(), 255].into_iter().enumerate() {
            color[i] += (f32::from(channel) - color[i]) * cover;
        }
    };
    paint(DARK.panel, rounded_square(x, y));
    for k in 0..5 {
        let height = [0.05, 0.11, 0.16, 0.13, 0.07][k];
        let left = 0.44 + 0.085 * k as f32;
        let bar = box_distance(
            x - left - 0.03,
            y - (0.84 - height / 2.0),
            0.03,
            height / 2.0,
        );
        paint(DARK.predicted, bar);
    }
    for pair in JOINTS.windows(2) {
        paint(DARK.text, segment(x, y, pair[0], pair[1]) - 0.036);
    }
    for joint in JOINTS {
        paint(DARK.human, (x - joint.0).hypot(y - joint.1) - 0.055);
    }
    color.map(|channel| channel.round() as u8)
}

fn rounded_square(x: f32, y: f32) -> f32 {
    box_distance(x - 0.5, y - 0.5, 0.29, 0.29) - 0.19
}

fn box_distance(x: f32, y: f32, half_width: f32, half_height: f32) -> f32 {
    let (dx, dy) = (x.abs() - half_width, y.abs() - half_height);
    dx.max(0.0).hypot(dy.max(0.0)) + dx.max(dy).min(0.0)
}

fn segment(x: f32, y: f32, a: (f32, f32), b: (f32, f32)) -> f32 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let along = ((x - a.0) * dx + (y - a.1) * dy) / (dx * dx + dy * dy);
    let along = along.clamp(0.0, 1.0);
    (x - a.0 - along * dx).hypot(y - a.1 - along * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_icon_is_whole_and_its_corners_are_clear() {
        let icon = icon();
        assert_eq!(icon.rgba.len(), SIDE * SIDE * 4);
        assert_eq!(icon.rgba[3], 0, "the corner is transparent");
        let center = (SIDE / 2 * SIDE + SIDE / 2) * 4;
        assert_eq!(icon.rgba[center + 3], 255);
    }
}
