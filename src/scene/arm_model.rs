//! The SO-101 as primitives: printed brackets in one colour, black servos, metal horns. Shapes are our own; sizes follow the
//! bounding boxes of the official parts (TheRobotStudio/SO-ARM100).
//!
//! Every part is written down where it stands when all joints are at zero and the jaws lie in the arm's plane: the arm points
//! along +X at a height of 0.23 m, so that one can read off which plate meets which servo. [`arm_mesh`] moves each part into
//! the frame of its link.

use glam::{Quat, Vec3, vec2, vec3};

use crate::kinematics::{JAW_PLANE_ROLL, Link, Pose, forward};
use crate::scene::bench::{Along, Bench, Detail};
use crate::scene::look::Material;
use crate::scene::solid::{Mesh, rectangle};

/// Half thickness of the printed plates, metres.
const WALL: f32 = 0.0026;

fn base(b: &mut Bench<'_>) {
    use Material::{Board, Dark, Metal, Printed};
    let foot = rectangle(vec2(0.017, 0.0), vec2(0.0475, 0.055), 0.010);
    b.plate(Along::Z, 0.0035, 0.0055, &foot);
    let step = rectangle(vec2(0.020, 0.0), vec2(0.036, 0.029), 0.006);
    b.plate(Along::Z, 0.0125, 0.0045, &step);
    for side in [-1.0, 1.0] {
        // The rails that a clamp grips, and the walls that hold the pan servo.
        b.plate(
            Along::Z,
            0.0115,
            0.0035,
            &rectangle(vec2(0.017, side * 0.046), vec2(0.044, 0.006), 0.004),
        );
        let wall = [
            (vec2(-0.002, 0.018), 0.003),
            (vec2(0.040, 0.018), 0.003),
            (vec2(0.026, 0.054), 0.004),
            (vec2(0.004, 0.058), 0.004),
        ];
        b.plate(Along::Y, side * 0.0153, WALL, &wall);
        for x in [-0.022, 0.056] {
            let place = b.place(Metal, vec3(x, side * 0.046, 0.015), Quat::IDENTITY);
            b.mesh.stud(&place, 0.0028, 0.0008);
        }
    }
    b.block(Printed, [-0.0005, 0.0, 0.039], [0.0028, 0.0153, 0.022]);
    b.servo([0.0263, 0.0, 0.0441], Along::Z, -Vec3::X);
    // The servo adapter stands at the back.
    b.plate(
        Along::X,
        -0.0238,
        0.0022,
        &rectangle(vec2(0.0, 0.038), vec2(0.0255, 0.030), 0.004),
    );
    b.block(Board, [-0.0275, 0.0, 0.047], [0.0009, 0.0230, 0.019]);
    b.block(Dark, [-0.0315, 0.012, 0.060], [0.0034, 0.0055, 0.0050]);
    b.block(Dark, [-0.0305, -0.010, 0.061], [0.0026, 0.0045, 0.0035]);
    b.block(Metal, [-0.0300, 0.0, 0.033], [0.0018, 0.0050, 0.0026]);
}

fn shoulder(b: &mut Bench<'_>) {
    // A C around the front of the pan servo, turning with its horn, and a tray for the lift servo on top of it.
    let arm_of_c = [
        (vec2(0.0388, 0.0), 0.0150),
        (vec2(0.0835, -0.0175), 0.0040),
        (vec2(0.0835, 0.0175), 0.0040),
    ];
    b.plate(Along::Z, 0.0690, 0.0030, &arm_of_c);
    b.plate(Along::Z, 0.0205, 0.0030, &arm_of_c);
    b.plate(
        Along::X,
        0.0858,
        0.0030,
        &rectangle(vec2(0.0, 0.0600), vec2(0.0215, 0.0425), 0.006),
    );
    b.block(
        Material::Printed,
        [0.0692, 0.0, 0.0765],
        [0.0168, 0.0215, 0.0052],
    );
    b.plate(
        Along::X,
        0.0537,
        WALL,
        &rectangle(vec2(0.0, 0.0880), vec2(0.0215, 0.0165), 0.005),
    );
    for side in [-1.0, 1.0] {
        b.block(
            Material::Printed,
            [0.0697, side * 0.0192, 0.0880],
            [0.0160, 0.0023, 0.0075],
        );
    }
    b.servo([0.0692, 0.0, 0.1041], Along::Y, -Vec3::Z);
    b.horn_screws(vec3(0.0388, 0.0, 0.0720), Vec3::Z);
}

