//! How far a policy is on its way from a name to a first chunk, and where the time went.

use std::fmt;
use std::time::Duration;

/// How far a policy has come while it loads.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadProgress {
    /// What is being done.
    pub stage: LoadStage,
    /// 0 to 1 where it can be known.
    pub fraction: Option<f32>,
}

/// The stages of loading, in order. A stage that is not needed is passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadStage {
    /// Opening the device.
    Opening,
    /// Comparing the device with the CPU on a tiny network.
    SelfTest,
    /// Fetching files from the hub.
    Downloading,
    /// Checking all of a checkpoint but its numbers.
    Checking,
    /// Reading and uploading tensors; kernels are compiled meanwhile.
    Loading,
    /// What of the compiling outlasts the loading.
    Compiling,
    /// The first chunk, at the size that will be flown; its time is excluded from the measured delay.
    WarmUp,
}

impl LoadStage {
    /// All of them, in order.
    pub const ALL: [Self; 7] = [
        Self::Opening,
        Self::SelfTest,
        Self::Downloading,
        Self::Checking,
        Self::Loading,
        Self::Compiling,
        Self::WarmUp,
    ];
}

impl fmt::Display for LoadStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Opening => "opening the device",
            Self::SelfTest => "checking the device",
            Self::Downloading => "downloading",
            Self::Checking => "checking the checkpoint",
            Self::Loading => "loading weights",
            Self::Compiling => "compiling kernels",
            Self::WarmUp => "first chunk",
        })
    }
}

/// Where the time of a start went, stage by stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageClock {
    began: Duration,
    /// Stages in the order in which they began, and when.
    begun: Vec<(LoadStage, Duration)>,
}

impl StageClock {
    /// The start begins at `now`.
    pub fn new(now: Duration) -> Self {
        Self {
            began: now,
            begun: Vec::new(),
        }
    }

    /// At `now` that stage is under way.
    pub fn saw(&mut self, stage: LoadStage, now: Duration) {
        if self.begun.last().is_none_or(|(last, _)| *last != stage) {
            self.begun.push((stage, now));
        }
    }

    /// The stages and what each took, when the last one ends at `now`.
    pub fn parts(&self, now: Duration) -> Vec<(LoadStage, Duration)> {
        let ends = self.begun.iter().skip(1).map(|(_, at)| *at);
        let ends = ends.chain([now]);
        let spans = self.begun.iter().zip(ends);
        spans
            .map(|((stage, at), end)| (*stage, end.saturating_sub(*at)))
            .collect()
    }

    /// The same in a line: "3.10 s: opening the device 0.31, loading weights 2.00".
    pub fn words(&self, now: Duration) -> String {
        let whole = now.saturating_sub(self.began).as_secs_f64();
        let part =
            |(stage, time): (LoadStage, Duration)| format!("{stage} {:.2}", time.as_secs_f64());
        let parts: Vec<String> = self.parts(now).into_iter().map(part).collect();
        format!("{whole:.2} s: {}", parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_ends_where_the_next_begins() {
        let at = Duration::from_millis;
        let mut clock = StageClock::new(at(1000));
        clock.saw(LoadStage::Opening, at(1000));
        clock.saw(LoadStage::Loading, at(1300));
        clock.saw(LoadStage::Loading, at(2000));
        clock.saw(LoadStage::WarmUp, at(3300));
        assert_eq!(
            clock.words(at(4100)),
            "3.10 s: opening the device 0.30, loading weights 2.00, first chunk 0.80"
        );
        let sum: Duration = clock.parts(at(4100)).iter().map(|part| part.1).sum();
        assert_eq!(sum, at(3100));
    }

    #[test]
    fn a_start_without_stages_has_no_parts() {
        let clock = StageClock::new(Duration::ZERO);
        assert_eq!(clock.parts(Duration::from_secs(1)), []);
    }
}
