//! What has happened to one cube so far: whether it was carried, let go, shoved or only flicked. A single moment does not tell.

use std::time::Duration;

use glam::{Vec2, Vec3};

use crate::sim::{CubeTruth, Support, Truth};

/// Least force with which a jaw presses on what it holds, newtons.
const PRESSES: f32 = 0.1;
/// A contact may be missing for so long in a grip that lasts: contacts flicker.
const FLICKER: Duration = Duration::from_millis(60);
/// Height above the table from which a cube counts as carried, metres.
const CARRIED: f32 = 0.03;
/// Slower than this it is at rest, metres a second.
const REST_SPEED: f32 = 0.01;
/// Higher than this above the table a cube does not lie on it any more, metres.
const OFF_TABLE: f32 = 0.008;

/// Whether both jaws press on a cube.
pub(in crate::sim) fn is_gripped(cube: &CubeTruth) -> bool {
    cube.jaws.iter().all(|force| *force > PRESSES)
}

/// Height of a cube's foot above the table, metres.
pub(super) fn height(cube: &CubeTruth) -> f32 {
    cube.cube.position.z - 0.5 * cube.cube.edge
}

/// The past of one cube since it was laid, or since a person's hand let go of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Track {
    gripped_at: Option<Duration>,
    /// Where both jaws last held it.
    pub let_go: Option<Vec3>,
    /// It was up between both jaws since it last stood somewhere by itself.
    pub is_carried: bool,
    /// It was in the air since it last stood on the table.
    pub was_lifted: bool,
    /// It has been slow since then.
    rests_since: Option<Duration>,
    /// Where it last stood by itself.
    pub stood: Option<Vec3>,
    touched_since: Option<Duration>,
}

impl Track {
    /// Takes in one moment.
    pub fn watch(&mut self, truth: &Truth, cube: &CubeTruth) {
        if cube.is_dragged {
            *self = Self::default();
            return;
        }
        let now = truth.at;
        if is_gripped(cube) {
            self.gripped_at = Some(now);
            self.let_go = Some(cube.cube.position);
            self.is_carried |= height(cube) > CARRIED;
        }
        self.was_lifted |= height(cube) > OFF_TABLE && cube.rests_on != Some(Support::Table);
        let is_slow = cube.velocity.length() < REST_SPEED;
        keep(
            &mut self.rests_since,
            is_slow && cube.rests_on.is_some(),
            now,
        );
        keep(&mut self.touched_since, cube.is_touched, now);
        if !cube.is_touched && self.rests_since.is_some() {
            self.stood = Some(cube.cube.position);
        }
    }

    /// It stands by itself where it should not: what was done with it before is over.
    pub fn start_over(&mut self) {
        self.is_carried = false;
        self.was_lifted = false;
    }

    /// Both jaws hold it, or did until a moment ago.
    pub fn is_held(&self, now: Duration) -> bool {
        self.gripped_at
            .is_some_and(|at| now.saturating_sub(at) <= FLICKER)
    }

    /// For how long it has been at rest on something.
    pub fn rested(&self, now: Duration) -> Duration {
        lasted(self.rests_since, now)
    }

    /// For how long the arm has touched it.
    pub fn touched(&self, now: Duration) -> Duration {
        lasted(self.touched_since, now)
    }

    /// How far it is along the table from where it last stood by itself, metres.
    pub fn moved(&self, cube: &CubeTruth) -> f32 {
        let here: Vec2 = cube.cube.position.truncate();
        self.stood
            .map_or(0.0, |stood| stood.truncate().distance(here))
    }
}

/// Remembers since when something is so.
pub(super) fn keep(since: &mut Option<Duration>, is_so: bool, now: Duration) {
    *since = if is_so { since.or(Some(now)) } else { None };
}

/// For how long something has been so.
pub(super) fn lasted(since: Option<Duration>, now: Duration) -> Duration {
    since.map_or(Duration::ZERO, |since| now.saturating_sub(since))
}
