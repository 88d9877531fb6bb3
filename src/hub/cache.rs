//! What of a repository is already on this machine, in the layout that `huggingface_hub` uses.

use std::path::PathBuf;

use hf_hub::Cache;

use super::HubId;

/// The directory of a revision, if anything of it is here.
pub fn snapshot(cache: &Cache, id: &HubId) -> Option<PathBuf> {
    let repo = cache.repo(id.repo());
    let reference = cache
        .path()
        .join(id.repo().folder_name())
        .join("refs")
        .join(&id.revision);
    // A commit names its directory itself; branches and tags go through a file.
    let commit = std::fs::read_to_string(reference).unwrap_or_else(|_| id.revision.clone());
    let directory = repo.pointer_path(commit.trim());
    directory.is_dir().then_some(directory)
}

/// Downloads that broke off.
fn parts(cache: &Cache, id: &HubId) -> Vec<PathBuf> {
    let blobs = cache.path().join(id.repo().folder_name()).join("blobs");
    let Ok(entries) = std::fs::read_dir(blobs) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "part"))
        .collect()
}

/// Forgets what was downloaded in part; only for a part that is longer than its file.
pub fn remove_parts(cache: &Cache, id: &HubId) {
    for part in parts(cache, id) {
        if let Err(err) = std::fs::remove_file(&part) {
            log::warn!("cannot remove {}: {err}", part.display());
        }
    }
}

/// A part that is complete but was never filed makes the hub refuse to continue it (416); one byte less and it ends well.
pub fn shorten_full_parts(cache: &Cache, id: &HubId, size: u64) {
    for part in parts(cache, id) {
        let full = std::fs::metadata(&part).is_ok_and(|meta| meta.len() == size && size > 0);
        if !full {
            continue;
        }
        let file = std::fs::OpenOptions::new().write(true).open(&part);
        if let Err(err) = file.and_then(|file| file.set_len(size - 1)) {
            log::warn!("cannot shorten {}: {err}", part.display());
        }
    }
}
