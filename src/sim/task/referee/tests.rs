//! The referee against made-up episodes: honest ones count, cheats do not.

use std::time::Duration;

use glam::{Quat, Vec3, vec2, vec3};

use super::*;
use crate::joint::JointVec;
use crate::scene::{Cube, Mark, Tray};

const HOME: JointVec = JointVec([0.0, -50.0, 50.0, 50.0, 0.0, 30.0]);
const TRAY: [f32; 2] = [0.15, 0.18];
const MARK: [f32; 2] = [0.20, -0.12];
const START: Vec3 = vec3(0.25, 0.0, 0.0125);

/// A table with a red cube, a blue one, a box and a mark, whose moments are made by hand.
struct Episode {
    truth: Truth,
    referee: Referee,
    verdict: Verdict,
}

fn cube(colour: Colour, position: Vec3) -> CubeTruth {
    CubeTruth {
        colour,
        cube: Cube {
            position,
            orientation: Quat::IDENTITY,
            edge: 0.025,
            color: colour.rgb(),
        },
        velocity: Vec3::ZERO,
        spin: Vec3::ZERO,
        jaws: [0.0; 2],
        is_touched: false,
        rests_on: Some(Support::Table),
        is_dragged: false,
    }
}

fn tray(colour: Colour, at: [f32; 2]) -> (Colour, Tray) {
    let tray = Tray {
        position: at.into(),
        turn: 0.4,
        inner: vec2(0.1, 0.1),
        height: 0.03,
        wall: 0.003,
        color: colour.rgb(),
    };
    (colour, tray)
}

impl Episode {
    fn of(text: &str) -> Self {
        let mark = Mark {
            position: MARK.into(),
            radius: 0.03,
            color: [1.0; 3],
        };
        let truth = Truth {
            joints: HOME,
            cubes: vec![
                cube(Colour::Red, START),
                cube(Colour::Blue, vec3(0.2, 0.08, 0.0125)),
            ],
            trays: vec![tray(Colour::Red, TRAY), tray(Colour::Blue, [0.1, -0.2])],
            marks: vec![(Colour::Yellow, mark)],
            ..Truth::default()
        };
        let referee = Referee::new(text.parse().unwrap());
        let mut episode = Self {
            truth,
            referee,
            verdict: Verdict::default(),
        };
        episode.wait(0.3);
        episode
    }

    fn wait(&mut self, seconds: f32) {
        for _ in 0..(seconds * 50.0) as u32 {
            self.truth.at += Duration::from_millis(20);
            self.verdict = self.referee.watch(&self.truth);
        }
    }

    /// Holds a cube between the jaws there.
    fn hold(&mut self, index: usize, position: Vec3, seconds: f32) {
        let cube = &mut self.truth.cubes[index];
        cube.cube.position = position;
        cube.jaws = [2.0, 2.0];
        cube.is_touched = true;
        cube.rests_on = None;
        self.wait(seconds);
    }

    /// Lets it be, standing there on something.
    fn leave(&mut self, index: usize, position: Vec3, on: Support, seconds: f32) {
        let cube = &mut self.truth.cubes[index];
        cube.cube.position = position;
        cube.jaws = [0.0; 2];
        cube.is_touched = false;
        cube.is_dragged = false;
        cube.velocity = Vec3::ZERO;
        cube.rests_on = Some(on);
        self.wait(seconds);
    }

    /// A person's hand puts it there.
    fn drag(&mut self, index: usize, position: Vec3) {
        self.truth.cubes[index].cube.position = position;
        self.truth.cubes[index].rests_on = None;
        self.truth.cubes[index].is_dragged = true;
        self.wait(0.3);
    }

    #[track_caller]
    fn expect(&self, is_done: bool) {
        assert_eq!(self.verdict.is_done, is_done, "{:?}", self.verdict);
        assert_eq!(self.verdict.progress == 1.0, is_done, "{:?}", self.verdict);
    }
}

fn in_tray() -> Vec3 {
    vec3(TRAY[0], TRAY[1], 0.0155)
}

#[test]
fn a_cube_is_picked_up_when_both_jaws_have_held_it_high_for_a_while() {
    let mut episode = Episode::of("pick up the red cube");
    episode.hold(0, vec3(0.25, 0.0, 0.06), 1.0);
    episode.expect(false); // not high enough
    episode.hold(0, vec3(0.25, 0.0, 0.08), 0.4);
    episode.expect(false); // not long enough
    episode.truth.cubes[0].jaws = [2.0, 0.0];
    episode.wait(1.0);
    episode.expect(false); // balanced on one finger
    episode.truth.cubes[0].jaws = [0.0; 2];
    episode.truth.cubes[0].is_touched = false;
    episode.truth.cubes[0].velocity = vec3(0.0, 0.0, 1.0);
    episode.wait(1.0);
    episode.expect(false); // flicked into the air
    episode.hold(0, vec3(0.25, 0.0, 0.08), 0.6);
    episode.expect(true);
}

