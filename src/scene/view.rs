//! Where the picture is taken from: a pinhole view, and the hand-held orbit of the 3D panel.

use std::f32::consts::{FRAC_PI_2, PI};

use glam::camera::rh;
use glam::{Mat4, Vec2, Vec3, vec3};

/// A pinhole camera in the base frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// Metres.
    pub eye: Vec3,
    pub target: Vec3,
    /// Any direction that should point up in the picture.
    pub up: Vec3,
    /// Vertical field of view, radians.
    pub fov_y: f32,
}

/// Nearest and farthest distance that is drawn, metres.
const NEAR: f32 = 0.02;
const FAR: f32 = 6.0;

impl View {
    /// `clip_from_base` with depth from 0 (near) to 1 (far); `aspect` is width over height.
    pub fn clip_from_base(&self, aspect: f32) -> Mat4 {
        rh::proj::directx::perspective(self.fov_y, aspect, NEAR, FAR)
            * rh::view::look_at_mat4(self.eye, self.target, self.up)
    }

    /// The height of one pixel at a distance of one metre, metres.
    pub fn pixel_size(&self, height: u32) -> f32 {
        2.0 * (self.fov_y / 2.0).tan() / height.max(1) as f32
    }

    /// The ray through a point of the picture: `at` is (0, 0) top left to (1, 1) bottom right.
    pub fn ray(&self, at: Vec2, aspect: f32) -> (Vec3, Vec3) {
        let base_from_clip = self.clip_from_base(aspect).inverse();
        let (x, y) = (2.0 * at.x - 1.0, 1.0 - 2.0 * at.y);
        let far = base_from_clip.project_point3(vec3(x, y, 1.0));
        (self.eye, (far - self.eye).normalize_or(Vec3::X))
    }

    /// Where that ray meets the plane at this height, if it does in front of the eye: for dragging things on the table.
    pub fn on_plane(&self, at: Vec2, aspect: f32, height: f32) -> Option<Vec3> {
        let (eye, ray) = self.ray(at, aspect);
        let distance = (height - eye.z) / ray.z;
        (distance.is_finite() && distance > 0.0).then(|| eye + distance * ray)
    }
}

/// A fixed place to look from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// From the front right, the one the program starts with.
    Corner,
    Front,
    Side,
    Top,
}

/// The view of the 3D panel, moved by hand: it circles a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Orbit {
    pub target: Vec3,
    /// Metres from the target.
    pub distance: f32,
    /// Direction of the eye seen from above, radians; 0 is in front of the arm (+X), positive to the left.
    pub azimuth: f32,
    /// Height of the eye, radians above the table's plane.
    pub elevation: f32,
    /// Vertical field of view, radians.
    pub fov_y: f32,
}

/// The eye stays above the table and short of straight overhead, where "up" would flip.
const ELEVATIONS: (f32, f32) = (0.03, FRAC_PI_2 - 0.001);
/// Closest and farthest eye, metres.
const DISTANCES: (f32, f32) = (0.15, 2.5);
/// The target stays within reach of the arm, so that the picture cannot be lost.
const TARGET_REACH: f32 = 0.6;

impl Default for Orbit {
    fn default() -> Self {
        Self::preset(Preset::Corner)
    }
}

impl Orbit {
    /// The orbit of a preset.
    pub fn preset(preset: Preset) -> Self {
        let (azimuth, elevation, distance) = match preset {
            Preset::Corner => (-0.98, 0.36, 0.76),
            Preset::Front => (0.0, 0.25, 0.95),
            Preset::Side => (-FRAC_PI_2, 0.12, 0.90),
            Preset::Top => (PI, ELEVATIONS.1, 1.0),
        };
        Self {
            target: vec3(0.16, 0.0, 0.10),
            distance,
            azimuth,
            elevation,
            fov_y: 0.62,
        }
    }

    /// Turns around the target; radians to the left and upwards.
    pub fn orbit(&mut self, azimuth: f32, elevation: f32) {
        self.azimuth = (self.azimuth + azimuth + PI).rem_euclid(2.0 * PI) - PI;
        self.elevation = (self.elevation + elevation).clamp(ELEVATIONS.0, ELEVATIONS.1);
    }

