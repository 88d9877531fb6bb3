//! A hand on the leader: what the follower is to do, when that is too old to be followed, and the takeover in mid-run.

use std::time::Duration;

use crate::joint::JointVec;
use crate::runtime::core::Control;
use crate::runtime::fault_book::{Words, words};
use crate::runtime::latency::Window;
use crate::runtime::{FaultKind, LeaderStatus, LeaderView, Mode};

/// The leader and who drove before.
#[derive(Debug, Default)]
pub(super) struct Teleop {
    leader: Option<LeaderView>,
    /// Ages of the readings that were followed.
    ages: Window<Duration>,
    /// Whom a person took over from.
    interrupted: Option<Mode>,
    /// When the present driver began.
    since: Duration,
}

impl Teleop {
    /// The pose to follow, robot units; `None` when it is not known well enough.
    pub fn target(&self) -> Option<JointVec> {
        let leader = self.leader.as_ref()?;
        leader.pose.filter(|_| leader.is_live())
    }

    /// What the window sees.
    pub fn leader(&self) -> Option<LeaderView> {
        let age_p95 = self.ages.percentile(0.95).unwrap_or_default();
        let seen = self.leader.clone();
        seen.map(|leader| LeaderView { age_p95, ..leader })
    }

    /// Whom the next takeover gives back to.
    pub fn interrupted(&self) -> Option<Mode> {
        self.interrupted
    }

    /// When the present driver began.
    pub fn since(&self) -> Duration {
        self.since
    }

    /// Another mode than `before` drives from now on. A person who goes from one to the other goes on driving.
    pub fn driver_changed(&mut self, before: Mode, after: Mode, now: Duration) {
        if before.is_human() && after.is_human() {
            return;
        }
        self.interrupted = after.is_human().then_some(before);
        self.since = now;
    }
}

impl Control {
    /// Takes in what the leader's thread knows.
    pub(super) fn hear_leader(&mut self, leader: Option<LeaderView>) {
        if let (Mode::Teleop, Some(LeaderView { age: Some(age), .. })) = (self.mode, &leader) {
            self.teleop.ages.push(*age);
        }
        self.teleop.leader = leader;
        let lost = self.mode == Mode::Teleop && self.teleop.target().is_none();
        let told = lost.then(|| lost_words(self.teleop.leader.as_ref()));
        let kind = FaultKind::LeaderLost;
        self.faults.set(self.now, kind, "", || told);
    }

    /// A person takes over in mid-run, or gives back to whom they took over from.
    pub(super) fn take_over(&mut self) {
        let next = match self.mode {
            Mode::Teleop | Mode::Jog => self.teleop.interrupted.unwrap_or_default(),
            _ if self.teleop.target().is_some() => Mode::Teleop,
            _ => Mode::Jog,
        };
        self.set_mode(next);
    }

    /// Why the leader cannot be followed now, if so.
    pub(super) fn leader_obstacle(&self) -> Option<Words> {
        let lost = || lost_words(self.teleop.leader.as_ref());
        self.teleop.target().is_none().then(lost)
    }

    /// A person drives in place of the policy: what a recorder marks as an intervention.
    pub(super) fn intervenes(&self) -> bool {
        self.mode.is_human() && self.teleop.interrupted == Some(Mode::Policy)
    }
}

