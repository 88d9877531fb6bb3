//! The motions that plans are made of: to pick a cube, to put it down, to touch it, to push it, and to go home.

use std::f32::consts::{FRAC_PI_2, PI};

use glam::{Quat, Vec2, Vec3};

use crate::joint::Joint;
use crate::scene::Cube;
use crate::sim::Truth;
use crate::sim::expert::grasp::{
    self, Spot, face_of, grasps, meets, open_after, open_around, release, squeeze,
};
use crate::sim::expert::path::{Departure, Route, Way};
use crate::sim::expert::plan::{Check, Expected, HOME, Plan, is_in_hand};
use crate::sim::expert::tip::{Tip, across, gripper_for, wrapped};

/// Height of the finger tips over cubes and walls, metres.
pub const TRANSIT: f32 = 0.085;
/// The arm comes down on a cube from this height above its middle, metres.
const HOVER: f32 = 0.055;
/// Share of each leg that overlaps with the next one.
const FLOW: f32 = 0.3;
/// Speed of the gripper, percent a second, when it only opens and when it does something to a cube.
const QUICK: f32 = 90.0;
const GENTLE: f32 = 60.0;
/// Shares of full speed near a cube, and when it is pushed.
const CAREFUL: f32 = 0.7;
const SLOW: f32 = 0.45;
/// Time in which closed jaws come to press, seconds.
const FIRM: f32 = 0.25;
/// Time in which a cube that was let go of comes to rest, seconds.
const SETTLE: f32 = 0.10;
/// Percent open with the finger tips together.
const CLOSED: f32 = 4.0;
/// How far the finger tips press on what they touch, metres below its top; the pads reach lower than the point that is steered.
const PRESS: f32 = -0.0015;
/// Free way on either side of a cube between jaws that push it, metres.
const CAGE: f32 = 0.001;
/// The middle of the fixed jaw's pad, which comes down first, off its face, metres.
const PAD: f32 = -0.005;
/// The wrist turns farther than this only high above the table, where the open jaws sweep over everything, radians.
const SWEEP: f32 = 0.3;
/// The wrist does not turn farther with a cube between the jaws, radians.
const TURN: f32 = 1.0;

/// A plan under way of being made.
pub struct Draft {
    /// The table as it will be when the route has come to where it is.
    pub truth: Truth,
    route: Route,
    checks: Vec<Check>,
    failures: usize,
    holds: Option<usize>,
    /// Since when it has been held, or let go.
    since: f32,
}

impl Draft {
    /// A plan that begins where the arm is.
    pub fn new(truth: &Truth, departure: Departure, failures: usize) -> Self {
        Self {
            truth: truth.clone(),
            route: Route::from(departure),
            checks: Vec::new(),
            failures,
            holds: truth.cubes.iter().position(|cube| is_in_hand(truth, cube)),
            since: 0.0,
        }
    }

    /// The plan.
    pub fn finish(self, is_last: bool, warning: Option<String>) -> Plan {
        Plan {
            path: self.route.path(),
            checks: self.checks,
            is_last,
            warning,
        }
    }

    pub fn out_of_reach(&self, index: usize) -> String {
        let colour = self.truth.cubes[index].colour;
        format!("the {colour} cube is out of the gripper's reach: move it nearer to the arm")
    }

    fn check(&mut self, from: f32, cube: usize, what: Expected) {
        let to = self.route.time();
        self.checks.push(Check {
            from,
            to,
            cube,
            what,
        });
    }

    /// Straight up until the finger tips are over everything.
    fn rise(&mut self) {
        let tip = self.route.tip();
        if tip.position.z < TRANSIT - 0.01 {
            self.route
                .go(Way::Straight, tip.at_height(TRANSIT), 1.0, 0.0);
        }
    }

    /// High above the table to a pose over a place. What is right below is only risen from as far as needed, unless the wrist
    /// has to turn.
    pub fn over(&mut self, to: Tip) {
        let here = self.route.tip();
        let off = (here.position - to.position).truncate().length();
        if off > 0.01 || (here.roll - to.roll).abs() > SWEEP {
            self.rise();
        }
        self.route.go(Way::Swing, to, 1.0, FLOW);
    }

    /// Takes hold of a cube and lifts it. One that is held already is only lifted.
    pub fn pick(&mut self, index: usize) -> Result<(), String> {
        if self.holds == Some(index) {
            self.rise();
            return Ok(());
        }
        let ways = grasps(&self.truth, index);
        let Some(grasp) = ways.get(self.failures % ways.len().max(1)).copied() else {
            return Err(self.out_of_reach(index));
        };
        let (edge, around) = (grasp.edge, grasp.around());
        let begins = self.since;
        self.route.grip(open_around(edge), 0.0, QUICK);
        self.over(around.raised(HOVER));
        self.route.go(Way::Straight, around, CAREFUL, FLOW);
        self.check(
            begins,
            index,
            Expected::At(self.truth.cubes[index].cube.position),
        );
        self.route.grip(squeeze(edge), meets(edge), GENTLE);
        let closed = self.route.time() + (open_around(edge) - squeeze(edge)) / GENTLE;
        self.route.go(Way::Straight, grasp.tip, CAREFUL, 0.0);
        self.route
            .wait((closed - self.route.time()).max(0.0) + FIRM);
        self.since = self.route.time() + 0.1;
        self.holds = Some(index);
        self.route
            .go(Way::Straight, grasp.tip.at_height(TRANSIT), CAREFUL, 0.0);
        self.check(self.since, index, Expected::Held);
        Ok(())
    }