    /// Moves the target in the picture's plane; `by` is a share of the picture's height, right and down positive, as a pointer
    /// that drags the scene.
    pub fn pan(&mut self, by: Vec2) {
        let view = self.view();
        let ahead = (view.target - view.eye).normalize_or(Vec3::X);
        let right = ahead.cross(view.up).normalize_or(Vec3::Y);
        let height = 2.0 * self.distance * (self.fov_y / 2.0).tan();
        let moved = self.target + height * (right.cross(ahead) * by.y - right * by.x);
        self.target =
            moved
                .clamp_length_max(TARGET_REACH)
                .max(vec3(-TARGET_REACH, -TARGET_REACH, 0.0));
    }

    /// Brings the eye closer (`factor` < 1) or farther.
    pub fn zoom(&mut self, factor: f32) {
        self.distance = (self.distance * factor).clamp(DISTANCES.0, DISTANCES.1);
    }

    /// Moves part of the way to another orbit, `share` 0 to 1, by the shorter turn: for presets that glide.
    pub fn glide_to(&mut self, goal: &Self, share: f32) {
        let turn = (goal.azimuth - self.azimuth + PI).rem_euclid(2.0 * PI) - PI;
        self.azimuth = (self.azimuth + share * turn + PI).rem_euclid(2.0 * PI) - PI;
        self.elevation += share * (goal.elevation - self.elevation);
        self.distance += share * (goal.distance - self.distance);
        self.target += share * (goal.target - self.target);
    }

    /// The view from here.
    pub fn view(&self) -> View {
        let (sin_e, cos_e) = self.elevation.sin_cos();
        let (sin_a, cos_a) = self.azimuth.sin_cos();
        View {
            eye: self.target + self.distance * vec3(cos_e * cos_a, cos_e * sin_a, sin_e),
            target: self.target,
            up: vec3(-sin_e * cos_a, -sin_e * sin_a, cos_e),
            fov_y: self.fov_y,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::vec2;

    #[test]
    fn the_target_is_in_the_middle_of_every_preset() {
        for preset in [Preset::Corner, Preset::Front, Preset::Side, Preset::Top] {
            let view = Orbit::preset(preset).view();
            let at = view.clip_from_base(1.5).project_point3(view.target);
            assert!(at.truncate().length() < 1e-5, "{preset:?}: {at}");
            assert!(at.z > 0.0 && at.z < 1.0);
        }
    }

    #[test]
    fn the_presets_look_from_where_they_say() {
        let eye = |preset| Orbit::preset(preset).view().eye - Orbit::preset(preset).target;
        assert!(eye(Preset::Front).x > 0.8);
        assert!(eye(Preset::Side).y < -0.8);
        assert!(eye(Preset::Top).z > 0.9);
        let top = Orbit::preset(Preset::Top).view();
        let ahead = top
            .clip_from_base(1.0)
            .project_point3(top.target + 0.1 * Vec3::X);
        assert!(ahead.y > 0.05, "forward is up in the top view: {ahead}");
    }

    #[test]
    fn a_drag_moves_the_scene_with_the_pointer() {
        let mut orbit = Orbit::default();
        let point = orbit.target;
        orbit.pan(vec2(0.1, 0.05));
        let at = orbit.view().clip_from_base(1.0).project_point3(point);
        // Clip space is two units high and its Y points up.
        assert!(
            (at.x - 0.2).abs() < 0.01 && (at.y + 0.1).abs() < 0.01,
            "{at}"
        );
    }

    #[test]
    fn a_ray_meets_the_table_where_the_table_is_drawn() {
        let view = Orbit::default().view();
        let point = vec3(0.2, 0.1, 0.0);
        let at = view.clip_from_base(1.6).project_point3(point);
        let found = view.on_plane(vec2(0.5 + at.x / 2.0, 0.5 - at.y / 2.0), 1.6, 0.0);
        assert!((found.unwrap() - point).length() < 1e-4);
        let level = View {
            eye: vec3(1.0, 0.0, 0.5),
            target: vec3(0.0, 0.0, 0.5),
            up: Vec3::Z,
            fov_y: 0.6,
        };
        assert!(level.on_plane(vec2(0.5, 0.2), 1.0, 0.0).is_none());
    }

    #[test]
    fn gliding_ends_at_the_goal() {
        let mut orbit = Orbit::preset(Preset::Top);
        let goal = Orbit::preset(Preset::Side);
        orbit.glide_to(&goal, 1.0);
        assert!((orbit.view().eye - goal.view().eye).length() < 1e-5);
        orbit.orbit(0.0, 10.0);
        assert!(orbit.elevation < FRAC_PI_2);
        orbit.zoom(0.0);
        assert_eq!(orbit.distance, DISTANCES.0);
    }
}
