//! The page of the data sets: what it shows, and what its buttons ask for.

use std::path::PathBuf;
use std::sync::Arc;

use egui::Key;
use egui_kittest::kittest::Queryable as _;
use smolpilot::dataset::Outcome;
use smolpilot::runtime::{
    Command, LibraryOrder, LibraryView, Mode, ReplayPlan, ReplayView, Snapshot,
};
use smolpilot::ui::Page;

use crate::fixture;
use crate::recorded;
use crate::rig::Rig;

fn page(library: LibraryView) -> Rig {
    page_sized(library, [1280.0, 800.0])
}

fn page_sized(library: LibraryView, size: [f32; 2]) -> Rig {
    let snapshot = Snapshot {
        library: Some(Arc::new(library)),
        ..recorded::planned()
    };
    let mut rig = Rig::sized(snapshot, size);
    rig.0.state_mut().draft.page = Page::Data;
    rig.settle();
    rig.take();
    rig
}

fn ordered(order: LibraryOrder) -> Vec<Command> {
    vec![Command::Library(order)]
}

#[test]
fn whoever_opens_the_page_sees_what_is_on_disk_now() {
    let snapshot = Snapshot {
        library: Some(Arc::new(recorded::shelves())),
        ..recorded::planned()
    };
    let mut rig = Rig::new(snapshot);
    for _ in 0..2 {
        rig.0.state_mut().draft.page = Page::Data;
        rig.settle();
        assert_eq!(rig.take(), ordered(LibraryOrder::Refresh));
        rig.0.state_mut().draft.page = Page::Cockpit;
        rig.settle();
    }
}

#[test]
fn the_shelves_say_what_is_in_each_data_set_and_what_is_wrong() {
    let mut rig = page(recorded::shelves());
    for text in [
        "300 episodes · 110\u{2009}400 rows · 30 fps · so_follower · v3.0",
        "v2.1",
        "meta/info.json is missing",
        "1 episode to recover",
    ] {
        assert!(rig.shows(text), "{text}");
    }
    let root = PathBuf::from("/home/me/smolpilot/red_cube");
    assert_eq!(
        rig.press("Open red_cube"),
        ordered(LibraryOrder::Open(root))
    );
    assert_eq!(rig.press("Refresh"), ordered(LibraryOrder::Refresh));
}

#[test]
fn a_folder_is_opened_and_a_data_set_fetched_by_name() {
    let mut rig = page(recorded::shelves());
    rig.write("Folder", "/somewhere/else");
    let folder = PathBuf::from("/somewhere/else");
    assert_eq!(rig.press("Open"), ordered(LibraryOrder::Open(folder)));
    rig.write("Name on the hub", "lerobot/pusht");
    let name = "lerobot/pusht".to_owned();
    assert_eq!(rig.press("Download"), ordered(LibraryOrder::Download(name)));
}

#[test]
fn a_session_without_a_library_names_the_command() {
    let mut rig = Rig::new(fixture::idle());
    rig.0.state_mut().draft.page = Page::Data;
    rig.settle();
    assert!(rig.shows("smolpilot data list"));
}

#[test]
fn an_episode_is_shown_by_a_click() {
    let mut rig = page(recorded::opened());
    assert!(rig.shows("Click an episode"));
    assert_eq!(rig.press("Episode 2"), ordered(LibraryOrder::Show(2)));
    assert_eq!(rig.press("Close"), ordered(LibraryOrder::Close));
}

#[test]
fn a_long_list_draws_only_what_is_in_sight() {
    let rig = page(recorded::opened());
    let drawn = rig.0.query_all_by_label_contains("Choose episode").count();
    assert!((5..20).contains(&drawn), "{drawn}");
}

#[test]
fn the_cursor_is_moved_and_the_pictures_follow() {
    let mut rig = page(recorded::shown());
    assert_eq!(rig.press("One row on"), ordered(LibraryOrder::Seek(151)));
    assert_eq!(rig.key(Key::ArrowLeft), ordered(LibraryOrder::Seek(150)));
    let before = rig.0.get_by_label("Time line").rect();
    rig.0.hover_at(before.left_center());
    let at = egui::pos2(before.left() + before.width() * 0.5, before.center().y);
    rig.click_at(at);
    let rows = recorded::episode(3, 0).rows;
    let sent = rig.take();
    let [Command::Library(LibraryOrder::Seek(row))] = sent[..] else {
        panic!("{sent:?}");
    };
    assert!(row.abs_diff(rows / 2) <= 1, "{row} of {rows}");
    assert!(!rig.0.state().commands.iter().any(|_| true));
}

