//! Which files of a repository or a folder belong to a data set, and which are somebody's notes or half a recording.

use std::io;
use std::path::{Path, PathBuf};

/// The folders of a data set.
pub const FOLDERS: [&str; 4] = ["meta", "data", "videos", "images"];
pub const INFO: &str = "meta/info.json";
pub const CARD: &str = "README.md";

/// Whether a path of a repository is a file of a data set. Nothing else is written to the disk, and nothing outside the folder.
pub fn belongs(path: &str) -> bool {
    let mut parts = path.split('/');
    let is_plain =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', ':']);
    path == CARD
        || path.split('/').all(is_plain)
            && parts.next().is_some_and(|first| FOLDERS.contains(&first))
            && parts.next().is_some()
}

/// The files below `root/folder` by their path from `root`, with slashes, in order; half-written ones are left out.
pub fn below(root: &Path, folder: &str) -> io::Result<Vec<String>> {
    let mut found = vec![];
    let mut open: Vec<PathBuf> = vec![root.join(folder)];
    while let Some(folder) = open.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Err(why) if why.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.extend(slashed(root, &path).filter(|name| belongs(name) && is_whole(name)));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A path from `root`, with slashes.
fn slashed(root: &Path, path: &Path) -> Option<String> {
    let parts = path.strip_prefix(root).ok()?.components();
    let parts: Option<Vec<_>> = parts.map(|part| part.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

/// Whether the name is that of a finished file; those on their way are named otherwise.
fn is_whole(name: &str) -> bool {
    let end = Path::new(name).extension().and_then(|end| end.to_str());
    end.is_some_and(|end| ["json", "jsonl", "parquet", "mp4", "png", "jpg"].contains(&end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_data_set_are_taken() {
        for path in [
            "meta/info.json",
            "videos/observation.images.front/chunk-000/file-000.mp4",
            CARD,
        ] {
            assert!(belongs(path), "{path}");
        }
        for path in [
            "meta",
            "../meta/x",
            "meta/../../x",
            "/meta/x",
            "meta//x",
            "meta\\x",
            "C:/meta/x",
            "model.bin",
            ".recording/ep-000001/rows.bin",
            "data/.tmp",
            ".gitattributes",
        ] {
            assert!(!belongs(path), "{path}");
        }
    }

    #[test]
    fn files_on_their_way_are_left_out() {
        let place = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = place.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        };
        for path in [
            "meta/b.json",
            "meta/a/x.parquet",
            "meta/a/x.part",
            "meta/.b.json",
            ".recording/c.json",
        ] {
            write(path);
        }
        assert_eq!(
            below(place.path(), "meta").unwrap(),
            ["meta/a/x.parquet", "meta/b.json"]
        );
        assert!(below(place.path(), "videos").unwrap().is_empty());
    }
}
