//! What is done with a step that would come too close to something: the joints that would hit it slow down, the others go
//! on.

use crate::arm::limits::Limits;
use crate::arm::limits::clearance::{Clearance, Gaps};
use crate::arm::limits::cut::{Cut, Cuts};
use crate::arm::limits::motion::Motion;
use crate::joint::Joint;

/// More steps than any joint needs to come to rest.
const LONGEST_STOP: usize = 500;

/// What a step is judged by.
pub(super) struct Detour<'a> {
    pub limits: &'a Limits,
    pub clearance: Clearance,
    /// Gaps that must not be fallen below.
    pub floors: Gaps,
    pub dt_s: f32,
}

impl Detour<'_> {
    /// The first thing that the arm would come too close to if it took this step and then came to rest as fast as it may.
    /// All poses on that way are looked at: if the next step is to slow down, they are the ones that will be sent.
    pub fn obstacle(&self, step: Motion) -> Option<Cut> {
        let mut at = step;
        for _ in 0..LONGEST_STOP {
            let found = self.clearance.obstacle(at.position, &self.floors);
            if found.is_some() || !at.is_moving() {
                return found;
            }
            at = self.limits.rest(&at, self.dt_s);
        }
        None
    }

    /// As much of `wanted` as can be done. Slowing down in all joints is always possible: the step before this one was only
    /// taken because it is. From there, one joint after the other gets its way if that is clear; twice, because one joint
    /// may make room for another.
    pub fn around(&self, motion: &Motion, wanted: Motion, cuts: &mut Cuts) -> Motion {
        let mut taken = self.limits.rest(motion, self.dt_s);
        let mut blocked = Joint::ALL.map(|joint| {
            let moves = wanted.position[joint] != taken.position[joint];
            moves.then_some((joint, None))
        });
        for _ in 0..2 {
            for slot in &mut blocked {
                let Some((joint, _)) = *slot else { continue };
                let mut tried = taken;
                tried.position[joint] = wanted.position[joint];
                tried.velocity[joint] = wanted.velocity[joint];
                let obstacle = self.obstacle(tried);
                *slot = obstacle.map(|_| (joint, obstacle));
                if obstacle.is_none() {
                    taken = tried;
                }
            }
        }
        for (joint, obstacle) in blocked.into_iter().flatten() {
            if let Some(obstacle) = obstacle {
                cuts.note(joint, obstacle);
            }
        }
        taken
    }
}