    /// Carries what is held to the best of these spots, lets go and rises.
    pub fn put_down(
        &mut self,
        index: usize,
        spots: &[Spot],
        beside: &[usize],
    ) -> Result<(), String> {
        let edge = self.truth.cubes[index].cube.edge;
        let Some((tip, facing)) = release(&self.truth, index, spots, beside) else {
            return Err(format!(
                "the place for the {} cube is out of the gripper's reach",
                self.truth.cubes[index].colour
            ));
        };
        self.rise();
        let over = tip.at_height(TRANSIT.max(tip.position.z + 0.03));
        self.route.go(Way::Swing, over, 1.0, FLOW);
        self.route.go(Way::Straight, tip, CAREFUL, FLOW);
        self.check(self.since, index, Expected::Held);
        self.route.wait(SETTLE);
        self.route.grip_and_wait(open_after(edge), 0.0, GENTLE);
        // Off the fixed jaw, so that it does not drag the cube along.
        self.route.go(
            Way::Straight,
            Tip {
                across: across(edge, 0.004),
                ..tip
            },
            CAREFUL,
            0.0,
        );
        self.since = self.route.time();
        self.holds = None;
        let cube = &mut self.truth.cubes[index].cube;
        cube.position = tip.position;
        cube.orientation = Quat::from_rotation_z(facing);
        self.route.go(
            Way::Straight,
            Tip {
                across: across(edge, 0.004),
                ..over
            },
            CAREFUL,
            0.0,
        );
        Ok(())
    }

    /// Lowers closed finger tips onto a cube and stays there.
    pub fn touch(&mut self, index: usize) -> Result<(), String> {
        let cube = self.truth.cubes[index].cube;
        let top = cube.position + (0.5 * cube.edge - PRESS) * Vec3::Z;
        let tips = (0..4).filter_map(|k| {
            let yaw = face_of(&cube) + FRAC_PI_2 * k as f32;
            Tip::down(top, across(0.0, PAD)).facing(yaw)
        });
        let tip = tips.min_by(|a, b| a.roll.abs().total_cmp(&b.roll.abs()));
        let tip = tip.ok_or_else(|| self.out_of_reach(index))?;
        self.route.grip(CLOSED, 0.0, QUICK);
        self.over(tip.raised(0.045));
        self.route
            .go(Way::Straight, tip.raised(0.01), CAREFUL, FLOW);
        self.check(0.0, index, Expected::At(cube.position));
        self.route.go(Way::Straight, tip, SLOW, 0.0);
        self.route.wait(0.5);
        Ok(())
    }

    /// Shoves a cube along the table to a place, between jaws that do not press on it: they come down square to its faces,
    /// turn it to face the way, and push.
    pub fn push(&mut self, index: usize, goal: Vec2) -> Result<(), String> {
        let cube = self.truth.cubes[index].cube;
        let [down, turned, there] = pushes(&cube, goal).ok_or_else(|| self.out_of_reach(index))?;
        let closed = gripper_for(cube.edge + 2.0 * CAGE);
        self.route.grip(open_around(cube.edge), 0.0, QUICK);
        self.over(down.raised(HOVER));
        self.route.go(Way::Straight, down, CAREFUL, FLOW);
        self.check(0.0, index, Expected::At(cube.position));
        self.since = self.route.time();
        let caged = Tip {
            across: turned.across,
            ..down
        };
        self.route.grip(closed, 0.0, GENTLE);
        self.route.go(Way::Straight, caged, CAREFUL, 0.0);
        self.route.wait(SETTLE);
        self.route.go(Way::Straight, turned, CAREFUL, 0.0);
        self.route.go(Way::Straight, there, SLOW, 0.0);
        self.route.wait(SETTLE);
        self.check(self.since, index, Expected::Between);
        self.route
            .grip_and_wait(open_around(cube.edge), 0.0, GENTLE);
        let off = Tip {
            across: down.across,
            ..there
        };
        self.route.go(Way::Straight, off, CAREFUL, 0.0);
        self.since = self.route.time();
        self.route
            .go(Way::Straight, off.at_height(TRANSIT), CAREFUL, 0.0);
        Ok(())
    }

    /// Back to where the arm rests, with or without what it holds.
    #[must_use]
    pub fn home(mut self, keeps: bool) -> Self {
        let rest = Tip::at(HOME);
        self.over(rest);
        if !keeps || self.holds.is_none() {
            self.route.grip(HOME[Joint::Gripper], 0.0, QUICK);
        } else if let Some(held) = self.holds {
            self.check(self.since, held, Expected::Held);
        }
        self
    }
}

/// The jaws around a cube as it stands, around it and facing the way to a place, and there.
fn pushes(cube: &Cube, goal: Vec2) -> Option<[Tip; 3]> {
    let from = cube.position.truncate();
    let heading = (goal - from).to_angle();
    let height = cube.position.z.max(0.0125);
    // The fixed jaw pushes, or the moving one, whichever asks less of the wrist.
    let ways = [0.0, PI].into_iter().filter_map(|side| {
        let way = heading + side;
        let face = way + wrapped(4.0 * (face_of(cube) - way)) / 4.0;
        let down = grasp::around(Tip::down(from.extend(height), 0.0), cube.edge).facing(face)?;
        let caged = Tip {
            across: across(cube.edge, CAGE),
            ..down
        };
        let turned = caged.facing(way)?;
        let there = Tip {
            position: goal.extend(height),
            ..turned
        }
        .facing(way)?;
        let is_short =
            (turned.roll - down.roll).abs() < TURN && (there.roll - turned.roll).abs() < 2.5;
        let most = down.roll.abs().max(there.roll.abs());
        is_short.then_some((most, [down, turned, there]))
    });
    ways.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, way)| way)
}