#[test]
fn playing_asks_for_one_row_after_the_other() {
    let mut rig = page(recorded::shown());
    rig.press("Play");
    rig.0.run_steps(10);
    let rows: Vec<usize> = rig
        .take()
        .iter()
        .filter_map(|command| match command {
            Command::Library(LibraryOrder::Seek(row)) => Some(*row),
            _ => None,
        })
        .collect();
    assert!(rows.len() > 2 && rows.is_sorted(), "{rows:?}");
    rig.press("Pause");
    rig.take();
    rig.0.run_steps(5);
    assert_eq!(rig.take(), []);
}

#[test]
fn the_arm_stands_as_it_stood_at_that_row() {
    let rig = page(recorded::shown());
    let shown = recorded::episode(3, 150);
    let subject = rig.0.state().draft.scene.subject.expect("an arm");
    assert_eq!(subject.joints, shown.states[150]);
}

#[test]
fn a_recorded_picture_goes_to_the_gpu_once() {
    let mut rig = page(recorded::shown());
    assert_eq!(rig.0.state().draft.library.uploads(), 2);
    rig.0.run_steps(10);
    assert_eq!(rig.0.state().draft.library.uploads(), 2);
}

#[test]
fn episodes_are_deleted_only_after_a_question() {
    let mut rig = page(recorded::shown());
    assert_eq!(rig.press("Delete…"), []);
    assert!(rig.shows("Delete episode 3?"));
    assert_eq!(rig.press("Keep them"), []);
    rig.press_checkbox("Choose episode 1");
    rig.press_checkbox("Choose episode 4");
    rig.press("Delete…");
    assert!(rig.shows("Delete episodes 1, 4?"));
    assert_eq!(
        rig.press("Delete 2 episodes"),
        ordered(LibraryOrder::Delete(vec![1, 4]))
    );
    assert!(!rig.shows("Delete episodes"));
}

#[test]
fn episodes_are_relabelled_and_marked() {
    let mut rig = page(recorded::shown());
    rig.press("Relabel…");
    rig.write("New task", ", gently");
    let sent = rig.press("Relabel");
    let wanted = LibraryOrder::Relabel {
        episodes: vec![3],
        task: "put the red cube in the box, gently".to_owned(),
    };
    assert_eq!(sent, ordered(wanted));
    rig.press("Mark");
    let wanted = LibraryOrder::Mark {
        episodes: vec![3],
        outcome: Outcome::Failure,
    };
    assert_eq!(rig.press("Failure"), ordered(wanted));
}

#[test]
fn an_episode_is_trimmed_by_its_handles_after_a_question() {
    let mut rig = page(recorded::shown());
    let line = rig.0.get_by_label("Time line").rect();
    let rows = recorded::episode(3, 0).rows;
    let at = |share: f32| egui::pos2(line.left() + line.width() * share, line.center().y);
    rig.drag(at(0.001), at(0.1));
    rig.drag(at(0.999), at(0.8));
    rig.take();
    assert_eq!(rig.press("Trim…"), []);
    let sent = rig.press("Trim it");
    let [Command::Library(LibraryOrder::Trim { episode, from, to })] = sent[..] else {
        panic!("{sent:?}");
    };
    assert_eq!(episode, 3);
    let near = |row: usize, share: f32| (row as f32 - share * rows as f32).abs() < 3.0;
    assert!(near(from, 0.1) && near(to, 0.8), "{from}..{to} of {rows}");
}

