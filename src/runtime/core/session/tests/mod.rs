//! Sessions on a virtual clock.

mod episodes;
mod mishaps;

use std::time::Duration;

use crate::dataset::Step;
use crate::joint::JointVec;
use crate::observation::Frame;
use crate::runtime::core::bench::{Bench, Tape, flying};
use crate::runtime::{
    Command, LeaderStatus, LeaderView, SessionOrder, SessionPhase, SessionPlan, SessionView,
};

pub(super) const SECOND: Duration = Duration::from_secs(1);

pub(super) fn order(bench: &mut Bench, order: SessionOrder) {
    bench.tick(vec![Command::Session(order)]);
}

pub(super) fn session(bench: &Bench) -> SessionView {
    let view = bench.seen.session.as_deref();
    view.cloned().expect("there is a recorder")
}

pub(super) fn phase(bench: &Bench) -> SessionPhase {
    session(bench).phase
}

pub(super) fn tape(bench: &mut Bench) -> &mut Tape {
    bench.tape.as_mut().expect("there is a recorder")
}

/// A camera that shows a picture of this size.
pub(super) fn camera(bench: &mut Bench, name: &str, width: u32, height: u32) {
    bench.add_camera(name, 5);
    let pixels = vec![7; (width * height * 3) as usize];
    let frame = Frame::new(width, height, pixels, 1, Duration::ZERO);
    bench.cameras.last_mut().unwrap().frame = frame;
}

pub(super) fn plan() -> SessionPlan {
    SessionPlan::new("/data/cubes")
}

/// Episodes that begin and end by themselves.
pub(super) fn timed(episodes: u32) -> SessionPlan {
    SessionPlan {
        episodes,
        warm_up: SECOND,
        episode_limit: 2 * SECOND,
        reset: SECOND,
        ..plan()
    }
}

/// A bench in which a policy flies and a data set is open.
pub(super) fn open(plan: SessionPlan) -> Bench {
    let mut bench = flying(50);
    bench.tape = Some(Tape::default());
    order(&mut bench, SessionOrder::Begin(Box::new(plan)));
    bench.until(1.0, |bench| phase(bench) != SessionPhase::Opening);
    bench
}

/// A bench that records.
pub(super) fn recording(plan: SessionPlan) -> Bench {
    let mut bench = open(plan);
    order(&mut bench, SessionOrder::Record);
    assert_eq!(phase(&bench), SessionPhase::Recording);
    bench
}

pub(super) fn lead(bench: &mut Bench, pose: JointVec) {
    bench.leader = Some(LeaderView {
        name: "leader".to_owned(),
        status: LeaderStatus::Live,
        pose: Some(pose),
        age: Some(Duration::from_millis(8)),
        ..LeaderView::default()
    });
}

/// Rows with the ones that were missed before them.
pub(super) fn instants(rows: &[Step]) -> usize {
    rows.iter().map(|row| 1 + row.missed as usize).sum()
}
