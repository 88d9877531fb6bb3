//! The policy and its knobs: every one gives its command, and says why when it cannot be turned.

use egui::Key;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use smolpilot::policy::{LoadProgress, LoadStage, RtcSchedule};
use smolpilot::runtime::{
    Aggregate, Command, Knob, PolicyStatus, RtcKnobs, Scheduling, Snapshot, WHOLE_CHUNK,
};

use crate::fixture;
use crate::rig::Rig;
use crate::trouble;

fn with(scheduling: Scheduling) -> Snapshot {
    let mut snapshot = fixture::running(3_000);
    snapshot.knobs.scheduling = scheduling;
    snapshot
}

#[test]
fn scheduling_has_three_segments() {
    let mut rig = Rig::new(fixture::running(3_000));
    for (label, choice) in [
        ("sync", Scheduling::Sync),
        ("async", Scheduling::Async),
        ("RTC", Scheduling::Rtc),
    ] {
        assert_eq!(rig.choose(label), [Command::Set(Knob::Scheduling(choice))]);
    }
}

#[test]
fn every_slider_sets_its_knob() {
    let mut rig = Rig::new(with(Scheduling::Async));
    for (label, value, knob) in [
        ("g", 0.42, Knob::ChunkSizeThreshold(0.42)),
        ("chunk", 30.0, Knob::ActionsPerChunk(30)),
        ("blend", 12.0, Knob::BlendSteps(Some(12))),
        ("steps", 4.0, Knob::NumSteps(4)),
        ("fps", 50.0, Knob::Fps(50.0)),
        ("filter", 1.5, Knob::Epsilon(Some(1.5))),
    ] {
        assert_eq!(rig.slide(label, value), [Command::Set(knob)], "{label}");
    }
    let mut rig = Rig::new(with(Scheduling::Sync));
    assert_eq!(
        rig.slide("execute", 25.0),
        [Command::Set(Knob::NActionSteps(25))]
    );
}

#[test]
fn the_ends_of_the_rails_stand_for_all_and_off() {
    let mut snapshot = with(Scheduling::Async);
    snapshot.knobs.blend_steps = Some(10);
    snapshot.knobs.epsilon = Some(2.0);
    snapshot.knobs.actions_per_chunk = 20;
    let mut rig = Rig::new(snapshot);
    assert_eq!(
        rig.slide("blend", 50.0),
        [Command::Set(Knob::BlendSteps(None))]
    );
    assert_eq!(
        rig.slide("chunk", 50.0),
        [Command::Set(Knob::ActionsPerChunk(WHOLE_CHUNK))]
    );
    assert_eq!(
        rig.slide("filter", 0.0),
        [Command::Set(Knob::Epsilon(None))]
    );
}

#[test]
fn auto_g_takes_g_away_from_the_hand() {
    let mut rig = Rig::new(with(Scheduling::Async));
    rig.0.get_by_label("auto g").click();
    rig.settle();
    assert_eq!(rig.take(), [Command::Set(Knob::AutoThreshold(true))]);
    let mut snapshot = with(Scheduling::Async);
    snapshot.knobs.auto_threshold = true;
    let mut rig = Rig::new(snapshot);
    let slider = rig
        .0
        .get_by_role_and_label(egui::accesskit::Role::Slider, "g");
    assert!(slider.accesskit_node().is_disabled());
    assert_eq!(rig.slide("g", 0.3), []);
}

#[test]
fn a_guidance_that_overshoots_says_so() {
    let size = [1280.0, 1100.0];
    let mut snapshot = with(Scheduling::Rtc);
    snapshot.knobs.num_steps = 10;
    snapshot.knobs.rtc.max_guidance_weight = 10.0;
    assert!(!Rig::sized(snapshot.clone(), size).shows("overshoots"));
    snapshot.knobs.num_steps = 1;
    assert!(Rig::sized(snapshot, size).shows("overshoots"));
}

#[test]
fn a_source_that_was_refused_can_be_corrected() {
    let mut snapshot = trouble::refused();
    "/home/me/nothing".clone_into(&mut snapshot.policy_source);
    let mut rig = Rig::new(snapshot);
    let typed = &rig.0.state().draft.policy.source;
    assert_eq!(typed, "/home/me/nothing");
    rig.0.state_mut().draft.policy.source = "demo".to_owned();
    rig.settle();
    assert_eq!(
        rig.0.state().draft.policy.source,
        "demo",
        "not filled in again"
    );
    assert_eq!(rig.press("Load"), [Command::LoadPolicy("demo".to_owned())]);
}

#[test]
fn the_merge_function_is_picked_from_a_list() {
    let mut rig = Rig::new(with(Scheduling::Async));
    assert_eq!(
        rig.pick("merge", "cosine ramp"),
        [Command::Set(Knob::Aggregate(Aggregate::CosineRamp))]
    );
}

