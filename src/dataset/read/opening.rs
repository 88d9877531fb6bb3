//! Opens `meta/info.json` and says in words why a folder is no data set, or none that can be read.

use std::path::Path;

use crate::dataset::Error;
use crate::dataset::schema::{Feature, Info};

use super::episode::Camera;
use super::version::Version;

/// Reads `meta/info.json` below `root`.
///
/// # Errors
/// It is missing, is not JSON, lacks what nothing can be read without, or is of a layout that cannot be read.
pub fn info(root: &Path) -> Result<(Info, Version), Error> {
    let path = root.join("meta/info.json");
    if !path.is_file() {
        return Err(absent(root));
    }
    let malformed = |why: String| Error::Malformed {
        path: path.clone(),
        why,
    };
    let text = std::fs::read_to_string(&path).map_err(|error| Error::Io {
        path: path.clone(),
        error,
    })?;
    // The layout first: another one may lack what is asked for next.
    let raw: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| malformed(format!("is not JSON: {error}. Restore it from a copy")))?;
    let version = raw.get("codebase_version").and_then(|it| it.as_str());
    let version = version.ok_or_else(|| {
        malformed("lacks codebase_version, which says how the data set is laid out".to_owned())
    })?;
    let version = Version::parse(version).map_err(malformed)?;
    let mut info: Info = serde_json::from_str(&text)
        .map_err(|error| malformed(format!("cannot be read: {error}")))?;
    let (data_path, video_path) = default_paths(version);
    if info.data_path.is_empty() {
        data_path.clone_into(&mut info.data_path);
    }
    info.video_path.get_or_insert_with(|| video_path.to_owned());
    info.chunks_size = info.chunks_size.max(1);
    Ok((info, version))
}

/// Where LeRobot puts files when the data set does not say.
fn default_paths(version: Version) -> (&'static str, &'static str) {
    match version {
        Version::V30 => (
            "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
            "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
        ),
        Version::V20 | Version::V21 => (
            "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
            "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
        ),
    }
}

/// The features that are pictures, in order.
pub fn cameras(info: &Info) -> Vec<Camera> {
    info.features
        .cameras()
        .map(|(key, feature)| camera(key, feature))
        .collect()
}

fn camera(key: &str, feature: &Feature) -> Camera {
    let (width, height) = feature.picture_size().unwrap_or_default();
    let name = key.strip_prefix("observation.images.");
    Camera {
        key: key.to_owned(),
        name: name.unwrap_or(key).to_owned(),
        width,
        height,
        in_table: feature.dtype.name() == "image",
        codec: feature.codec().unwrap_or_default().to_owned(),
    }
}

/// Why a folder is no data set.
fn absent(root: &Path) -> Error {
    let place = root.display();
    Error::Absent(if !root.is_dir() {
        format!("there is no folder {place}")
    } else if root.join(".edit").is_dir() {
        format!(
            "{place} was being edited when the program ended: `smolpilot data recover {place}` finishes it or takes it back"
        )
    } else if root.join("meta").is_dir() {
        format!(
            "{place}/meta/info.json is missing: the data set was not copied whole, or its recording was stopped before the first episode \
             was saved"
        )
    } else {
        format!("{place} is no data set of LeRobot: it has no meta/info.json")
    })
}
