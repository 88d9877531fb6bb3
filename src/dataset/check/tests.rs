//! Every change that makes LeRobot fail or read something else than was recorded must be an error, and none that it bears.
//!
//! Source of both lists: one change each to a data set of LeRobot 0.6.1, opened with its own reader.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use serde_json::json;

use super::{Depth, Report, Severity, check};
use crate::dataset::Disk;
use crate::dataset::read::sample::{SAMPLE, change_info, copied, cut, older, recorded};
use crate::dataset::schema::FilePlace;
use crate::dataset::schema::{Dtype, Feature, Info};
use crate::dataset::table::{Column, Table, Values, episodes, rows, tasks};

const TABLE: &str = "data/chunk-000/file-000.parquet";
const FILM: &str = "videos/observation.images.front/chunk-000/file-000.mp4";

fn report(root: &Path) -> Report {
    check(root, Depth::default(), &mut |_, _| {})
}

/// Findings of a changed copy of the sample that are as bad as this or worse.
fn after(change: impl FnOnce(&Path), least: Severity) -> Vec<String> {
    let (_guard, root) = copied();
    change(&root);
    let findings = report(&root).findings.into_iter();
    findings
        .filter(|it| it.severity >= least)
        .map(|it| format!("{}: {:?} {}", it.code, it.file, it.what))
        .collect()
}

fn is_error(code: &str, change: impl FnOnce(&Path)) {
    let found = after(change, Severity::Error);
    assert!(
        found.iter().any(|it| it.starts_with(code)),
        "{code} is not in {found:#?}"
    );
}

fn is_borne(what: &str, change: impl FnOnce(&Path)) {
    let found = after(change, Severity::Error);
    assert!(found.is_empty(), "{what}: {found:#?}");
}

/// Changes the rows, and writes them again.
fn change_rows(root: &Path, change: impl FnOnce(&mut Table)) {
    let info = Info::read(root).unwrap();
    write_rows(root, &info, change);
}

fn write_rows(root: &Path, info: &Info, change: impl FnOnce(&mut Table)) {
    let path = root.join(TABLE);
    let mut table = rows::read(&path, None, None).unwrap();
    change(&mut table);
    let parts = [0..60, 60..105, 105..180, 180..210].map(|part| Ok(table.slice(part)));
    rows::write(&Disk::new(), &path, &info.features, parts).unwrap();
}

fn floats<'a>(table: &'a mut Table, name: &str) -> &'a mut Vec<f64> {
    let mut columns = table.columns.iter_mut();
    match &mut columns.find(|it| it.name == name).unwrap().values {
        Values::Floats(values) => values,
        _ => panic!("{name} has no floats"),
    }
}

fn integers<'a>(table: &'a mut Table, name: &str) -> &'a mut Vec<i64> {
    let mut columns = table.columns.iter_mut();
    match &mut columns.find(|it| it.name == name).unwrap().values {
        Values::Integers(values) => values,
        _ => panic!("{name} has no integers"),
    }
}

fn change_episodes(root: &Path, change: impl FnOnce(&mut Vec<episodes::Episode>)) {
    let info = Info::read(root).unwrap();
    let path = episodes::path(root, FilePlace::default());
    let mut listed = episodes::read_file(&path, &info.features).unwrap();
    change(&mut listed);
    let schema = episodes::schema(&info.features);
    episodes::write(&Disk::new(), &path, &schema, &listed).unwrap();
}

/// Writes the tasks with this text under `pandas`, and their numbers.
fn write_tasks(root: &Path, pandas: Option<&str>, numbers: [i64; 2]) {
    let words = tasks::read(root).unwrap();
    let fields = vec![
        Field::new("task_index", DataType::Int64, true),
        Field::new("task", DataType::Utf8, true),
    ];
    let metadata = pandas.map(|text| ("pandas".to_owned(), text.to_owned()));
    let schema = Schema::new(fields).with_metadata(HashMap::from_iter(metadata));
    let schema = Arc::new(schema);
    let words = numbers.map(|number| words[number as usize].clone());
    let batch = RecordBatch::try_new(
        Arc::clone(&schema),
        vec![
            Arc::new(Int64Array::from_iter_values(numbers)),
            Arc::new(StringArray::from_iter_values(words)),
        ],
    );
    let file = File::create(root.join(tasks::PATH)).unwrap();
    let mut writer = ArrowWriter::try_new(file, schema, None).unwrap();
    writer.write(&batch.unwrap()).unwrap();
    writer.close().unwrap();
}