#[test]
fn a_hand_that_lifts_a_cube_does_not_count() {
    let mut episode = Episode::of("pick up the red cube");
    episode.truth.cubes[0].is_dragged = true;
    episode.hold(0, vec3(0.25, 0.0, 0.1), 2.0);
    episode.expect(false);
}

#[test]
fn a_cube_that_was_carried_and_set_down_is_in_the_box() {
    let mut episode = Episode::of("put the red cube in the box");
    episode.hold(0, vec3(0.25, 0.0, 0.08), 0.3);
    let carried = episode.verdict.progress;
    episode.hold(0, in_tray() + 0.01 * Vec3::Z, 1.0);
    episode.expect(false);
    assert!(carried > 0.5 && episode.verdict.progress >= carried);
    episode.leave(0, in_tray(), Support::Tray(0), 0.4);
    episode.expect(false);
    episode.leave(0, in_tray(), Support::Tray(0), 0.3);
    episode.expect(true);
    episode.drag(0, START);
    episode.expect(true); // done is done
    episode.truth.laid += 1;
    episode.leave(0, START, Support::Table, 1.0);
    episode.expect(false);
}

#[test]
fn what_is_held_in_the_box_is_not_put_there() {
    let mut episode = Episode::of("put the red cube in the box");
    episode.hold(0, vec3(0.25, 0.0, 0.08), 0.3);
    episode.hold(0, in_tray(), 0.1);
    episode.truth.cubes[0].rests_on = Some(Support::Tray(0));
    episode.wait(2.0);
    episode.expect(false);
    // Let go, but with fingers that stay around it, and with fingers that clench above it.
    let pinch = forward_robot(HOME).gripper_point(PINCH_POINT);
    episode.truth.trays[0].1.position = pinch.truncate();
    episode.truth.trays[0].1.height = 0.5;
    episode.hold(0, pinch, 0.1);
    episode.leave(0, pinch, Support::Tray(0), 2.0);
    episode.expect(false);
    episode.truth.joints = JointVec([0.0, -80.0, 50.0, 50.0, 0.0, 0.0]);
    episode.wait(2.0);
    episode.expect(false);
    episode.truth.joints[Joint::Gripper] = 30.0;
    episode.wait(0.1);
    episode.expect(true);
}

#[test]
fn flicked_thrown_or_dropped_into_the_box_does_not_count() {
    let flicked = |episode: &mut Episode| {
        episode.truth.cubes[0].velocity = vec3(0.0, 1.0, 1.0);
        episode.wait(0.2);
    };
    let thrown = |episode: &mut Episode| episode.hold(0, vec3(0.25, 0.0, 0.08), 0.5);
    let dropped = |episode: &mut Episode| {
        episode.hold(0, in_tray() + 0.2 * Vec3::Z, 0.5);
    };
    let carried_then_flicked = |episode: &mut Episode| {
        episode.hold(0, in_tray() + 0.04 * Vec3::Z, 0.5);
        episode.leave(0, START, Support::Table, 0.5);
    };
    let dragged = |episode: &mut Episode| {
        episode.hold(0, in_tray() + 0.04 * Vec3::Z, 0.5);
        episode.drag(0, in_tray());
    };
    let cheats: [&dyn Fn(&mut Episode); 5] =
        [&flicked, &thrown, &dropped, &carried_then_flicked, &dragged];
    for (k, cheat) in cheats.into_iter().enumerate() {
        let mut episode = Episode::of("put the red cube in the box");
        cheat(&mut episode);
        episode.leave(0, in_tray(), Support::Tray(0), 2.0);
        assert!(!episode.verdict.is_done, "cheat {k}: {:?}", episode.verdict);
    }
}

