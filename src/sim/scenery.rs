//! How the pretend rig looks to its cameras: lamp, colours, lenses, and where the cameras hang. Drawn from a seed, so that a policy that
//! learns on the rig meets more than one room, and a measured run can be repeated.

use glam::{Quat, Vec3, vec3};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::joint::JointVec;
use crate::scene::{Look, View};
use crate::sim::Viewpoint;

/// How far the lamp moves at full strength, radians around the table and up or down.
pub const LAMP_AZIMUTH: f32 = 0.70;
pub const LAMP_ELEVATION: f32 = 0.25;
/// How much brighter or darker at full strength, as shares.
pub const LAMP_SHARE: f32 = 0.25;
pub const SKY_SHARE: f32 = 0.20;
pub const TABLE_SHARE: f32 = 0.35;
pub const BACKGROUND_SHARE: f32 = 0.45;
/// How much each channel of a colour moves by itself at full strength, as a share: little, or the table takes a cube's colour.
pub const TINT_SHARE: f32 = 0.08;

/// What may happen to one camera at full strength, to either side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Play {
    /// Metres along each axis.
    pub shift: f32,
    /// Radians about each axis.
    pub turn: f32,
    /// Radians of the vertical field of view.
    pub lens: f32,
}

impl Play {
    /// Of this camera. The one at the wrist is screwed to the gripper but comes with more kinds of lenses (60° to 90° in published
    /// scenes); those on stands are knocked against.
    pub const fn of(camera: Viewpoint) -> Self {
        match camera {
            Viewpoint::Front | Viewpoint::Top => Self {
                shift: 0.020,
                turn: 0.026,
                lens: 0.060,
            },
            Viewpoint::Wrist => Self {
                shift: 0.004,
                turn: 0.045,
                lens: 0.110,
            },
        }
    }
}

/// How one camera differs from its plain viewpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mount {
    /// To the right of the picture, up in it, and into it, metres.
    shift: Vec3,
    /// About the same axes, radians.
    turn: Vec3,
    /// Radians of the vertical field of view.
    lens: f32,
}

/// How everything looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scenery {
    /// Light and colours.
    pub look: Look,
    /// By [`Viewpoint::ALL`].
    mounts: [Mount; Viewpoint::ALL.len()],
}

impl Default for Scenery {
    fn default() -> Self {
        Self::plain()
    }
}

impl Scenery {
    /// The rig as it is shown to people: nothing is moved.
    pub fn plain() -> Self {
        Self {
            look: Look::camera(),
            mounts: [Mount::default(); Viewpoint::ALL.len()],
        }
    }

    /// The scenery of this seed. At strength 0 it is the plain one, at 1 everything moves within the bounds above; a seed at half the
    /// strength is half as far from the plain one in the same direction.
    pub fn seeded(seed: u64, strength: f32) -> Self {
        let strength = if strength.is_nan() {
            0.0
        } else {
            strength.clamp(0.0, 1.0)
        };
        // A stream for each thing, so that a new kind of change leaves the others as they were.
        let dice = |stream: u64| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(stream);
            Dice { rng, strength }
        };
        let mounts = Viewpoint::ALL.map(|camera| {
            let mut dice = dice(1 + camera as u64);
            let play = Play::of(camera);
            Mount {
                shift: play.shift * dice.throws(),
                turn: play.turn * dice.throws(),
                lens: play.lens * dice.throw(),
            }
        });
        Self {
            look: dressed(Look::camera(), &mut dice(0)),
            mounts,
        }
    }

    /// What this camera sees when the arm's joints are at these values, robot units.
    pub fn view(&self, camera: Viewpoint, joints: JointVec) -> View {
        let plain = camera.view(joints);
        let mount = self.mounts[camera as usize];
        if mount == Mount::default() {
            return plain;
        }
        let ahead = (plain.target - plain.eye).normalize_or(Vec3::X);
        let right = ahead.cross(plain.up).normalize_or(Vec3::Y);
        let up = right.cross(ahead);
        let moved = mount.shift.x * right + mount.shift.y * up + mount.shift.z * ahead;
        let turn = Quat::from_axis_angle(right, mount.turn.x)
            * Quat::from_axis_angle(up, mount.turn.y)
            * Quat::from_axis_angle(ahead, mount.turn.z);
        let eye = plain.eye + moved;
        View {
            eye,
            target: eye + turn * (plain.target - plain.eye),
            up: turn * up,
            fov_y: plain.fov_y + mount.lens,
        }
    }
}

/// Random numbers between minus and plus the strength.
struct Dice {
    rng: ChaCha8Rng,
    strength: f32,
}

impl Dice {
    fn throw(&mut self) -> f32 {
        self.strength * self.rng.random_range(-1.0..=1.0_f32)
    }

    fn throws(&mut self) -> Vec3 {
        vec3(self.throw(), self.throw(), self.throw())
    }

    /// A colour made brighter or darker by up to this share, and tinted.
    fn recolour(&mut self, color: [f32; 3], share: f32) -> [f32; 3] {
        let bright = 1.0 + share * self.throw();
        let tint = Vec3::ONE + TINT_SHARE * self.throws();
        (bright * tint * Vec3::from(color))
            .min(Vec3::ONE)
            .to_array()
    }
}