const PANDAS: &str =
    r#"{"index_columns":["task"],"columns":[{"name":"task","field_name":"task"}]}"#;

/// Changes bytes behind the first box of this type.
fn patch(root: &Path, kind: [u8; 4], offset: usize, bytes: &[u8]) {
    let path = root.join(FILM);
    let mut film = fs::read(&path).unwrap();
    let at = film.windows(4).position(|it| *it == kind).unwrap() + 4 + offset;
    film[at..at + bytes.len()].copy_from_slice(bytes);
    fs::write(path, film).unwrap();
}

fn film_of(root: &Path, ranges: &[std::ops::Range<usize>]) {
    cut(&Path::new(SAMPLE).join(FILM), &root.join(FILM), ranges);
}

#[test]
fn lerobots_own_data_set_is_sound() {
    let report = report(Path::new(SAMPLE));
    // Its poses are made up, and the gripper's are none that an arm has.
    let found: Vec<_> = report
        .findings
        .iter()
        .filter(|it| it.severity > Severity::Note && it.code != "joints.range")
        .collect();
    assert!(found.is_empty(), "{found:#?}");
    assert_eq!(
        (report.episodes, report.rows, report.films.len()),
        (4, 210, 2)
    );
    let film = &report.films[0];
    assert_eq!((film.codec.as_str(), film.frames), ("av1", 210));
}

#[test]
fn rows_that_are_not_as_declared_are_errors() {
    is_error("data.columns", |root| {
        let mut info = Info::read(root).unwrap();
        info.features
            .push("reward", Feature::scalar(Dtype::Float32));
        write_rows(root, &info, |table| {
            table.put(Column::floats("reward", 1, vec![0.0; 210]));
        });
    });
    is_error("data.columns", |root| {
        change_info(root, |info| {
            info["features"]["reward"] = json!({"dtype": "float32", "shape": [1], "names": null});
        });
    });
    is_error("data.unreadable", |root| {
        let bytes = fs::read(root.join(TABLE)).unwrap();
        fs::write(root.join(TABLE), &bytes[..bytes.len() - 8]).unwrap();
    });
    is_error("data.timestamp", |root| {
        change_rows(root, |table| {
            for it in floats(table, "timestamp") {
                *it += 2e-4;
            }
        });
    });
    is_error("data.frame_index", |root| {
        change_rows(root, |table| integers(table, "frame_index")[70] = 3);
    });
    is_error("data.index", |root| {
        change_rows(root, |table| integers(table, "index")[209] = 0);
    });
    is_error("data.task_index", |root| {
        change_rows(root, |table| integers(table, "task_index")[0] = 9);
    });
    is_error("data.tasks", |root| {
        change_rows(root, |table| {
            for it in integers(table, "task_index") {
                *it = 1 - *it;
            }
        });
    });
    is_error("data.nonfinite", |root| {
        change_rows(root, |table| floats(table, "action")[8] = f64::NAN);
    });
    is_error("data.extra_episode", |root| {
        change_rows(root, |table| integers(table, "episode_index")[0] = 7);
    });
    is_error("data.missing", |root| {
        fs::remove_file(root.join(TABLE)).unwrap();
    });
    is_error("data.orphan", |root| {
        fs::copy(
            root.join(TABLE),
            root.join("data/chunk-000/file-001.parquet"),
        )
        .unwrap();
    });
    // Where the list of episodes is damaged, nothing is said to be superfluous.
    let found = after(
        |root| {
            fs::write(root.join("meta/episodes/chunk-000/file-000.parquet"), "").unwrap();
        },
        Severity::Warning,
    );
    assert!(
        !found.iter().any(|it| it.starts_with("video.orphan")),
        "{found:#?}"
    );
    is_error("data.shape", |root| {
        let mut info = Info::read(root).unwrap();
        info.features
            .push("action", Feature::vector(Dtype::Float32, 5, None));
        write_rows(root, &info, |table| {
            let short = floats(table, "action")[..1050].to_vec();
            table.put(Column::floats("action", 5, short));
        });
    });
}

