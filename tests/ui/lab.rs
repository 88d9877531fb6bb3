//! The lab's page: what it shows, and what its buttons ask for.

use std::sync::Arc;

use egui_kittest::kittest::Queryable as _;
use smolpilot::runtime::{Command, LabLine, LabOrder, LabVerdict, LabView, Snapshot};
use smolpilot::ui::Page;

use crate::fixture;
use crate::rig::Rig;

fn page(lab: Option<LabView>) -> Rig {
    let mut rig = Rig::new(Snapshot {
        lab: lab.map(Arc::new),
        ..fixture::running(3_000)
    });
    rig.0.state_mut().draft.page = Page::Lab;
    rig.settle();
    rig
}

/// A lab that has measured.
pub fn measured() -> LabView {
    let line = |label: &str, time_s| LabLine {
        label: label.to_owned(),
        latency: "700 ms".to_owned(),
        successes: 6,
        episodes: 6,
        time_s: Some(time_s),
        idle: 0.3,
    };
    LabView {
        lines: vec![line("sync, 50 steps", 14.6), line("async, g 0.7", 10.7)],
        verdicts: vec![LabVerdict {
            name: "camera frozen for 3 s".to_owned(),
            seen: "arm holds".to_owned(),
            passed: true,
        }],
        findings: vec!["at 700 ms: async 10.7 s".to_owned()],
        report: Some("there/lab".to_owned()),
        ..LabView::default()
    }
}

#[test]
fn a_lab_that_rests_is_asked_to_measure() {
    let mut rig = page(Some(LabView::default()));
    let run = |quick| Command::Lab(LabOrder::Run { quick });
    assert_eq!(rig.press("Run quick"), [run(true)]);
    assert_eq!(rig.press("Run all"), [run(false)]);
    assert!(rig.0.query_by_label("Cancel").is_none());
}

#[test]
fn a_lab_that_measures_says_how_far_it_is_and_can_be_cancelled() {
    let mut rig = page(Some(LabView {
        progress: Some((12, 186)),
        what: "async, g 0.7".to_owned(),
        ..LabView::default()
    }));
    rig.0.get_by_label("12 of 186 runs; async, g 0.7");
    assert_eq!(rig.press("Cancel"), [Command::Lab(LabOrder::Cancel)]);
    assert!(rig.0.query_by_label("Run quick").is_none());
}

#[test]
fn a_lab_that_was_cancelled_says_that_it_ends() {
    let mut rig = page(Some(LabView {
        progress: Some((13, 186)),
        ends: true,
        ..LabView::default()
    }));
    assert_eq!(rig.press("Ending…"), []);
}

#[test]
fn the_table_the_verdicts_and_the_place_of_the_report_are_shown() {
    let rig = page(Some(measured()));
    for words in [
        "sync, 50 steps",
        "14.6 s",
        "• at 700 ms: async 10.7 s",
        "PASS",
        "Tables and plots: there/lab",
    ] {
        rig.0.get_by_label(words);
    }
}

#[test]
fn a_session_without_a_lab_names_the_command() {
    let rig = page(None);
    rig.0.get_by_label(
        "There is no lab in this session; `smolpilot lab` measures without a window.",
    );
}