fn upper_arm(b: &mut Bench<'_>) {
    b.fork(&[
        (vec2(0.0692, 0.1166), 0.0140),
        (vec2(0.0865, 0.2135), 0.0050),
        (vec2(0.0650, 0.2135), 0.0060),
    ]);
    // The spine between the plates, and the tray of the elbow servo.
    b.plate(
        Along::X,
        0.0735,
        0.0042,
        &rectangle(vec2(0.0, 0.1770), vec2(0.0215, 0.0340), 0.004),
    );
    b.block(
        Material::Printed,
        [0.0840, 0.0, 0.2138],
        [0.0240, 0.0235, 0.0026],
    );
    b.plate(
        Along::X,
        0.0594,
        WALL,
        &rectangle(vec2(0.0, 0.2285), vec2(0.0235, 0.0172), 0.004),
    );
    for side in [-1.0, 1.0] {
        let cheek = [
            (vec2(0.0605, 0.2150), 0.003),
            (vec2(0.0860, 0.2150), 0.003),
            (vec2(0.0760, 0.2420), 0.003),
            (vec2(0.0605, 0.2420), 0.003),
        ];
        b.plate(Along::Y, side * 0.0195, WALL, &cheek);
    }
    b.servo([0.0847, 0.0, 0.2292], Along::Y, -Vec3::X);
}

fn lower_arm(b: &mut Bench<'_>) {
    b.fork(&[
        (vec2(0.0972, 0.2292), 0.0140),
        (vec2(0.1940, 0.2235), 0.0050),
        (vec2(0.1940, 0.2420), 0.0050),
    ]);
    b.plate(
        Along::Z,
        0.2325,
        0.0042,
        &rectangle(vec2(0.1575, 0.0), vec2(0.0340, 0.0215), 0.004),
    );
    b.block(
        Material::Printed,
        [0.2150, 0.0, 0.2194],
        [0.0205, 0.0235, 0.0025],
    );
    b.plate(
        Along::X,
        0.1943,
        WALL,
        &rectangle(vec2(0.0, 0.2335), vec2(0.0235, 0.0165), 0.004),
    );
    for side in [-1.0, 1.0] {
        let cheek = [
            (vec2(0.1955, 0.2205), 0.003),
            (vec2(0.2220, 0.2205), 0.003),
            (vec2(0.2120, 0.2470), 0.003),
            (vec2(0.1955, 0.2470), 0.003),
        ];
        b.plate(Along::Y, side * 0.0195, WALL, &cheek);
    }
    b.servo([0.2196, 0.0, 0.2344], Along::Y, -Vec3::X);
}

fn wrist(b: &mut Bench<'_>) {
    b.fork(&[
        (vec2(0.2321, 0.2344), 0.0140),
        (vec2(0.2600, 0.2220), 0.0040),
        (vec2(0.2600, 0.2468), 0.0040),
    ]);
    b.plate(
        Along::X,
        0.2535,
        0.0024,
        &rectangle(vec2(0.0035, 0.2344), vec2(0.0300, 0.0162), 0.004),
    );
    for side in [-1.0, 1.0] {
        let z = 0.2344 + side * 0.0147;
        b.plate(
            Along::Z,
            z,
            0.0022,
            &rectangle(vec2(0.2690, 0.0120), vec2(0.0165, 0.0220), 0.004),
        );
    }
    b.servo([0.2749, 0.0123, 0.2344], Along::X, Vec3::Y);
}

