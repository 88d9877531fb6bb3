//! The soft darkening where something stands on the table or hovers close above it, without which things seem to float.
//!
//! The arm is taken as a chain of balls, each cube as a ball, and the wall of a tray as a row of them; a ball of radius r at height
//! h above a point hides about r²h/d³ of its sky. Computed on the CPU for a coarse grid, so that both renderers show the same.

use glam::{Vec2, Vec3, Vec4, vec2, vec3};

use crate::kinematics::{Link, Pose};
use crate::scene::blocks::walls;
use crate::scene::{Props, Tray};

/// Points of the grid along each side.
pub const CONTACT_SIZE: usize = 64;
/// Corner and side of the square of the table that is covered, metres.
const CORNER: Vec2 = vec2(-0.22, -0.46);
const SIDE: f32 = 0.92;

/// How much of the sky each point of the table sees, 0 (none) to 255 (all), row by row along +X.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContactMap(Vec<u8>);

/// Balls along the arm: link, centre in the link's frame, radius.
const BALLS: [(Link, Vec3, f32); 12] = [
    (Link::Base, vec3(0.045, 0.03, 0.012), 0.026),
    (Link::Base, vec3(0.045, -0.03, 0.012), 0.026),
    (Link::Base, vec3(-0.015, 0.03, 0.012), 0.026),
    (Link::Base, vec3(-0.015, -0.03, 0.012), 0.026),
    (Link::Shoulder, vec3(-0.02, 0.0, 0.0), 0.034),
    (Link::UpperArm, vec3(-0.06, 0.0, 0.018), 0.028),
    (Link::LowerArm, vec3(-0.03, 0.0, 0.018), 0.026),
    (Link::LowerArm, vec3(-0.10, 0.0, 0.018), 0.026),
    (Link::Wrist, vec3(0.0, -0.04, 0.025), 0.026),
    (Link::Gripper, vec3(0.0, 0.0, -0.02), 0.028),
    (Link::Gripper, vec3(-0.013, 0.0, -0.075), 0.014),
    (Link::MovingJaw, vec3(-0.006, -0.05, 0.019), 0.014),
];

impl ContactMap {
    /// The map below this arm and these things.
    pub fn new(arm: &Pose, props: &Props) -> Self {
        let mut balls: Vec<(Vec3, f32)> = BALLS
            .iter()
            .map(|&(link, centre, radius)| (arm.link(link).transform_point3(centre), radius))
            .collect();
        balls.extend(props.cubes.iter().map(|c| (c.position, 0.62 * c.edge)));
        balls.extend(props.trays.iter().flat_map(wall_balls));
        let mut hidden = vec![0.0_f32; CONTACT_SIZE * CONTACT_SIZE];
        for (centre, radius) in balls {
            shade_ball(&mut hidden, centre, radius);
        }
        Self(hidden.iter().map(|h| (255.0 * (-h).exp()) as u8).collect())
    }

    /// One byte a point.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Lowest X and Y, and one over the side: `(xy - area.xy) * area.z` is 0 to 1 on the map.
    pub fn area() -> Vec4 {
        CORNER.extend(1.0 / SIDE).extend(0.0)
    }

    /// The share of the sky seen from a point of the table, 0 to 1, smooth between the grid points.
    pub fn sky_at(&self, point: Vec2) -> f32 {
        let last = CONTACT_SIZE as f32 - 1.0;
        let at = ((point - CORNER) / SIDE * CONTACT_SIZE as f32 - 0.5)
            .clamp(Vec2::ZERO, Vec2::splat(last - 1e-3));
        let (x, y) = (at.x as i32 as usize, at.y as i32 as usize);
        let (u, v) = (at.x - x as f32, at.y - y as f32);
        let value = |x: usize, y: usize| f32::from(self.0[y * CONTACT_SIZE + x]);
        let below = value(x, y) + u * (value(x + 1, y) - value(x, y));
        let above = value(x, y + 1) + u * (value(x + 1, y + 1) - value(x, y + 1));
        (below + v * (above - below)) / 255.0
    }
}

