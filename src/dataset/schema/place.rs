//! Where the files of a data set lie: path templates of `info.json`, and how files are numbered.

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A file among the numbered ones of its kind: tables of rows, tables of episodes, films of one camera.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct FilePlace {
    pub chunk: usize,
    pub file: usize,
}

impl FilePlace {
    /// The one after it, with at most `chunks_size` files a chunk.
    #[must_use]
    pub fn next(self, chunks_size: usize) -> Self {
        if self.file + 1 >= chunks_size {
            Self {
                chunk: self.chunk + 1,
                file: 0,
            }
        } else {
            Self {
                chunk: self.chunk,
                file: self.file + 1,
            }
        }
    }
}

/// The place that a path of the v3.0 form `.../chunk-000/file-000.ext` names.
pub fn chunk_file(path: &Path) -> Option<FilePlace> {
    let number = |text: &std::ffi::OsStr, prefix: &str| {
        let text = text.to_str()?.strip_prefix(prefix)?;
        text.parse().ok()
    };
    Some(FilePlace {
        chunk: number(path.parent()?.file_name()?, "chunk-")?,
        file: number(path.file_stem()?, "file-")?,
    })
}

/// Fills a template such as `data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet`.
///
/// `None` for a name that has no value, and for a path that would leave the data set's folder: templates come with data sets
/// from anywhere.
pub fn expand(
    template: &str,
    numbers: &[(&str, usize)],
    video_key: Option<&str>,
) -> Option<PathBuf> {
    let mut path = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, after) = after.split_once('}')?;
        path.push_str(before);
        let (name, format) = inside.split_once(':').unwrap_or((inside, ""));
        if name == "video_key" {
            path.push_str(video_key?);
        } else {
            let (_, number) = numbers.iter().find(|(known, _)| *known == name)?;
            let digits: usize = match format.trim_end_matches('d') {
                "" => 0,
                digits => digits.parse().ok().filter(|&digits| digits < 32)?,
            };
            write!(path, "{number:0digits$}").ok()?;
        }
        rest = after;
    }
    path.push_str(rest);
    let path = PathBuf::from(path);
    let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    path.components().all(inside).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_of_all_versions_are_filled() {
        let numbers = [
            ("chunk_index", 0),
            ("file_index", 12),
            ("episode_chunk", 1),
            ("episode_index", 1234),
        ];
        let expand = |template| expand(template, &numbers, Some("observation.images.front"));
        let filled = |template| {
            expand(template)
                .unwrap()
                .to_str()
                .unwrap()
                .replace('\\', "/")
        };
        assert_eq!(
            filled("videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"),
            "videos/observation.images.front/chunk-000/file-012.mp4"
        );
        assert_eq!(
            filled("data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"),
            "data/chunk-001/episode_001234.parquet"
        );
        for bad in [
            "../{file_index}",
            "/etc/{file_index}",
            "data/{unknown:03d}",
            "data/{file_index",
            "{file_index:99999d}",
        ] {
            assert_eq!(expand(bad), None, "{bad}");
        }
    }

    #[test]
    fn files_are_numbered_in_chunks() {
        let last = FilePlace {
            chunk: 0,
            file: 999,
        };
        assert_eq!(last.next(1000), FilePlace { chunk: 1, file: 0 });
        assert_eq!(
            last.next(1001),
            FilePlace {
                chunk: 0,
                file: 1000
            }
        );
        let place = chunk_file(Path::new("data/chunk-001/file-1000.parquet"));
        assert_eq!(
            place,
            Some(FilePlace {
                chunk: 1,
                file: 1000
            })
        );
        assert_eq!(chunk_file(Path::new("data/chunk-000/other.parquet")), None);
    }
}