fn gripper(b: &mut Bench<'_>) {
    use Material::{Printed, Rubber};
    // The disc on the roll horn and the palm that holds the jaw servo.
    b.plate(Along::X, 0.2985, 0.0030, &[(vec2(0.0, 0.2344), 0.0185)]);
    b.plate(
        Along::X,
        0.3030,
        0.0026,
        &rectangle(vec2(-0.001, 0.2325), vec2(0.0235, 0.0320), 0.006),
    );
    b.plate(
        Along::Y,
        -0.001,
        0.0215,
        &rectangle(vec2(0.3160, 0.2100), vec2(0.0150, 0.0088), 0.004),
    );
    for side in [-1.0, 1.0] {
        let cheek = [
            (vec2(0.3040, 0.2050), 0.003),
            (vec2(0.3280, 0.2050), 0.003),
            (vec2(0.3280, 0.2260), 0.003),
            (vec2(0.3040, 0.2480), 0.003),
        ];
        b.plate(Along::Y, side * 0.0197 - 0.001, WALL, &cheek);
    }
    b.servo([0.3166, -0.001, 0.2421], Along::Y, -Vec3::Z);
    // The fixed finger: a wedge from the palm, a thin tip, and the pad that a cube rests against.
    let root = [
        (vec2(0.3270, 0.2050), 0.0038),
        (vec2(0.3720, 0.2175), 0.0032),
        (vec2(0.3720, 0.2215), 0.0032),
        (vec2(0.3270, 0.2200), 0.0038),
    ];
    b.plate(Along::Y, -0.0002, 0.0125, &root);
    let tip = [
        (vec2(0.3680, 0.2180), 0.0036),
        (vec2(0.3985, 0.2243), 0.0014),
        (vec2(0.3680, 0.2225), 0.0036),
    ];
    b.plate(Along::Y, -0.0002, 0.0090, &tip);
    b.block(Rubber, [0.3890, -0.0002, 0.2290], [0.0080, 0.0075, 0.0038]);
    b.block(Printed, [0.3190, 0.0320, 0.2335], [0.0030, 0.0150, 0.0110]);
    wrist_camera(b);
}

/// The camera beside the palm that looks at the finger tips.
fn wrist_camera(b: &mut Bench<'_>) {
    use Material::{Board, Dark, Printed};
    let turn = Quat::from_rotation_z(-0.55);
    let ahead = turn * Vec3::X;
    let middle = vec3(0.3300, 0.0600, 0.2340);
    b.turned_block(
        Printed,
        (middle - 0.003 * ahead).to_array(),
        [0.0022, 0.0185, 0.0180],
        turn,
    );
    b.turned_block(Board, middle.to_array(), [0.0010, 0.0160, 0.0160], turn);
    b.turned_block(
        Dark,
        (middle + 0.003 * ahead).to_array(),
        [0.0026, 0.0060, 0.0060],
        turn,
    );
}

fn moving_jaw(b: &mut Bench<'_>) {
    for side in [-1.0, 1.0] {
        let y = side * 0.0232 - 0.001;
        let plate = [
            (vec2(0.3166, 0.2546), 0.0115),
            (vec2(0.3460, 0.2490), 0.0040),
            (vec2(0.3500, 0.2590), 0.0050),
        ];
        b.plate(Along::Y, y, WALL, &plate);
        b.horn_screws(vec3(0.3166, y + side * WALL, 0.2546), side * Vec3::Y);
    }
    b.plate(
        Along::Y,
        -0.001,
        0.0215,
        &rectangle(vec2(0.3460, 0.2550), vec2(0.0085, 0.0085), 0.004),
    );
    let root = [
        (vec2(0.3440, 0.2495), 0.0040),
        (vec2(0.3740, 0.2475), 0.0032),
        (vec2(0.3740, 0.2520), 0.0032),
        (vec2(0.3440, 0.2600), 0.0040),
    ];
    b.plate(Along::Y, -0.0012, 0.0125, &root);
    let tip = [
        (vec2(0.3700, 0.2475), 0.0036),
        (vec2(0.3985, 0.2440), 0.0014),
        (vec2(0.3700, 0.2525), 0.0036),
    ];
    b.plate(Along::Y, -0.0012, 0.0090, &tip);
    // Parallel to the fixed pad at 0.46 rad, when the jaws hold about 40 mm.
    let turn = Quat::from_rotation_y(0.46);
    b.turned_block(
        Material::Rubber,
        [0.3915, -0.0012, 0.2412],
        [0.0072, 0.0065, 0.0032],
        turn,
    );
}

