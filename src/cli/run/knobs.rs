//! The knobs that the command line names, on top of their defaults.

use crate::cli::args::KnobArgs;
use crate::runtime::{Knobs, RtcKnobs};

/// Fills in the defaults. The runtime brings every knob into the range of the network once that is loaded.
pub fn knobs(args: &KnobArgs) -> Knobs {
    let default = Knobs::untouched();
    Knobs {
        scheduling: args.scheduling.unwrap_or(default.scheduling),
        chunk_size_threshold: args
            .chunk_size_threshold
            .unwrap_or(default.chunk_size_threshold),
        auto_threshold: args.auto_g,
        n_action_steps: args.n_action_steps.unwrap_or(default.n_action_steps),
        actions_per_chunk: args.actions_per_chunk.unwrap_or(default.actions_per_chunk),
        aggregate: args.aggregate.unwrap_or(default.aggregate),
        blend_steps: args.blend_steps.or(default.blend_steps),
        num_steps: args.num_steps.unwrap_or(default.num_steps),
        epsilon: args.epsilon.or(default.epsilon),
        fps: args.fps.unwrap_or(default.fps),
        rtc: RtcKnobs {
            execution_horizon: args.rtc_horizon.unwrap_or(default.rtc.execution_horizon),
            max_guidance_weight: args
                .rtc_max_weight
                .unwrap_or(default.rtc.max_guidance_weight),
            schedule: args.rtc_schedule.unwrap_or(default.rtc.schedule),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::RtcSchedule;
    use crate::runtime::{Aggregate, Scheduling};

    #[test]
    fn named_knobs_replace_the_defaults_and_no_others() {
        assert_eq!(knobs(&KnobArgs::default()), Knobs::untouched());
        let args = KnobArgs {
            scheduling: Some(Scheduling::Rtc),
            chunk_size_threshold: Some(0.4),
            aggregate: Some(Aggregate::LatestOnly),
            rtc_schedule: Some(RtcSchedule::Exp),
            ..KnobArgs::default()
        };
        let set = knobs(&args);
        assert_eq!(set.scheduling, Scheduling::Rtc);
        assert_eq!(set.chunk_size_threshold, 0.4);
        assert_eq!(set.aggregate, Aggregate::LatestOnly);
        assert_eq!(set.rtc.schedule, RtcSchedule::Exp);
        assert_eq!(set.fps, Knobs::default().fps);
    }
}