#[test]
fn a_replay_takes_what_the_handles_keep() {
    let mut rig = page(recorded::shown());
    let shown = recorded::episode(3, 0);
    let sent = rig.press("Replay on the arm");
    let plan = ReplayPlan {
        name: "red_cube, episode 3".to_owned(),
        fps: 30.0,
        actions: Arc::clone(&shown.actions),
        repeat: false,
    };
    assert_eq!(sent, [Command::Replay(Box::new(plan))]);
    let state = rig.0.state_mut();
    state.snapshot.mode = Mode::Replay;
    state.snapshot.replay = Some(ReplayView {
        name: "red_cube, episode 3".to_owned(),
        row: 40,
        rows: shown.rows,
        repeat: false,
    });
    rig.settle();
    assert_eq!(
        rig.take(),
        ordered(LibraryOrder::Seek(40)),
        "the pictures go along"
    );
    assert_eq!(rig.press("Stop the replay"), [Command::SetMode(Mode::Hold)]);
}

#[test]
fn an_arm_that_cannot_be_driven_is_not_sent_a_replay() {
    use smolpilot::runtime::Connection;
    let mut rig = page(recorded::shown());
    rig.0.state_mut().snapshot.connection = Connection::Connected { torque: false };
    rig.settle();
    assert_eq!(rig.press("Replay on the arm"), []);
}

#[test]
fn a_data_set_is_merged_checked_and_sent_to_the_hub_after_a_question() {
    let mut rig = page(recorded::opened());
    assert_eq!(rig.press("Check"), ordered(LibraryOrder::Check));
    rig.press("Merge…");
    rig.pick("Merge with", "sorting");
    let wanted = LibraryOrder::Merge {
        with: PathBuf::from("/home/me/smolpilot/sorting"),
        into: PathBuf::from("/home/me/smolpilot/red_cube_merged"),
    };
    assert_eq!(rig.press("Merge"), ordered(wanted));
    assert_eq!(rig.press("Upload…"), []);
    assert!(rig.shows("Send 300 whole episodes to the hub?"));
    assert_eq!(rig.press("Upload"), [], "the name lacks its owner");
    rig.press("Leave it");
    rig.press("Upload…");
    rig.rewrite("Name on the hub", "me/red_cube");
    let name = "me/red_cube".to_owned();
    assert_eq!(rig.press("Upload"), ordered(LibraryOrder::Upload(name)));
}

#[test]
fn an_episode_is_exported_and_compared() {
    let mut rig = page(recorded::shown());
    rig.press("Export…");
    rig.press("csv");
    let wanted = LibraryOrder::Export {
        episode: 3,
        file: PathBuf::from("/home/me/smolpilot/exports/red_cube_episode_3.csv"),
    };
    assert_eq!(rig.press("Export"), ordered(wanted));
    rig.press("Compare…");
    let wanted = LibraryOrder::Compare {
        episode: 3,
        policy: "demo".to_owned(),
        every: 15,
    };
    assert_eq!(rig.press("Compare"), ordered(wanted));
    let rig = page(recorded::compared());
    assert!(rig.shows("would have done"));
    assert!(rig.shows("Install ffmpeg to see this camera"));
}

#[test]
fn what_takes_long_shows_how_far_it_is_and_can_be_cancelled() {
    let mut rig = page(recorded::busy());
    for text in [
        "212 of 480 MB · 44 %",
        "The hub does not answer",
        "An episode was interrupted",
        "Checked: 1 error",
        "1 frame is missing in episode 14",
    ] {
        assert!(rig.shows(text), "{text}");
    }
    assert_eq!(rig.press("Cancel"), ordered(LibraryOrder::Cancel));
    rig.press("Dismiss");
    assert!(!rig.shows("Checked: 1 error"));
    assert_eq!(rig.press("Delete…"), [], "not while something is done");
    assert!(!rig.shows("Delete episode"));
}

#[test]
fn nothing_runs_out_of_a_small_window() {
    for (name, snapshot) in recorded::libraries() {
        for size in [[1280.0, 800.0], [1000.0, 700.0]] {
            let mut rig = Rig::sized(snapshot.clone(), size);
            rig.0.state_mut().draft.page = Page::Data;
            rig.settle();
            rig.take();
            let window = egui::Rect::from_min_size(egui::Pos2::ZERO, size.into());
            for button in rig.0.query_all_by_role(egui::accesskit::Role::Button) {
                let rect = button.rect();
                assert!(
                    rect.right() <= window.right() + 0.5 && rect.left() >= -0.5,
                    "{name} {size:?}: {rect:?}"
                );
            }
            assert_eq!(rig.press("STOP"), [Command::Stop]);
        }
    }
}
