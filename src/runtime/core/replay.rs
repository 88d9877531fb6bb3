//! Going through recorded actions again, at the rate they were recorded at: the way to the first is slow, and the limits stand
//! between each of them and the arm, as always.

use crate::joint::JointVec;
use crate::runtime::core::Control;
use crate::runtime::fault_book::words;
use crate::runtime::{FaultKind, Mode, ReplayPlan, ReplayView};

/// Rates of the loop, Hz. Slower and faster recordings are gone through between these.
const SLOWEST_HZ: f32 = 5.0;
const FASTEST_HZ: f32 = 100.0;
/// Rates at which a recording may have been made, Hz.
const FASTEST_PLAN: f32 = 1000.0;

/// A replay under way.
#[derive(Debug)]
pub(super) struct Replay {
    plan: ReplayPlan,
    /// The row that is sent next; between two rows it is the pose between theirs.
    at: f64,
    /// The last row has been sent.
    over: bool,
}

impl Replay {
    fn new(plan: ReplayPlan) -> Self {
        Self {
            plan,
            at: 0.0,
            over: false,
        }
    }

    /// The rate that the loop ticks at meanwhile: that of the recording, so that each tick sends one row as it was.
    pub fn loop_hz(&self) -> f32 {
        self.plan.fps.clamp(SLOWEST_HZ, FASTEST_HZ)
    }

    /// What is to be sent now, robot units.
    fn target(&self) -> Option<JointVec> {
        let before = *self.plan.actions.get(self.at as usize)?;
        let after = self.plan.actions.get(self.at as usize + 1);
        let share = self.at.fract() as f32;
        Some(before.zip(*after.unwrap_or(&before), |a, b| a + (b - a) * share))
    }

    /// That was sent.
    fn advance(&mut self) {
        let last = self.plan.actions.len().saturating_sub(1) as f64;
        if self.at >= last {
            self.over = true;
        } else {
            let step = f64::from(self.plan.fps) / f64::from(self.loop_hz());
            self.at = (self.at + step).min(last);
        }
    }

    /// What the window sees.
    pub fn view(&self) -> ReplayView {
        let rows = self.plan.actions.len();
        let sent = self.at.ceil() as usize;
        ReplayView {
            name: self.plan.name.clone(),
            row: if self.over { rows } else { sent },
            rows,
            repeat: self.plan.repeat,
        }
    }
}

/// Why a recording cannot be gone through, if so.
fn unusable(plan: &ReplayPlan) -> Option<String> {
    if plan.actions.is_empty() {
        return Some("it has no actions".to_owned());
    }
    if !(plan.fps > 0.0 && plan.fps <= FASTEST_PLAN) {
        return Some(format!("{} rows a second is no rate", plan.fps));
    }
    let bad = plan.actions.iter().position(|action| !action.is_finite())?;
    Some(format!("action {bad} is not a number"))
}

impl Control {
    /// Begins a replay, or says why not.
    pub(super) fn begin_replay(&mut self, plan: ReplayPlan) {
        let name = plan.name.clone();
        let mut refuse = |why: String, remedy: &str| {
            let told = words(format!("{name} cannot be replayed: {why}"), remedy);
            self.faults
                .flash(self.now, FaultKind::Session, "replay", told);
        };
        if let Some(why) = unusable(&plan) {
            return refuse(why, "Choose another episode.");
        }
        if self.stopped.is_some() {
            return refuse("the arm is stopped".to_owned(), "Press Resume first.");
        }
        if self.mode == Mode::Replay {
            self.enter(Mode::Hold);
        }
        self.replay = Some(Replay::new(plan));
        self.set_mode(Mode::Replay);
        self.forget_replay();
    }

    /// The recorded pose of this tick.
    pub(super) fn replayed(&self) -> Option<JointVec> {
        self.replay.as_ref().and_then(Replay::target)
    }

    /// The recorded pose of this tick is what was sent.
    pub(super) fn replay_on(&mut self) {
        if let Some(replay) = &mut self.replay {
            replay.advance();
        }
    }

