//! How the scene looks: the colours of the parts, of the table and of the light. The window's theme may change any of them.

/// What a part is made of; the index into [`Look::materials`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Material {
    /// The 3D-printed parts, in one warm colour.
    Printed,
    /// Servo cases.
    Servo,
    /// Horns and screws.
    Metal,
    /// Finger pads.
    Rubber,
    /// The servo adapter board and the camera board.
    Board,
    /// Holes, connectors and lenses.
    Dark,
}

/// Number of [`Material`]s.
pub const MATERIAL_COUNT: usize = 6;

/// Towards the lamp of every theme: high, to the front right, over the shoulder of whoever looks from the corner.
const TO_LAMP: [f32; 3] = [0.42, -0.50, 0.76];

/// Colours are linear RGB, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Colour and gloss (0 matt to 1 shiny) by [`Material`].
    pub materials: [[f32; 4]; MATERIAL_COUNT],
    pub table: [f32; 3],
    /// Colour of the 5 cm grid and its strength, 0 to 1.
    pub grid: [f32; 4],
    /// Behind everything; the table fades into it.
    pub background: [f32; 3],
    /// Distance from the arm at which the table begins to fade, and at which it is gone, metres.
    pub fade: [f32; 2],
    /// Direction towards the lamp, of any length.
    pub to_lamp: [f32; 3],
    /// The lamp's light.
    pub key: [f32; 3],
    /// Light from above and from below that reaches every corner.
    pub sky: [f32; 3],
    pub ground: [f32; 3],
}

impl Look {
    /// For a light window: a pale table in daylight.
    pub fn light() -> Self {
        Self {
            materials: materials(),
            table: srgb(0xE9E8E4),
            grid: with_strength(srgb(0x9A9892), 0.28),
            background: srgb(0xF4F3F0),
            fade: [0.38, 0.95],
            to_lamp: TO_LAMP,
            key: [0.80, 0.76, 0.69],
            sky: [0.36, 0.38, 0.41],
            ground: [0.22, 0.20, 0.18],
        }
    }

    /// For a dark window: a slate table under one lamp.
    pub fn dark() -> Self {
        Self {
            materials: materials(),
            table: srgb(0x34373C),
            grid: with_strength(srgb(0x8A9099), 0.22),
            background: srgb(0x16181B),
            fade: [0.30, 0.85],
            to_lamp: TO_LAMP,
            key: [1.00, 0.93, 0.82],
            sky: [0.22, 0.25, 0.31],
            ground: [0.10, 0.095, 0.095],
        }
    }

    /// For the simulated cameras, whatever the window's theme: a policy must see the same picture in both.
    pub fn camera() -> Self {
        Self {
            table: srgb(0xC9C3B8),
            grid: with_strength(srgb(0x8F887C), 0.30),
            background: srgb(0xB9C0C6),
            fade: [1.2, 3.0],
            ..Self::light()
        }
    }
}

fn materials() -> [[f32; 4]; MATERIAL_COUNT] {
    [
        with_strength(srgb(0xF2A33A), 0.22),
        with_strength(srgb(0x26272A), 0.55),
        with_strength(srgb(0xB9BCC0), 0.80),
        with_strength(srgb(0x3A3B3E), 0.10),
        with_strength(srgb(0x1F4E5F), 0.35),
        with_strength(srgb(0x0C0D0F), 0.60),
    ]
}

fn with_strength([r, g, b]: [f32; 3], strength: f32) -> [f32; 4] {
    [r, g, b, strength]
}

/// Linear RGB from a web colour `0xRRGGBB`.
pub fn srgb(hex: u32) -> [f32; 3] {
    [16, 8, 0].map(|shift| {
        let value = (hex >> shift & 0xFF) as f32 / 255.0;
        if value <= 0.04045 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    })
}

/// The display value (0 to 1) of a linear value; what is brighter than white is white.
pub fn encoded(linear: f32) -> f32 {
    let value = linear.clamp(0.0, 1.0);
    if value <= 0.003_130_8 {
        value * 12.92
    } else {
        1.055 * value.powf(1.0 / 2.4) - 0.055
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn web_colours_survive_the_way_there_and_back() {
        for value in [0_u32, 3, 10, 128, 200, 255] {
            let linear = srgb(value << 8)[1];
            assert_eq!((encoded(linear) * 255.0).round() as u32, value);
        }
        assert_eq!(srgb(0xFF0000), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn printed_parts_are_warm_and_servos_black_in_every_look() {
        for look in [Look::light(), Look::dark(), Look::camera()] {
            let [r, g, b, _] = look.materials[Material::Printed as usize];
            assert!(r > g && g > b);
            let servo = look.materials[Material::Servo as usize];
            assert!(servo[..3].iter().all(|&c| c < 0.05));
        }
    }
}
