//! The window as pictures: a few small ones that must not change unnoticed, and all states in full size for people,
//! with `--ignored` and `SMOLPILOT_PICTURES` for the directory.

use std::path::PathBuf;

use egui::Theme;
use egui_kittest::{Harness, SnapshotResults};
use smolpilot::runtime::Snapshot;
use smolpilot::ui::{Draft, Page, cockpit_ui, theme};

use crate::{driving, fixture, person, recorded, trouble};

fn window(
    snapshot: Snapshot,
    draft: Draft,
    theme: Theme,
    size: [f32; 2],
    scale: f32,
) -> Harness<'static, Draft> {
    let mut harness = Harness::builder()
        .with_size(size)
        .with_pixels_per_point(scale)
        .with_theme(theme)
        .with_context_setup(theme::install)
        .wgpu()
        .build_ui_state(
            move |ui, draft: &mut Draft| cockpit_ui(ui, &snapshot, draft, &mut Vec::new()),
            draft,
        );
    harness.run_steps(3);
    harness
}

/// The top bar and the status bar of each state: what is read in half a second.
#[test]
#[cfg(target_os = "linux")]
fn bars() {
    let mut results = SnapshotResults::new();
    let running = || fixture::running(3_000);
    for (name, snapshot, theme) in [
        ("policy", running as fn() -> Snapshot, Theme::Dark),
        ("policy_light", running, Theme::Light),
        ("jog", fixture::jogging, Theme::Dark),
        ("stopped", fixture::stopped, Theme::Dark),
        ("starved", fixture::starved, Theme::Dark),
        ("recording", recorded::recording, Theme::Dark),
        ("replay", recorded::replaying, Theme::Light),
    ] {
        // A page with little on it, and so low that the two bars are all there is.
        let mut draft = Draft::default();
        draft.page = Page::Log;
        let mut harness = window(snapshot(), draft, theme, [1200.0, 118.0], 1.0);
        harness.snapshot(format!("bar_{name}"));
        results.extend_harness(&mut harness);
    }
}

fn shoot(name: &str, snapshot: Snapshot, draft: Draft, theme: Theme) {
    shoot_sized(name, snapshot, draft, theme, [1280.0, 800.0]);
}

fn shoot_sized(name: &str, snapshot: Snapshot, draft: Draft, theme: Theme, size: [f32; 2]) {
    keep(name, &mut window(snapshot, draft, theme, size, 1.0));
}

fn keep(name: &str, harness: &mut Harness<'static, Draft>) {
    let picture = harness.render().expect("the window can be drawn");
    let directory =
        std::env::var("SMOLPILOT_PICTURES").unwrap_or_else(|_| "target/pictures".into());
    let directory = PathBuf::from(directory);
    std::fs::create_dir_all(&directory).expect("the directory can be made");
    let file = directory.join(format!("{name}.png"));
    picture.save(file).expect("the picture can be written");
}

#[test]
#[ignore = "writes pictures for people"]
fn every_state() {
    for (name, snapshot) in driving::EVERY_STATE {
        let snapshot = snapshot();
        shoot(name, snapshot.clone(), Draft::default(), Theme::Dark);
        let name = format!("{name}_light");
        shoot(&name, snapshot, Draft::default(), Theme::Light);
    }
    for (name, snapshot) in trouble::every().into_iter().chain(person::every()) {
        shoot(name, snapshot, Draft::default(), Theme::Dark);
    }
    for (name, snapshot) in recorded::sessions() {
        shoot(name, snapshot, Draft::default(), Theme::Dark);
    }
    for (name, snapshot) in recorded::libraries() {
        for (theme, word) in [(Theme::Dark, ""), (Theme::Light, "_light")] {
            for size in [[1280.0, 800.0], [1000.0, 700.0]] {
                let mut draft = Draft::default();
                draft.page = Page::Data;
                let name = format!("{name}_{}{word}", size[0]);
                shoot_sized(&name, snapshot.clone(), draft, theme, size);
            }
        }
    }
    for size in [[960.0, 600.0], [1920.0, 1080.0], [2560.0, 1440.0]] {
        let name = format!("faulty_{}", size[0]);
        let snapshot = fixture::faulty();
        shoot_sized(&name, snapshot, Draft::default(), Theme::Dark, size);
    }
    for (name, snapshot, theme) in [
        ("health", fixture::running(3_000), Theme::Dark),
        ("health_overloaded", trouble::overloaded(), Theme::Dark),
        ("health_light", trouble::hot(), Theme::Light),
    ] {
        let mut draft = Draft::default();
        draft.shows_health = true;
        shoot(name, snapshot, draft, theme);
    }
    let name = "running_2560_light";
    let size = [2560.0, 1440.0];
    let snapshot = fixture::running(3_000);
    shoot_sized(name, snapshot, Draft::default(), Theme::Light, size);
    for page in Page::ALL {
        let mut draft = Draft::default();
        draft.page = page;
        draft.asks_to_release = true;
        shoot(page.label(), fixture::running(3_000), draft, Theme::Dark);
    }
    // A display of 3840 × 2160 pixels at twice the size.
    let (snapshot, size) = (fixture::running(3_000), [1920.0, 1080.0]);
    let mut window = window(snapshot, Draft::default(), Theme::Dark, size, 2.0);
    keep("running_4k", &mut window);
}