#[test]
fn a_tower_stands_by_itself_and_was_built_by_the_gripper() {
    let top = vec3(0.2, 0.085, 0.0385);
    let build = |lift: f32| {
        let mut episode = Episode::of("stack the red cube on the blue cube");
        episode.hold(0, vec3(0.25, 0.0, lift), 0.2);
        episode.hold(0, top, 0.2);
        episode
    };
    let mut episode = build(0.09);
    episode.truth.cubes[0].rests_on = Some(Support::Cube(1));
    episode.wait(2.0);
    episode.expect(false); // still held
    episode.leave(0, top, Support::Cube(1), 0.6);
    episode.expect(true);

    let mut falls = build(0.09);
    falls.truth.cubes[0].velocity = vec3(0.05, 0.0, 0.0);
    falls.leave(0, top, Support::Cube(1), 0.3);
    falls.leave(0, START, Support::Table, 2.0);
    falls.expect(false);

    let mut wrong = build(0.09);
    wrong.leave(0, top, Support::Cube(0), 2.0);
    wrong.expect(false);

    let mut by_hand = Episode::of("stack the red cube on the blue cube");
    by_hand.drag(0, top);
    by_hand.leave(0, top, Support::Cube(1), 2.0);
    by_hand.expect(false);
}

/// The finger tips touch a cube that has moved by so much.
fn touched(moved: f32, seconds: f32) -> Episode {
    let mut episode = Episode::of("touch the red cube");
    let tip = forward_robot(HOME).gripper_point(PINCH_POINT);
    episode.truth.cubes[0].cube.position = tip - 0.02 * Vec3::Z;
    episode.wait(0.2);
    let cube = &mut episode.truth.cubes[0];
    cube.cube.position.x += moved;
    cube.is_touched = true;
    episode.wait(seconds);
    episode
}

#[test]
fn a_touch_is_gentle_and_of_the_finger_tips() {
    touched(0.005, 0.3).expect(true);
    touched(0.005, 0.1).expect(false);
    touched(0.025, 1.0).expect(false);
    let mut elbow = Episode::of("touch the red cube");
    elbow.truth.cubes[0].is_touched = true;
    elbow.wait(1.0);
    elbow.expect(false);
}

/// Moves the red cube along the table to the mark; the arm touches it up to this share of the way.
fn pushed(touches: f32, lifted: f32) -> Episode {
    let mut episode = Episode::of("push the red cube to the mark");
    let goal = vec3(MARK[0], MARK[1], START.z);
    for k in 0..=50 {
        let share = k as f32 / 50.0;
        let cube = &mut episode.truth.cubes[0];
        cube.cube.position = START.lerp(goal, share) + lifted * Vec3::Z;
        cube.rests_on = (lifted == 0.0).then_some(Support::Table);
        cube.velocity = vec3(0.1, 0.0, 0.0);
        cube.is_touched = share <= touches;
        episode.wait(0.02);
    }
    episode.leave(0, goal, Support::Table, 0.6);
    episode
}

#[test]
fn a_cube_is_pushed_all_the_way_along_the_table() {
    pushed(1.0, 0.0).expect(true);
    pushed(0.5, 0.0).expect(false); // flicked towards it
    pushed(1.0, 0.03).expect(false); // carried
    let mut by_hand = Episode::of("push the red cube to the mark");
    by_hand.drag(0, vec3(MARK[0], MARK[1], 0.05));
    by_hand.leave(0, vec3(MARK[0], MARK[1], START.z), Support::Table, 1.0);
    by_hand.expect(false);
    // A second try after a bad one counts.
    let mut again = pushed(1.0, 0.03);
    again.leave(0, START, Support::Table, 0.5);
    again.truth.cubes[0].is_touched = true;
    again.truth.cubes[0].cube.position = vec3(MARK[0], MARK[1], START.z);
    again.wait(0.1);
    again.leave(0, vec3(MARK[0], MARK[1], START.z), Support::Table, 0.6);
    again.expect(true);
}

#[test]
fn sorting_is_done_when_every_cube_is_in_its_own_box() {
    let mut episode = Episode::of("sort");
    let blue = vec3(0.1, -0.2, 0.0155);
    episode.hold(0, in_tray() + 0.04 * Vec3::Z, 0.2);
    episode.leave(0, in_tray(), Support::Tray(0), 1.0);
    episode.expect(false);
    assert!(
        episode.verdict.stage.starts_with("1 of 2"),
        "{:?}",
        episode.verdict
    );
    episode.hold(1, in_tray() + 0.04 * Vec3::Z, 0.2);
    episode.leave(1, in_tray() + 0.025 * Vec3::X, Support::Tray(0), 1.0);
    episode.expect(false); // the wrong box
    episode.hold(1, blue + 0.04 * Vec3::Z, 0.2);
    episode.leave(1, blue, Support::Tray(1), 1.0);
    episode.expect(true);
}

#[test]
fn a_table_without_the_thing_is_named() {
    let mut episode = Episode::of("touch the green cube");
    episode.wait(0.1);
    assert_eq!(episode.verdict.stage, "there is no green cube on the table");
}
