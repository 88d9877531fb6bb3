//! From a snapshot to what the 3D panel shows: the ghost at the end of the plan, and ribbons of past and future.

use egui::{Color32, Rgba};
use glam::Vec3;

use crate::joint::JointVec;
use crate::kinematics::forward_robot;
use crate::runtime::{ChunkView, Snapshot};
use crate::scene::{Ghost, Look, Ribbon};
use crate::ui::scene_panel::SceneSubject;
use crate::ui::theme::Tokens;

/// Length of the executed path, seconds.
const TRAIL_SECONDS: f32 = 3.0;
/// Points of a ribbon; more cannot be seen and cost a kinematics each.
const RIBBON_POINTS: usize = 40;
/// Opacity of the ghost's rim.
const GHOST_OPACITY: f32 = 0.55;
/// A ghost closer to the arm than this is not drawn, robot units: it would only flicker in it.
const GHOST_DISTANCE: f32 = 1.5;

/// The colours of the scene in this theme.
pub fn look(is_dark: bool) -> Look {
    if is_dark { Look::dark() } else { Look::light() }
}

/// The arm as it would stand at the end of the queue, or of the newest chunk.
pub fn ghost(snapshot: &Snapshot, tokens: &Tokens) -> Option<Ghost> {
    let last = snapshot.queue.upcoming.last().copied();
    let joints = last.filter(|joints| {
        joints.is_finite() && joints.max_abs_diff(snapshot.measured) > GHOST_DISTANCE
    })?;
    Some(Ghost {
        joints,
        color: linear(tokens.predicted),
        opacity: GHOST_OPACITY,
    })
}

/// The pose that a person is asked for, in the colour of a person.
pub fn asked_pose(subject: &SceneSubject, tokens: &Tokens) -> Option<Ghost> {
    Some(Ghost {
        joints: subject.ghost?,
        color: linear(tokens.human),
        opacity: GHOST_OPACITY,
    })
}

/// Executed path, old chunk and new chunk, in the order in which they are to be drawn.
pub fn ribbons(snapshot: &Snapshot, tokens: &Tokens) -> Vec<Ribbon> {
    let mut ribbons = Vec::new();
    let trail = Ribbon::trail(trail(snapshot), linear(tokens.measured), 0.8);
    ribbons.push(trail);
    if let Some(chunk) = &snapshot.previous_chunk {
        let points = future(snapshot, chunk);
        ribbons.push(Ribbon::plan(points, linear(tokens.previous), 0.55));
    }
    if let Some(chunk) = &snapshot.chunk {
        let points = future(snapshot, chunk);
        ribbons.push(Ribbon::plan(points, linear(tokens.predicted), 0.95));
    }
    ribbons.retain(|ribbon| ribbon.points.len() > 1);
    ribbons
}

/// Where the gripper was, oldest first.
fn trail(snapshot: &Snapshot) -> Vec<Vec3> {
    let oldest = snapshot.now.as_secs_f32() - TRAIL_SECONDS;
    let poses: Vec<JointVec> = snapshot
        .history
        .iter()
        .filter(|sample| sample.at.as_secs_f32() >= oldest)
        .map(|sample| sample.measured)
        .collect();
    path(&poses)
}

/// Where a chunk would bring the gripper from now on.
fn future(snapshot: &Snapshot, chunk: &ChunkView) -> Vec<Vec3> {
    let past = snapshot.tick.since(chunk.first_tick) as usize;
    let skipped = past.max(chunk.skipped).min(chunk.actions.len());
    path(&chunk.actions[skipped..])
}

/// The gripper's way through poses, thinned out, first and last kept.
fn path(poses: &[JointVec]) -> Vec<Vec3> {
    let stride = poses.len().div_ceil(RIBBON_POINTS).max(1);
    let last = poses.len().saturating_sub(1);
    poses
        .iter()
        .enumerate()
        .filter(|(i, pose)| (i % stride == 0 || *i == last) && pose.is_finite())
        .map(|(_, pose)| forward_robot(*pose).gripper_frame().translation.into())
        .collect()
}

fn linear(color: Color32) -> [f32; 3] {
    let color = Rgba::from(color);
    [color.r(), color.g(), color.b()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Tick;
    use crate::policy::StageTimes;
    use crate::ui::theme::DARK;
    use std::sync::Arc;

    fn sweep(from: f32) -> Vec<JointVec> {
        (0..50_u8)
            .map(|i| JointVec([from + f32::from(i), 0.0, 0.0, 0.0, 0.0, 50.0]))
            .collect()
    }

    fn snapshot() -> Snapshot {
        let mut snapshot = Snapshot {
            tick: Tick(120),
            chunk: Some(Arc::new(ChunkView {
                first_tick: Tick(100),
                arrived_at: Tick(110),
                actions: sweep(0.0).into(),
                skipped: 10,
                seam: 0.0,
                times: StageTimes::default(),
            })),
            ..Snapshot::default()
        };
        snapshot.queue.upcoming = sweep(20.0)[..30].to_vec().into();
        snapshot
    }

    #[test]
    fn a_plan_begins_now_and_ends_at_its_last_action() {
        let ribbons = ribbons(&snapshot(), &DARK);
        assert_eq!(ribbons.len(), 1, "no history, no old chunk");
        let points = &ribbons[0].points;
        let place = |pan: f32| {
            let pose = JointVec([pan, 0.0, 0.0, 0.0, 0.0, 50.0]);
            Vec3::from(forward_robot(pose).gripper_frame().translation)
        };
        assert_eq!(points.first(), Some(&place(20.0)));
        assert_eq!(points.last(), Some(&place(49.0)));
    }

    #[test]
    fn the_ghost_stands_at_the_end_of_the_queue() {
        let mut snapshot = snapshot();
        let ghost = ghost(&snapshot, &DARK);
        assert_eq!(ghost.map(|ghost| ghost.joints.0[0]), Some(49.0));
        snapshot.measured = JointVec([49.0, 0.0, 0.0, 0.0, 0.0, 50.0]);
        assert_eq!(super::ghost(&snapshot, &DARK), None, "it has arrived");
    }
}
