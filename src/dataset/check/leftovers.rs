//! What interrupted programs left in the folder: journals, half edits, temporary files, pictures that never became a film.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use super::finding::{Finding, Report};

pub fn check(root: &Path, report: &mut Report) {
    for entry in entries(root) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            folder(&name, &entry.path(), report);
        }
    }
    for family in ["data", "meta", "videos"] {
        let mut parts = Vec::new();
        temporary(&root.join(family), 4, &mut parts);
        for path in parts {
            let file = path.strip_prefix(root).unwrap_or(&path);
            report.add(
                Finding::note("leftover.part", "is a file that was not finished")
                    .file(file)
                    .advice("the next recording or edit removes it; nothing reads it"),
            );
        }
    }
}

fn folder(name: &str, path: &Path, report: &mut Report) {
    match name {
        ".edit" => report.add(
            Finding::error("leftover.edit", "an edit was interrupted")
                .file(name)
                .advice("`smolpilot data recover DIR` finishes it or takes it back"),
        ),
        ".recording" => {
            for journal in entries(path).iter().filter(|it| it.path().is_dir()) {
                let id = journal.file_name().to_string_lossy().into_owned();
                if id.starts_with("ep-") {
                    let what = format!("the episode {id} was not finished");
                    report.add(
                        Finding::warning("leftover.journal", what)
                            .file(Path::new(name).join(&id))
                            .advice("`smolpilot data recover DIR` saves it, with `--forget` drops it"),
                    );
                }
            }
        }
        "images" if !entries(path).is_empty() => report.add(
            Finding::warning("leftover.images", "holds pictures that never became a film")
                .file(name)
                .advice("LeRobot was stopped while it recorded; their joint values are lost, and the folder can be removed"),
        ),
        _ if name.starts_with("tmp") => report.add(
            Finding::note("leftover.temporary", "is a temporary folder of a program that was stopped")
                .file(name)
                .advice("it can be removed"),
        ),
        _ => {}
    }
}

/// Files below `folder` that were being written.
fn temporary(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in entries(folder) {
        let path = entry.path();
        if path.is_dir() && depth > 0 {
            temporary(&path, depth - 1, found);
        } else if path.extension().is_some_and(|it| it == "part") {
            found.push(path);
        }
    }
}

/// What is in a folder, sorted; nothing where it cannot be listed, as whatever needs it will say.
fn entries(folder: &Path) -> Vec<DirEntry> {
    let listed = fs::read_dir(folder).into_iter().flatten();
    let mut entries: Vec<_> = listed.filter_map(Result::ok).collect();
    entries.sort_by_key(DirEntry::file_name);
    entries
}