/// Radius of the balls of a wall, as a share of its height.
const WALL_BALL: f32 = 0.40;

/// The walls of a tray as rows of balls.
fn wall_balls(tray: &Tray) -> Vec<(Vec3, f32)> {
    let turned = Vec2::from_angle(tray.turn);
    let radius = WALL_BALL * tray.height;
    let step = tray.height.max(0.01);
    let row = |(middle, half): (Vec2, Vec2)| {
        let along = if half.x > half.y { Vec2::X } else { Vec2::Y };
        let count = (2.0 * half.max_element() / step).ceil().max(1.0);
        let reach = turned.rotate(along) * half.max_element();
        (0..count as usize).map(move |k| {
            let share = (2.0 * k as f32 + 1.0) / count - 1.0;
            ((middle + share * reach).extend(0.5 * tray.height), radius)
        })
    };
    walls(tray).into_iter().flat_map(row).collect()
}

/// Adds what one ball hides, where it hides more than a thousandth.
fn shade_ball(hidden: &mut [f32], centre: Vec3, radius: f32) {
    let cell = SIDE / CONTACT_SIZE as f32;
    let height = centre.z.max(0.6 * radius);
    let reach = (1000.0 * radius * radius * height).cbrt();
    let span = |middle: f32, corner: f32| {
        let from = ((middle - reach - corner) / cell).max(0.0) as usize;
        let to = ((middle + reach - corner) / cell).max(0.0) as usize + 1;
        from..to.min(CONTACT_SIZE)
    };
    let columns = span(centre.x, CORNER.x);
    for row in span(centre.y, CORNER.y) {
        let dy = CORNER.y + (row as f32 + 0.5) * cell - centre.y;
        for column in columns.clone() {
            let dx = CORNER.x + (column as f32 + 0.5) * cell - centre.x;
            let distance_sq = (dx * dx + dy * dy + height * height).max(radius * radius);
            hidden[row * CONTACT_SIZE + column] +=
                radius * radius * height / (distance_sq * distance_sq.sqrt());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinematics::forward;
    use crate::scene::Cube;
    use glam::Quat;

    #[test]
    fn the_table_is_darkest_below_things_and_untouched_far_away() {
        let cube = Cube {
            position: vec3(0.3, 0.2, 0.0125),
            orientation: Quat::IDENTITY,
            edge: 0.025,
            color: [1.0, 0.0, 0.0],
        };
        let bare = ContactMap::new(&forward([0.0; 6]), &Props::default());
        let map = ContactMap::new(
            &forward([0.0; 6]),
            &Props {
                cubes: vec![cube],
                ..Props::default()
            },
        );
        let below = map.sky_at(vec2(0.3, 0.2));
        assert!(below < 0.7, "{below}");
        assert!(below < bare.sky_at(vec2(0.3, 0.2)) - 0.2);
        assert!(map.sky_at(vec2(0.02, 0.0)) < 0.5);
        assert!(map.sky_at(vec2(-0.2, -0.44)) > 0.97);
    }

    #[test]
    fn a_tray_darkens_its_corners_and_the_table_around_it() {
        let tray = Tray {
            position: vec2(0.25, 0.25),
            turn: 0.4,
            inner: vec2(0.12, 0.10),
            height: 0.04,
            wall: 0.004,
            color: [1.0; 3],
        };
        let trays = vec![tray];
        let props = Props {
            trays,
            ..Props::default()
        };
        let map = ContactMap::new(&forward([0.0; 6]), &props);
        let at = |x, y| map.sky_at(tray.position + Vec2::from_angle(0.4).rotate(vec2(x, y)));
        assert!(at(0.05, 0.04) < at(0.0, 0.0), "the corner is darker");
        assert!(at(0.0, 0.0) > 0.5, "the middle sees the sky");
        assert!(at(0.075, 0.0) < at(0.12, 0.0), "the foot is darker");
    }
}
