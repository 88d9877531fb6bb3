//! Which cube a pointer is on: so that a person can take one in the picture and drag it.

use glam::{Vec2, Vec3};

use crate::scene::{Cube, Props, View};

/// Index of the nearest cube at a point of the picture: `at` is (0, 0) top left to (1, 1) bottom right, `aspect` width over height.
/// The arm and the trays do not stand in the way: a pointer can fetch a cube from behind them.
pub fn picked_cube(view: &View, at: Vec2, aspect: f32, props: &Props) -> Option<usize> {
    let (eye, ray) = view.ray(at, aspect);
    let hits = props.cubes.iter().enumerate();
    hits.filter_map(|(index, cube)| Some((index, distance_to(cube, eye, ray)?)))
        .min_by(|(_, a), (_, b)| a.total_cmp(b))
        .map(|(index, _)| index)
}

/// How far along a ray of unit length a cube begins, metres; an eye inside it is at its beginning.
fn distance_to(cube: &Cube, eye: Vec3, ray: Vec3) -> Option<f32> {
    let cube_from_base = cube.orientation.inverse();
    let from = cube_from_base * (eye - cube.position);
    // A direction that is level with a face divides by zero: the infinities say "always" or "never", and both are right.
    let inverse = (cube_from_base * ray).recip();
    let half = Vec3::splat(0.5 * cube.edge);
    let (one, other) = ((-half - from) * inverse, (half - from) * inverse);
    let enters = one.min(other).max_element().max(0.0);
    let leaves = one.max(other).min_element();
    (enters <= leaves).then_some(enters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Orbit;
    use glam::{Quat, vec2, vec3};

    const ASPECT: f32 = 1.4;

    fn cube(x: f32, y: f32, z: f32) -> Cube {
        Cube {
            position: vec3(x, y, z),
            orientation: Quat::from_rotation_z(0.3),
            edge: 0.03,
            color: [1.0, 0.0, 0.0],
        }
    }

    /// Where a point is in the picture.
    fn seen_at(view: &View, point: Vec3) -> Vec2 {
        let at = view.clip_from_base(ASPECT).project_point3(point);
        vec2(0.5 + 0.5 * at.x, 0.5 - 0.5 * at.y)
    }

    fn props(cubes: Vec<Cube>) -> Props {
        Props {
            cubes,
            ..Props::default()
        }
    }

    #[test]
    fn a_pointer_finds_the_cube_it_is_on_and_nothing_beside_it() {
        let props = props(vec![cube(0.2, 0.1, 0.015), cube(0.25, -0.1, 0.015)]);
        let view = Orbit::default().view();
        let on = |point| picked_cube(&view, seen_at(&view, point), ASPECT, &props);
        for (index, cube) in props.cubes.iter().enumerate() {
            assert_eq!(on(cube.position), Some(index));
            let corner = cube.orientation * Vec3::splat(0.49 * cube.edge);
            assert_eq!(on(cube.position + corner), Some(index));
            assert_eq!(on(cube.position + vec3(0.0, 0.0, 0.04)), None);
        }
        assert_eq!(on(vec3(0.2, 0.0, 0.0)), None);
        assert_eq!(
            picked_cube(&view, vec2(0.5, 0.5), ASPECT, &Props::default()),
            None
        );
    }

    #[test]
    fn of_two_cubes_behind_each_other_the_nearer_is_taken() {
        let view = Orbit::default().view();
        let far = cube(0.2, 0.0, 0.015);
        let towards_eye = (view.eye - far.position).normalize();
        let mut near = far;
        near.position += 0.08 * towards_eye;
        let at = seen_at(&view, far.position);
        let nearest = |cubes| picked_cube(&view, at, ASPECT, &props(cubes));
        assert_eq!(nearest(vec![far, near]), Some(1));
        assert_eq!(nearest(vec![near, far]), Some(0));
    }

    #[test]
    fn a_cube_behind_the_eye_is_out_of_reach() {
        let view = Orbit::default().view();
        let behind = cube(0.0, 0.0, 0.0);
        let ahead = (view.target - view.eye).normalize();
        let props = props(vec![Cube {
            position: view.eye - 0.2 * ahead,
            ..behind
        }]);
        assert_eq!(picked_cube(&view, vec2(0.5, 0.5), ASPECT, &props), None);
    }

    #[test]
    fn a_ray_along_a_face_meets_a_straight_cube() {
        let straight = Cube {
            orientation: Quat::IDENTITY,
            ..cube(0.2, 0.0, 0.015)
        };
        let hit = distance_to(&straight, vec3(0.2, 0.0, 1.0), Vec3::NEG_Z);
        assert!(hit.is_some_and(|d| (d - 0.97).abs() < 1e-5), "{hit:?}");
        assert_eq!(
            distance_to(&straight, vec3(0.3, 0.0, 1.0), Vec3::NEG_Z),
            None
        );
    }
}