#[test]
fn the_knobs_of_rtc_are_there_only_in_rtc() {
    let rig = Rig::new(with(Scheduling::Async));
    assert!(rig.0.query_by_label("horizon").is_none());
    // High enough that no knob is scrolled out of sight.
    let mut rig = Rig::sized(with(Scheduling::Rtc), [1280.0, 1100.0]);
    let rtc = RtcKnobs::default();
    let set = |rtc| [Command::Set(Knob::Rtc(rtc))];
    assert_eq!(
        rig.slide("horizon", 20.0),
        set(RtcKnobs {
            execution_horizon: 20,
            ..rtc
        })
    );
    assert_eq!(
        rig.slide("guidance", 5.0),
        set(RtcKnobs {
            max_guidance_weight: 5.0,
            ..rtc
        })
    );
    assert_eq!(
        rig.choose("exp"),
        set(RtcKnobs {
            schedule: RtcSchedule::Exp,
            ..rtc
        })
    );
}

#[test]
fn a_double_click_returns_a_knob_to_the_checkpoints_value() {
    let mut snapshot = with(Scheduling::Async);
    snapshot.knobs.num_steps = 3;
    let mut rig = Rig::new(snapshot);
    let slider = rig
        .0
        .get_by_role_and_label(egui::accesskit::Role::Slider, "steps");
    slider.click();
    slider.click();
    rig.settle();
    let commands = rig.take();
    assert_eq!(
        commands.last(),
        Some(&Command::Set(Knob::NumSteps(10))),
        "{commands:?}"
    );
}

#[test]
fn a_turned_knob_shows_what_was_sent_until_the_snapshot_has_it() {
    let mut rig = Rig::new(with(Scheduling::Async));
    rig.slide("steps", 4.0);
    let shown = |rig: &Rig| {
        rig.0
            .get_by_role_and_label(egui::accesskit::Role::Slider, "steps")
            .accesskit_node()
            .numeric_value()
    };
    assert_eq!(shown(&rig), Some(4.0));
    // The runtime refused it: the window believes the snapshot, not itself.
    rig.0.run_steps(40);
    assert_eq!(shown(&rig), Some(10.0));
}

#[test]
fn a_slow_device_is_told_in_words() {
    let rig = Rig::new(fixture::starved());
    assert!(rig.shows("Starved 2.3 s"));
    assert!(rig.shows("no g keeps the plan fresh"));
    assert!(rig.shows("out of reach"));
    let rig = Rig::new(crate::trouble::too_slow());
    assert!(rig.shows(
        "a chunk takes 9.6 s, longer than half of its 1.67 s: no g keeps the plan fresh; the arm holds between chunks"
    ));
    assert!(rig.shows("the task was cut to 48 tokens"));
}

#[test]
fn a_policy_is_loaded_by_name_and_the_demo_by_a_button() {
    let mut rig = Rig::new(fixture::empty());
    assert_eq!(
        rig.press("Load the demo"),
        [Command::LoadPolicy("demo".to_owned())]
    );
    rig.write("Policy source", "lerobot/smolvla_base");
    assert_eq!(
        rig.press("Load"),
        [Command::LoadPolicy("lerobot/smolvla_base".to_owned())]
    );
}

#[test]
fn a_refused_policy_offers_its_statistics() {
    let mut snapshot = fixture::idle();
    snapshot.policy = PolicyStatus::Refused {
        why: "The checkpoint carries statistics of 2 data sets.".to_owned(),
        stats: vec!["so100".to_owned(), "aloha".to_owned()],
    };
    let mut rig = Rig::new(snapshot);
    assert_eq!(
        rig.press("so100"),
        [Command::ChooseStats("so100".to_owned())]
    );
    assert_eq!(rig.key(Key::P), []);
}

#[test]
fn a_failed_policy_can_be_restarted() {
    let mut snapshot = fixture::running(3_000);
    snapshot.policy = PolicyStatus::Failed {
        why: "The policy's thread ended: out of memory.".to_owned(),
        restarting: false,
    };
    let mut rig = Rig::new(snapshot);
    assert!(rig.shows("Policy failed"));
    assert_eq!(rig.press("Restart the policy"), [Command::RestartPolicy]);
}

#[test]
fn loading_shows_its_stages() {
    let mut snapshot = fixture::idle();
    snapshot.policy = PolicyStatus::Loading(LoadProgress {
        stage: LoadStage::Loading,
        fraction: Some(0.4),
    });
    let mut rig = Rig::new(snapshot);
    assert!(rig.shows("loading weights  40 %"));
    rig.0.state_mut().snapshot.now += std::time::Duration::from_secs(12);
    rig.settle();
    assert!(rig.shows("12.0 s so far"));
    // In the order in which they happen.
    let stages = [
        "●  checking the device",
        "●  downloading",
        "▶  loading weights",
        "○  first chunk",
    ];
    assert!(stages.into_iter().all(|stage| rig.shows(stage)));
    assert_eq!(rig.press("Cancel loading"), [Command::CancelLoad]);
}

#[test]
fn the_device_is_named_with_its_precision_and_the_reason() {
    let rig = Rig::new(fixture::idle());
    assert!(rig.shows("NVIDIA GeForce RTX 4070 · wgpu (Vulkan) · f32"));
    assert!(rig.shows("chosen: best hardware GPU"));
}