    /// Ends a replay that is over, and forgets one that nobody goes on with: it can be taken over from and given back to, but
    /// a hold or a stop ends it.
    pub(super) fn forget_replay(&mut self) {
        let is_taken_over = self.mode.is_human() && self.teleop.interrupted() == Some(Mode::Replay);
        let is_kept = self.mode == Mode::Replay
            || is_taken_over
            || self.stall.goes_on_in == Some(Mode::Replay);
        if !is_kept {
            self.replay = None;
        }
        if self.mode != Mode::Replay {
            return;
        }
        match &mut self.replay {
            Some(replay) if !replay.over => {}
            Some(replay) if replay.plan.repeat => {
                (replay.at, replay.over) = (0.0, false);
                self.approach.begin();
            }
            _ => {
                self.replay = None;
                self.enter(Mode::Hold);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::core::bench::{Bench, assert_still, flying};
    use crate::runtime::{Command, LeaderStatus, LeaderView};

    fn plan(fps: f32, actions: Vec<JointVec>) -> ReplayPlan {
        ReplayPlan {
            name: "cubes, episode 3".to_owned(),
            fps,
            actions: actions.into(),
            repeat: false,
        }
    }

    /// Rows half a unit apart from here.
    fn rows(from: f32, count: u16) -> Vec<JointVec> {
        let row = |k| JointVec([from + f32::from(k) * 0.5; 6]);
        (0..count).map(row).collect()
    }

    fn replay(bench: &mut Bench, plan: ReplayPlan) {
        bench.tick(vec![Command::Replay(Box::new(plan))]);
    }

    /// A limp policy's bench, armed and held at zero.
    fn held() -> Bench {
        let mut bench = flying(50);
        bench.tick(vec![Command::SetMode(Mode::Hold)]);
        bench
    }

    #[test]
    fn rows_are_sent_one_a_tick_at_the_rate_they_were_recorded_at() {
        let mut bench = held();
        let rows = rows(bench.pose.0[0], 40);
        replay(&mut bench, plan(20.0, rows.clone()));
        assert_eq!(bench.seen.mode, Mode::Replay);
        let mut sent = vec![bench.pose];
        while bench.seen.mode == Mode::Replay {
            let before = bench.now;
            bench.tick(vec![]);
            if bench.seen.mode == Mode::Replay {
                sent.push(bench.pose);
                assert!(bench.now.saturating_sub(before).as_secs_f32() > 0.0499);
                let view = bench.seen.replay.as_ref().unwrap();
                assert_eq!((view.row, view.rows), (sent.len(), 40));
            }
        }
        assert_eq!(sent, rows);
        assert_eq!(
            (bench.seen.mode, bench.seen.replay.is_none()),
            (Mode::Hold, true)
        );
        assert_still(&mut bench, 30);
    }

    #[test]
    fn the_first_row_is_approached_and_a_repeat_goes_back_as_slowly() {
        let mut bench = held();
        let far = bench.pose.0[0] + 60.0;
        let repeated = ReplayPlan {
            repeat: true,
            ..plan(30.0, rows(far, 60))
        };
        replay(&mut bench, repeated);
        assert!(bench.seen.approaching.is_some());
        assert_eq!(bench.seen.replay.as_ref().map(|it| it.row), Some(0));
        let mut fastest = 0.0_f32;
        let mut approaches = 0;
        let mut was = true;
        while approaches < 2 {
            let before = bench.pose;
            bench.tick(vec![]);
            fastest = fastest.max(bench.pose.max_abs_diff(before));
            let is = bench.seen.approaching.is_some();
            approaches += u32::from(is && !was);
            was = is;
            assert!(bench.now.as_secs() < 60, "never again");
        }
        assert!(fastest <= 50.0 / 30.0 + 1e-3, "{fastest}");
        assert_eq!(bench.seen.mode, Mode::Replay);
    }

    #[test]
    fn slow_recordings_are_gone_through_between_their_rows() {
        let mut replay = Replay::new(plan(2.0, rows(0.0, 3)));
        let mut sent = vec![];
        while !replay.over {
            sent.push(replay.target().unwrap().0[0]);
            replay.advance();
        }
        assert_eq!(sent.len(), 6);
        assert!((sent[1] - 0.2).abs() < 1e-6 && sent[5] == 1.0, "{sent:?}");
        let fast = Replay::new(plan(200.0, rows(0.0, 9)));
        assert_eq!(fast.loop_hz(), FASTEST_HZ);
    }

    #[test]
    fn a_person_takes_over_and_gives_back_and_a_hold_ends_it() {
        let mut bench = held();
        let here = bench.pose.0[0];
        replay(&mut bench, plan(30.0, rows(here, 90)));
        bench.run(1.0);
        bench.leader = Some(LeaderView {
            status: LeaderStatus::Live,
            pose: Some(JointVec([here; 6])),
            age: Some(std::time::Duration::from_millis(8)),
            ..LeaderView::default()
        });
        bench.tick(vec![Command::Takeover]);
        assert_eq!(bench.seen.mode, Mode::Teleop);
        let at = bench.seen.replay.as_ref().unwrap().row;
        bench.run(2.0);
        bench.tick(vec![Command::Takeover]);
        assert_eq!(bench.seen.mode, Mode::Replay);
        assert_eq!(bench.seen.replay.as_ref().unwrap().row, at, "where it was");
        assert!(bench.seen.approaching.is_some());
        bench.tick(vec![Command::SetMode(Mode::Hold)]);
        assert!(bench.seen.replay.is_none());
        bench.tick(vec![Command::SetMode(Mode::Replay)]);
        assert_eq!(bench.seen.mode, Mode::Hold);
        assert!(bench.fault(FaultKind::Session).is_some());
    }

    #[test]
    fn what_cannot_be_replayed_is_said() {
        let nan = vec![JointVec([f32::NAN; 6])];
        let refused: [(ReplayPlan, &str); 3] = [
            (plan(30.0, vec![]), "no actions"),
            (plan(f32::NAN, rows(0.0, 3)), "no rate"),
            (plan(30.0, nan), "not a number"),
        ];
        for (plan, words) in refused {
            let mut bench = held();
            replay(&mut bench, plan);
            assert_eq!(bench.seen.mode, Mode::Hold);
            let told = bench.fault(FaultKind::Session).unwrap();
            assert!(told.what.contains(words), "{}", told.what);
        }
        let mut bench = held();
        bench.presses += 1;
        bench.tick(vec![]);
        replay(&mut bench, plan(30.0, rows(0.0, 30)));
        assert_eq!(bench.seen.mode, Mode::Hold);
        assert!(bench.fault(FaultKind::Session).is_some());
    }

    #[test]
    fn a_stop_ends_it() {
        let mut bench = held();
        let here = bench.pose.0[0];
        replay(&mut bench, plan(30.0, rows(here, 300)));
        bench.run(1.0);
        bench.presses += 1;
        bench.tick(vec![]);
        assert!(bench.seen.replay.is_none() && bench.seen.stopped.is_some());
        bench.tick(vec![Command::Resume]);
        assert_still(&mut bench, 30);
    }
}
