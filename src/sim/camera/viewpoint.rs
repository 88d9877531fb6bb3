//! Where the pretend rig's cameras stand and what they look at, when nobody has knocked against them.

use glam::{Quat, Vec3, vec3};

use crate::joint::JointVec;
use crate::kinematics::{Link, forward_robot};
use crate::scene::View;

/// One of the rig's cameras.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Viewpoint {
    Front,
    Wrist,
    Top,
}

impl Viewpoint {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Front, Self::Wrist, Self::Top];

    /// The name of its feed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Front => "front",
            Self::Wrist => "wrist",
            Self::Top => "top",
        }
    }

    /// What it sees when the arm's joints are at these values, robot units.
    pub fn view(self, joints: JointVec) -> View {
        match self {
            Self::Front => front_view(),
            Self::Wrist => wrist_view(joints),
            Self::Top => top_view(),
        }
    }
}

/// The front camera: in front of the arm and above it, looking at the base. LeRobot's simulated one stands in the same place; ours looks
/// down by 33° instead of 25° and through a slightly longer lens, so that the picture is filled by what the gripper can reach.
pub fn front_view() -> View {
    let eye = vec3(0.8, 0.0, 0.5);
    let (sin, cos) = 33_f32.to_radians().sin_cos();
    View {
        eye,
        target: eye + vec3(-cos, 0.0, -sin),
        up: Vec3::Z,
        fov_y: 40_f32.to_radians(),
    }
}

/// The wrist camera beside the palm, looking at the finger tips (pose of the `MuJoCo` Menagerie model, lens of the wider builds).
pub fn wrist_view(joints: JointVec) -> View {
    let gripper = forward_robot(joints).link(Link::Gripper);
    let turn = Quat::from_rotation_x(-0.57);
    let eye = gripper.transform_point3(vec3(0.0, 0.055, -0.045));
    View {
        eye,
        target: eye + gripper.transform_vector3(turn * Vec3::NEG_Z),
        up: gripper.transform_vector3(turn * Vec3::Y),
        fov_y: 70_f32.to_radians(),
    }
}

/// The top camera: straight down over the work area, with the arm's forward direction up in the picture. The overhead cameras of
/// published scenes hang in the same place (0.25, 0, 0.80 with 48°); ours is a little closer, so that the base is just in the picture.
pub fn top_view() -> View {
    let eye = vec3(0.20, 0.0, 0.75);
    View {
        eye,
        target: eye - Vec3::Z,
        up: Vec3::X,
        fov_y: 42_f32.to_radians(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_cameras_see_the_whole_work_area() {
        for view in [front_view(), top_view()] {
            let clip_from_base = view.clip_from_base(4.0 / 3.0);
            // As far as a cube can be fetched from, to either side and ahead.
            for (angle, reach) in [(-0.9, 0.3), (0.0, 0.15), (0.0, 0.36), (0.9, 0.3)] {
                let (sin, cos) = f32::sin_cos(angle);
                let at = clip_from_base.project_point3(vec3(reach * cos, reach * sin, 0.0));
                assert!(at.truncate().abs().max_element() < 0.9, "{view:?}: {at}");
            }
        }
    }

    #[test]
    fn forward_is_up_and_left_is_left_in_the_top_picture() {
        let clip_from_base = top_view().clip_from_base(1.0);
        let middle = clip_from_base.project_point3(vec3(0.2, 0.0, 0.0));
        let ahead = clip_from_base.project_point3(vec3(0.3, 0.0, 0.0));
        let left = clip_from_base.project_point3(vec3(0.2, 0.1, 0.0));
        assert!(middle.truncate().length() < 1e-5);
        assert!(ahead.y > 0.2 && ahead.x.abs() < 1e-5);
        assert!(left.x < -0.2 && left.y.abs() < 1e-5);
    }
}