#[test]
fn lists_that_lead_elsewhere_are_errors() {
    is_error("tasks.pandas", |root| write_tasks(root, None, [0, 1]));
    is_error("tasks.pandas", |root| {
        write_tasks(
            root,
            Some(r#"{"index_columns":["task"],"columns":[]}"#),
            [0, 1],
        );
    });
    is_error("tasks.order", |root| {
        write_tasks(root, Some(PANDAS), [1, 0]);
    });
    is_error("tasks.missing", |root| {
        fs::remove_file(root.join(tasks::PATH)).unwrap();
    });
    is_error("episodes.order", |root| {
        change_episodes(root, |listed| listed.reverse());
    });
    is_error("episodes.range", |root| {
        change_episodes(root, |listed| listed[2].from += 1);
    });
    is_error("episodes.missing", |root| {
        fs::remove_dir_all(root.join("meta/episodes")).unwrap();
    });
    is_error("episodes.frames", |root| {
        change_info(root, |info| info["total_frames"] = json!(300));
    });
    is_error("episodes.total", |root| {
        change_info(root, |info| info["total_episodes"] = json!(5));
    });
    is_error("tasks.total", |root| {
        change_info(root, |info| info["total_tasks"] = json!(1));
    });
    is_error("episodes.unreadable", |root| {
        change_info(root, |info| info["codebase_version"] = json!("v2.1"));
    });
    is_error("info.unreadable", |root| {
        fs::write(root.join("meta/info.json"), "{").unwrap();
    });
    is_error("info.unreadable", |root| {
        change_info(root, |info| info["fps"] = json!(29.97));
    });
    is_error("info.default_feature", |root| {
        change_info(root, |info| {
            info["features"]["timestamp"]["dtype"] = json!("float64");
        });
    });
    is_error("stats.differ", |root| {
        change_stats(root, |stats| stats["action"]["mean"][2] = json!(200.0));
    });
    is_error("stats.shape", |root| {
        change_stats(root, |stats| stats["action"]["mean"] = json!([1.0]));
    });
    is_error("stats.range", |root| {
        change_stats(root, |stats| {
            stats["observation.images.front"]["mean"] = json!([[[90.0]], [[90.0]], [[90.0]]]);
        });
    });
}

fn change_stats(root: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let path = root.join("meta/stats.json");
    let mut stats = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut stats);
    fs::write(path, stats.to_string()).unwrap();
}

#[test]
fn films_that_show_other_pictures_are_errors() {
    is_error("video.missing", |root| {
        fs::remove_file(root.join(FILM)).unwrap();
    });
    is_error("video.frames", |root| {
        film_of(root, std::slice::from_ref(&(0..209)));
    });
    is_error("video.frames", |root| film_of(root, &[0..101, 102..210]));
    is_error("video.frames", |root| film_of(root, &[0..210, 0..2]));
    is_error("video.unreadable", |root| {
        fs::write(root.join(FILM), b"\x1a\x45\xdf\xa3 a matroska file").unwrap();
    });
    is_error("video.unreadable", |root| {
        let bytes = fs::read(root.join(FILM)).unwrap();
        fs::write(root.join(FILM), &bytes[..bytes.len() - 1000]).unwrap();
    });
    // The clock of the track, behind version, flags and two dates.
    is_error("video.pts", |root| {
        patch(root, *b"mdhd", 12, &1000_u32.to_be_bytes());
    });
    // An edit list that leaves the first picture out.
    is_error("video.pts", |root| {
        patch(root, *b"elst", 12, &512_u32.to_be_bytes());
    });
    is_error("video.from_timestamp", |root| {
        change_episodes(root, |listed| listed[1].films[0].1.from_s += 1.0 / 30.0);
    });
    is_error("video.size", |root| {
        change_info(root, |info| {
            info["features"]["observation.images.front"]["shape"] = json!([240, 320, 3]);
        });
    });
}