/// Other light and colours on everything that is not the arm or a thing to be grasped.
fn dressed(plain: Look, dice: &mut Dice) -> Look {
    let lamp = Vec3::from(plain.to_lamp).normalize_or(Vec3::Z);
    let azimuth = lamp.y.atan2(lamp.x) + LAMP_AZIMUTH * dice.throw();
    let elevation = lamp.z.asin() + LAMP_ELEVATION * dice.throw();
    let flat = elevation.cos();
    let to_lamp = vec3(flat * azimuth.cos(), flat * azimuth.sin(), elevation.sin());
    let sky = 1.0 + SKY_SHARE * dice.throw();
    let [r, g, b, strength] = plain.grid;
    Look {
        // The way by angles rounds; the plain lamp must not.
        to_lamp: if dice.strength > 0.0 {
            to_lamp.to_array()
        } else {
            plain.to_lamp
        },
        key: dice.recolour(plain.key, LAMP_SHARE),
        sky: plain.sky.map(|c| sky * c),
        ground: plain.ground.map(|c| sky * c),
        table: dice.recolour(plain.table, TABLE_SHARE),
        background: dice.recolour(plain.background, BACKGROUND_SHARE),
        // From none at all to twice as strong: few real tables have a grid.
        grid: [r, g, b, strength * (1.0 + dice.throw())],
        ..plain
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Cube, Props};
    use crate::sim::{Colour, SimStudio, front_view, top_view, wrist_view};

    const JOINTS: JointVec = JointVec([10.0, -20.0, 35.0, 65.0, 0.0, 60.0]);

    #[test]
    fn plain_is_the_plain_view_and_no_strength_is_plain() {
        let plain = Scenery::plain();
        assert_eq!(plain.look, Look::camera());
        assert_eq!(plain.view(Viewpoint::Front, JOINTS), front_view());
        assert_eq!(plain.view(Viewpoint::Wrist, JOINTS), wrist_view(JOINTS));
        assert_eq!(plain.view(Viewpoint::Top, JOINTS), top_view());
        for strength in [0.0, -3.0, f32::NAN] {
            assert_eq!(Scenery::seeded(9, strength), plain);
        }
    }

    #[test]
    fn seeds_differ_and_repeat() {
        let all: Vec<Scenery> = (0..50).map(|seed| Scenery::seeded(seed, 1.0)).collect();
        for (seed, scenery) in all.iter().enumerate() {
            assert_eq!(*scenery, Scenery::seeded(seed as u64, 1.0));
            assert!(all[..seed].iter().all(|other| {
                other.look.to_lamp != scenery.look.to_lamp && other.mounts != scenery.mounts
            }));
        }
    }

    fn between(value: f32, plain: f32, share: f32) -> bool {
        (value - plain).abs() <= share * plain + 1e-5
    }

    #[test]
    fn every_change_stays_within_its_bounds() {
        let plain = Look::camera();
        let lamp = Vec3::from(plain.to_lamp).normalize();
        let mut farthest = 0.0_f32;
        for seed in 0..300 {
            let scenery = Scenery::seeded(seed, 1.0);
            for camera in Viewpoint::ALL {
                let play = Play::of(camera);
                let (view, plain) = (scenery.view(camera, JOINTS), camera.view(JOINTS));
                let shift = view.eye.distance(plain.eye);
                assert!(shift <= 1.7321 * play.shift + 1e-5, "{camera:?}: {shift}");
                assert!((view.fov_y - plain.fov_y).abs() <= play.lens + 1e-5);
                let turn = (view.target - view.eye).angle_between(plain.target - plain.eye);
                assert!(turn <= 1.7321 * play.turn + 1e-3, "{camera:?}: {turn}");
                farthest = farthest.max(shift / play.shift);
            }
            let look = scenery.look;
            let to_lamp = Vec3::from(look.to_lamp);
            assert!((to_lamp.length() - 1.0).abs() < 1e-5);
            assert!((to_lamp.z.asin() - lamp.z.asin()).abs() <= LAMP_ELEVATION + 1e-4);
            let around = to_lamp.truncate().angle_to(lamp.truncate()).abs();
            assert!(around <= LAMP_AZIMUTH + 1e-4);
            let both = |share: f32| (1.0 + share) * (1.0 + TINT_SHARE) - 1.0;
            for k in 0..3 {
                assert!(between(look.table[k], plain.table[k], both(TABLE_SHARE)));
                assert!(between(look.key[k], plain.key[k], both(LAMP_SHARE)));
                assert!(between(look.sky[k], plain.sky[k], SKY_SHARE));
            }
            assert_eq!(look.materials, plain.materials, "the arm stays as it is");
        }
        assert!(farthest > 1.0, "the bounds are used: {farthest}");
    }

    #[test]
    fn half_the_strength_is_half_the_way() {
        let plain = Viewpoint::Front.view(JOINTS);
        let at = |strength| Scenery::seeded(4, strength).view(Viewpoint::Front, JOINTS);
        let (half, whole) = (at(0.5).eye - plain.eye, at(1.0).eye - plain.eye);
        assert!((2.0 * half - whole).length() < 1e-6);
    }

    #[test]
    fn a_red_cube_stays_visible_and_red_whatever_the_seed() {
        let cube = Cube {
            position: vec3(0.26, 0.12, 0.0125),
            orientation: Quat::from_rotation_z(0.3),
            edge: 0.025,
            color: Colour::Red.rgb(),
        };
        let props = Props {
            cubes: vec![cube],
            ..Props::default()
        };
        let cameras = [Viewpoint::Front, Viewpoint::Top];
        let mut studio = SimStudio::new([112, 84], Scenery::plain(), &cameras);
        for seed in 0..10 {
            studio.dress(Scenery::seeded(seed, 1.0));
            for (picture, camera) in studio.draw(JOINTS, &props).iter().zip(cameras) {
                let red = |p: &&[u8]| {
                    let [r, g, b] = [p[0], p[1], p[2]].map(i32::from);
                    r > 70 && r > 2 * g && r > 2 * b
                };
                let count = picture.chunks(3).filter(red).count();
                assert!(count >= 7, "seed {seed}, {camera:?}: {count} red pixels");
            }
        }
    }
}