fn lost_words(leader: Option<&LeaderView>) -> Words {
    let Some(leader) = leader else {
        return words(
            "there is no leader arm",
            "Choose one under Set-up, Arms, or start with --leader PORT; or drive with JOG.",
        );
    };
    let name = &leader.name;
    let what = match (&leader.status, leader.age) {
        (LeaderStatus::Lost(why), _) => format!("the leader is lost: {why}"),
        (LeaderStatus::Connecting, _) | (_, None) => {
            format!("the leader {name} is still being connected")
        }
        (_, Some(age)) => format!(
            "the leader {name} has not been read for {:.1} s",
            age.as_secs_f32()
        ),
    };
    words(
        what,
        "The arm holds. Check the leader's cable and supply; it is connected again by itself, and its pose is then \
         approached slowly.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::core::bench::{Bench, Temper, assert_still, flying};
    use crate::runtime::{Command, Knobs};

    const MS: Duration = Duration::from_millis(1);

    /// A bench with a leader at `pose`, read a moment ago.
    fn lead(bench: &mut Bench, pose: JointVec) {
        bench.leader = Some(LeaderView {
            name: "leader".to_owned(),
            status: LeaderStatus::Live,
            pose: Some(pose),
            age: Some(MS * 8),
            ..LeaderView::default()
        });
    }

    fn age(bench: &mut Bench, age: Duration) {
        if let Some(leader) = &mut bench.leader {
            leader.age = Some(age);
        }
    }

    fn led(by: f32) -> Bench {
        let mut bench = Bench::at_rest(Knobs::default(), 50, Temper::Counts);
        bench.tick(vec![]);
        bench.tick(vec![Command::EnableTorque]);
        let pose = JointVec::from_fn(|joint| bench.pose[joint] + by);
        lead(&mut bench, pose);
        bench.tick(vec![]);
        bench.tick(vec![Command::SetMode(Mode::Teleop)]);
        bench
    }

    #[test]
    fn the_follower_is_aligned_first_and_then_follows_at_sixty_hertz() {
        let mut bench = led(40.0);
        assert_eq!(bench.seen.mode, Mode::Teleop);
        assert!(bench.seen.approaching.is_some());
        bench.until(5.0, |bench| bench.seen.approaching.is_none());
        assert!(
            (bench.now.as_secs_f32() - 2.5).abs() < 0.3,
            "{:?}",
            bench.now
        );
        assert!(
            bench.seen.max_step <= 30.1 / 60.0,
            "{}",
            bench.seen.max_step
        );
        for k in 0..120 {
            let pose = JointVec([40.0 + k as f32 * 0.5; 6]);
            lead(&mut bench, pose);
            bench.tick(vec![]);
            assert_eq!(bench.pose, pose);
        }
        assert!(
            (bench.seen.rate_hz - 60.0).abs() < 0.5,
            "{}",
            bench.seen.rate_hz
        );
        assert_eq!(bench.seen.knobs.fps, 30.0);
        assert_eq!(
            bench.seen.leader.as_ref().map(|it| it.age_p95),
            Some(MS * 8)
        );
        bench.tick(vec![Command::SetMode(Mode::Hold)]);
        assert_still(&mut bench, 10);
    }

    #[test]
    fn a_stale_leader_holds_says_so_and_is_approached_anew() {
        let mut bench = led(2.0);
        bench.tick(vec![]);
        age(&mut bench, MS * 101);
        lead_moves_unseen(&mut bench);
        assert_still(&mut bench, 20);
        let lost = bench.fault(FaultKind::LeaderLost);
        assert!(lost.is_some_and(|it| it.active && it.what.contains("not been read for 0.1 s")));
        assert_eq!(bench.seen.mode, Mode::Teleop);
        age(&mut bench, MS * 5);
        let from = bench.pose;
        bench.run(0.5);
        assert!(bench.seen.approaching.is_some() && bench.pose.max_abs_diff(from) < 10.0);
        assert!(
            bench
                .fault(FaultKind::LeaderLost)
                .is_some_and(|it| !it.active)
        );
        bench.until(5.0, |bench| bench.seen.approaching.is_none());
        assert_eq!(bench.pose, JointVec([50.0; 6]));
    }

    fn lead_moves_unseen(bench: &mut Bench) {
        if let Some(leader) = &mut bench.leader {
            leader.pose = Some(JointVec([50.0; 6]));
        }
    }

    #[test]
    fn without_a_leader_nobody_teleoperates() {
        let mut bench = flying(50);
        bench.tick(vec![Command::SetMode(Mode::Teleop)]);
        assert_eq!(bench.seen.mode, Mode::Policy);
        let told = bench.fault(FaultKind::LeaderLost);
        assert!(told.is_some_and(|it| it.remedy.contains("--leader")));
    }

    #[test]
    fn a_takeover_and_the_way_back_leave_no_jump() {
        let mut bench = flying(50);
        let start = bench.pose;
        lead(&mut bench, JointVec([0.0; 6]));
        bench.tick(vec![]);
        let generation = bench.seen.generation;
        bench.tick(vec![Command::Takeover]);
        assert_eq!(
            (bench.seen.mode, bench.seen.interrupted),
            (Mode::Teleop, Some(Mode::Policy))
        );
        assert!(bench.pose.max_abs_diff(start) < 2.0 && bench.seen.approaching.is_some());
        bench.until(9.0, |bench| bench.seen.approaching.is_none());
        let marked = |bench: &Bench| {
            bench
                .seen
                .history
                .back()
                .map(|it| (it.mode, it.intervention))
        };
        assert_eq!(marked(&bench), Some((Mode::Teleop, true)));
        bench.run(1.0);
        let took = bench.seen.now.saturating_sub(bench.seen.mode_since);
        assert!(took > Duration::from_secs(5), "{took:?}");
        bench.tick(vec![Command::Takeover]);
        assert_eq!(
            (bench.seen.mode, bench.seen.interrupted),
            (Mode::Policy, None)
        );
        assert!(bench.seen.generation > generation && bench.seen.queue.upcoming.is_empty());
        let given = bench.seen.now;
        // The plan goes on counting from where it was: far from here, so that it is approached.
        bench.until(1.0, |bench| bench.seen.approaching.is_some());
        bench.until(9.0, |bench| bench.seen.approaching.is_none());
        assert_eq!(marked(&bench), Some((Mode::Policy, false)));
        let driven = bench.seen.history.iter().skip_while(|it| it.at < given);
        let driven: Vec<_> = driven.collect();
        for pair in driven.windows(2) {
            let step = pair[1].commanded.max_abs_diff(pair[0].commanded);
            assert!(step <= 50.0 / 30.0 + 0.01, "{step}");
        }
    }

    #[test]
    fn without_a_leader_a_takeover_is_a_jog_and_from_a_hold_it_goes_back_there() {
        let mut bench = flying(50);
        bench.tick(vec![Command::Takeover]);
        assert_eq!(
            (bench.seen.mode, bench.seen.interrupted),
            (Mode::Jog, Some(Mode::Policy))
        );
        lead(&mut bench, JointVec([0.0; 6]));
        bench.tick(vec![]);
        bench.tick(vec![Command::SetMode(Mode::Teleop)]);
        assert_eq!(
            bench.seen.interrupted,
            Some(Mode::Policy),
            "still the same person"
        );
        bench.leader = None;
        bench.tick(vec![Command::SetMode(Mode::Hold)]);
        assert_eq!(bench.seen.interrupted, None);
        bench.tick(vec![]);
        bench.tick(vec![Command::Takeover]);
        bench.tick(vec![Command::Takeover]);
        assert_eq!(bench.seen.mode, Mode::Hold);
        bench.presses = 1;
        bench.tick(vec![]);
        bench.tick(vec![Command::Takeover]);
        assert_eq!(bench.seen.mode, Mode::Hold, "a stop is not taken over");
    }
}