#[test]
fn what_lerobot_bears_is_no_error() {
    is_borne("no statistics", |root| {
        fs::remove_file(root.join("meta/stats.json")).unwrap();
    });
    is_borne("unknown keys", |root| {
        change_info(root, |info| info["mine"] = json!(1));
    });
    is_borne("a newer minor version", |root| {
        change_info(root, |info| info["codebase_version"] = json!("v3.1"));
    });
    is_borne("whole fps as a float", |root| {
        change_info(root, |info| info["fps"] = json!(30.0));
    });
    is_borne("no robot", |root| {
        change_info(root, |info| {
            drop(info.as_object_mut().unwrap().remove("robot_type"));
        });
    });
    is_borne("files at the root", |root| {
        fs::write(root.join("README.md"), "mine").unwrap();
    });
    is_borne("a declared column", |root| {
        let mut info = Info::read(root).unwrap();
        info.features
            .push("reward", Feature::scalar(Dtype::Float32));
        info.write(root, &Disk::new()).unwrap();
        write_rows(root, &info, |table| {
            table.put(Column::floats("reward", 1, vec![0.5; 210]));
        });
    });
    is_borne("the film cut and joined again", |root| {
        film_of(root, &[0..60, 60..210]);
    });
    is_borne("tasks with a plain pandas footer", |root| {
        write_tasks(root, Some(PANDAS), [0, 1]);
    });
}

#[test]
fn what_was_interrupted_is_told() {
    let found = after(
        |root| {
            fs::create_dir_all(root.join(".recording/ep-1")).unwrap();
            fs::create_dir_all(root.join("images/observation.images.front")).unwrap();
            fs::write(root.join("data/chunk-000/file-000.part"), "").unwrap();
            fs::create_dir_all(root.join("tmpabc")).unwrap();
        },
        Severity::Note,
    );
    for code in [
        "leftover.journal",
        "leftover.images",
        "leftover.part",
        "leftover.temporary",
    ] {
        assert!(
            found.iter().any(|it| it.starts_with(code)),
            "{code}: {found:#?}"
        );
    }
    is_error("leftover.edit", |root| {
        fs::create_dir_all(root.join(".edit")).unwrap();
    });
}

#[test]
fn joints_beyond_the_arm_are_warned_of() {
    let found = after(
        |root| {
            change_rows(root, |table| {
                floats(table, "action")[5] = 150.0;
                floats(table, "observation.state")[0] = 300.0;
            });
        },
        Severity::Warning,
    );
    for words in ["joints.range", "joints.jump"] {
        assert!(
            found.iter().any(|it| it.starts_with(words)),
            "{words}: {found:#?}"
        );
    }
}

#[test]
fn layout_2_is_checked_as_far_as_it_helps() {
    let (_guard, root) = older();
    let sound = report(&root);
    assert!(
        sound.is_sound() && sound.has("info.version"),
        "{:#?}",
        sound.findings
    );
    assert_eq!((sound.episodes, sound.films.len()), (4, 8));
    let film: PathBuf = root.join("videos/chunk-000/observation.images.wrist/episode_000002.mp4");
    fs::remove_file(film).unwrap();
    fs::remove_file(root.join("data/chunk-000/episode_000001.parquet")).unwrap();
    let broken = report(&root);
    assert!(
        broken.has("video.missing") && broken.has("data.unreadable"),
        "{:#?}",
        broken.findings
    );
}

#[test]
fn a_camera_that_stood_still_is_seen_when_pictures_are_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), &[12]);
    let found = check(folder.path(), Depth { pixels: true }, &mut |_, _| {});
    let frozen = found
        .findings
        .iter()
        .filter(|it| it.code == "pixels.frozen");
    let frozen: Vec<_> = frozen.map(|it| it.what.as_str()).collect();
    assert_eq!(
        frozen,
        ["11 of 12 pictures of wrist are the one before again"]
    );
}

#[test]
fn what_the_recorder_writes_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    recorded(folder.path(), &[12, 7]);
    let report = report(folder.path());
    let found: Vec<_> = report
        .findings
        .iter()
        .filter(|it| it.severity > Severity::Note)
        .collect();
    assert!(found.is_empty(), "{found:#?}");
}