/// All seven links in one mesh, each in its own frame.
pub fn arm_mesh(detail: Detail) -> Mesh {
    let drawn: Pose = forward([0.0, 0.0, 0.0, 0.0, JAW_PLANE_ROLL, 0.0]);
    let mut mesh = Mesh::default();
    for link in Link::ALL {
        let mut bench = Bench {
            mesh: &mut mesh,
            detail,
            link,
            link_from_base: drawn.link(link).inverse(),
        };
        match link {
            Link::Base => base(&mut bench),
            Link::Shoulder => shoulder(&mut bench),
            Link::UpperArm => upper_arm(&mut bench),
            Link::LowerArm => lower_arm(&mut bench),
            Link::Wrist => wrist(&mut bench),
            Link::Gripper => gripper(&mut bench),
            Link::MovingJaw => moving_jaw(&mut bench),
        }
    }
    mesh
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Centre and half size of each official mesh in its link frame, metres.
    const OFFICIAL: [([f32; 3], [f32; 3]); 7] = [
        ([0.0168, 0.0, 0.0336], [0.0478, 0.0555, 0.0360]),
        ([-0.0192, 0.0012, -0.0091], [0.0314, 0.0275, 0.0553]),
        ([-0.0591, -0.0131, 0.0202], [0.0711, 0.0251, 0.0337]),
        ([-0.0666, 0.0034, 0.0202], [0.0786, 0.0184, 0.0322]),
        ([-0.0022, -0.0269, 0.0222], [0.0178, 0.0389, 0.0312]),
        ([-0.0024, -0.0020, -0.0517], [0.0328, 0.0260, 0.0527]),
        ([-0.0012, -0.0360, 0.0189], [0.0111, 0.0460, 0.0240]),
    ];

    #[test]
    fn every_link_is_about_as_large_as_the_official_part() {
        let mesh = arm_mesh(Detail::Fine);
        for (link, (centre, half)) in Link::ALL.into_iter().zip(OFFICIAL) {
            let (mut low, mut high) = (Vec3::MAX, Vec3::MIN);
            for vertex in &mesh.vertices {
                let point = Vec3::from(vertex.position);
                // The camera beside the palm is not part of the official gripper.
                let camera = link == Link::Gripper && point.y > 0.03;
                if vertex.link == link as u32 && !camera {
                    low = low.min(point);
                    high = high.max(point);
                }
            }
            let (centre, half) = (Vec3::from(centre), Vec3::from(half));
            let off = (low - (centre - half))
                .abs()
                .max((high - (centre + half)).abs());
            assert!(
                off.max_element() < 0.013,
                "{link}: {low} to {high}, off by {off}"
            );
        }
    }

    #[test]
    fn the_arm_is_light_enough_for_a_software_renderer() {
        let mesh = arm_mesh(Detail::Fine);
        assert!(mesh.triangles() < 12_000, "{} triangles", mesh.triangles());
        let shadow = arm_mesh(Detail::Coarse).triangles();
        assert!(3 * shadow < mesh.triangles(), "{shadow} for shadows");
        assert!(
            mesh.indices
                .iter()
                .all(|&k| (k as usize) < mesh.vertices.len())
        );
        let unit = |v: &crate::scene::solid::Vertex| (Vec3::from(v.normal).length() - 1.0).abs();
        assert!(mesh.vertices.iter().all(|v| unit(v) < 1e-3));
    }
}
