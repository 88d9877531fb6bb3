//! Draws the window in its states into PNG files, for eyes. Run with `--ignored`; SMOLPILOT_PICTURES names the directory.

use std::path::PathBuf;

use egui_kittest::Harness;
use smolpilot::runtime::Snapshot;
use smolpilot::ui::{Draft, Page, cockpit_ui, theme};

use crate::fixture;

fn shoot(
    name: &str,
    snapshot: &Snapshot,
    theme: egui::Theme,
    size: [f32; 2],
    set: impl FnOnce(&mut Draft),
) {
    let mut draft = Draft::default();
    draft.preferences.tasks = vec!["put the red cube in the box".to_owned(), "wave".to_owned()];
    set(&mut draft);
    let mut harness = Harness::builder()
        .with_size(size)
        .with_theme(theme)
        .with_context_setup(theme::install)
        .wgpu()
        .build_ui_state(
            |ui, draft: &mut Draft| cockpit_ui(ui, snapshot, draft, &mut Vec::new()),
            draft,
        );
    harness.run_steps(3);
    let picture = harness.render().expect("the window can be drawn");
    let directory = PathBuf::from(
        std::env::var("SMOLPILOT_PICTURES").unwrap_or_else(|_| "target/pictures".into()),
    );
    std::fs::create_dir_all(&directory).expect("the directory can be made");
    picture
        .save(directory.join(format!("{name}.png")))
        .expect("the picture can be written");
}

#[test]
#[ignore = "writes pictures for people"]
fn every_state() {
    let size = [1280.0, 800.0];
    let dark = egui::Theme::Dark;
    shoot("running", &fixture::running(3_000), dark, size, |_| {});
    shoot(
        "running_light",
        &fixture::running(3_000),
        egui::Theme::Light,
        size,
        |_| {},
    );
    shoot("idle", &fixture::idle(), dark, size, |_| {});
    shoot("stopped", &fixture::stopped(), dark, size, |_| {});
    shoot("jogging", &fixture::jogging(), dark, size, |draft| {
        draft.asks_to_release = true
    });
    shoot("starved", &fixture::starved(), dark, size, |_| {});
    shoot("faulty", &fixture::faulty(), dark, size, |_| {});
    shoot("empty", &fixture::empty(), dark, size, |_| {});
    for page in [Page::Setup, Page::Settings, Page::Help] {
        shoot(
            page.label(),
            &fixture::running(3_000),
            dark,
            size,
            |draft| draft.page = page,
        );
    }
}
