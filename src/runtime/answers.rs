//! When the policy's answers are taken: as they come, or, on a virtual clock, as late as a model says.

use std::time::Duration;

use crate::runtime::LatencyModel;
use crate::runtime::policy_thread::PolicyThread;
use crate::runtime::supervisor::{PolicyEvent, PolicyReport};

/// When the policy's answers are taken.
#[derive(Debug)]
pub enum Answers {
    AsTheyCome,
    Modelled(Modelled),
}

/// Answers that are waited for as soon as they were asked for, and kept until their time has come. A policy that looks at
/// anything beside its observation, such as the truth about a pretend table, sees it as it was when it was asked, so that a
/// run on a virtual clock is the same twice.
#[derive(Debug)]
pub struct Modelled {
    pub latency: LatencyModel,
    kept: Vec<PolicyReport>,
}

impl Modelled {
    /// Nothing is asked yet.
    pub fn new(latency: LatencyModel) -> Self {
        Self {
            latency,
            kept: vec![],
        }
    }

    /// What is due at `now`. `awaited` says which request is open, or 0 while the policy is loaded, and since when.
    fn due(&mut self, awaited: Option<(u64, Duration)>, now: Duration) -> Vec<PolicyReport> {
        let (request, since) = awaited.unwrap_or_default();
        let at = since + self.latency.draw(request);
        if awaited.is_some() && now < at {
            return vec![];
        }
        let mut due = std::mem::take(&mut self.kept);
        for report in &mut due {
            if let PolicyEvent::Chunk(arrival) = &mut report.event {
                arrival.finished_at = at;
            }
        }
        due
    }
}

impl Answers {
    /// A policy is there from now on; what the one before it owed is nobody's business.
    pub fn begin(&mut self, policy: &PolicyThread) {
        if let Self::Modelled(modelled) = self {
            modelled.kept = policy.await_answer();
        }
    }

    /// A question has been put.
    pub fn asked(&mut self, policy: &PolicyThread) {
        if let Self::Modelled(modelled) = self {
            modelled.kept.extend(policy.await_answer());
        }
    }

    /// What is heard of the policy at `now`; see [`Modelled::due`] for `awaited`.
    pub fn heard(
        &mut self,
        policy: &PolicyThread,
        awaited: Option<(u64, Duration)>,
        now: Duration,
    ) -> Vec<PolicyReport> {
        match self {
            Self::AsTheyCome => policy.reports(),
            Self::Modelled(modelled) => modelled.due(awaited, now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn an_answer_is_kept_until_its_time_has_come() {
        let failed = |id| PolicyReport {
            incarnation: 1,
            event: PolicyEvent::Failed {
                id,
                why: String::new(),
            },
        };
        let mut modelled = Modelled::new((300 * MS).into());
        modelled.kept.push(failed(1));
        let asked = Some((1, 50 * MS));
        assert!(modelled.due(asked, 349 * MS).is_empty());
        assert_eq!(modelled.due(asked, 350 * MS), [failed(1)]);
        assert!(modelled.due(asked, 351 * MS).is_empty());
        modelled.kept.push(failed(2));
        // Nobody waits for it any more: it is told as stale, not kept for the next request.
        assert_eq!(modelled.due(None, 10 * MS), [failed(2)]);
    }
}
