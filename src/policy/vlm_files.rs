//! Finds the files that belong to the VLM rather than to the checkpoint: its tokenizer and its sizes.
//!
//! A checkpoint only names its VLM. The name is a directory, relative to the checkpoint or absolute, or a hub id; LeRobot
//! always asks the hub, here the hub is the last resort.

use std::path::{Path, PathBuf};

use super::geometry::VlmConfig;
use crate::hub::{self, Hub, HubId};

/// The VLM of every published SmolVLA; its sizes are the defaults, so its configuration need not be fetched.
const KNOWN: &str = "HuggingFaceTB/SmolVLM2-500M-Video-Instruct";

/// The tokenizer's file.
pub const TOKENIZER: &str = "tokenizer.json";

/// Why the tokenizer was not found.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no {TOKENIZER} in {}, nor in {}, and `{name}` is no hub id. Copy the VLM's {TOKENIZER} into the checkpoint's directory", directory.display(), sibling.display())]
    NoTokenizer {
        directory: PathBuf,
        sibling: PathBuf,
        name: String,
    },
    #[error(
        "the tokenizer of the VLM is needed: {source} (or copy the VLM's {TOKENIZER} into {})",
        directory.display()
    )]
    Hub {
        directory: PathBuf,
        source: hub::Error,
    },
}

/// The checkpoint's own `tokenizer.json`, or that of the VLM called `name`.
///
/// # Errors
/// It is neither on this machine nor to be fetched.
pub fn tokenizer(directory: &Path, name: &str, hub: &Hub) -> Result<PathBuf, Error> {
    let sibling = directory.join(name);
    let local = [directory.join(TOKENIZER), sibling.join(TOKENIZER)];
    if let Some(path) = local.into_iter().find(|path| path.is_file()) {
        return Ok(path);
    }
    let Some(id) = HubId::parse(name) else {
        return Err(Error::NoTokenizer {
            directory: directory.to_owned(),
            sibling,
            name: name.to_owned(),
        });
    };
    let path = hub.file(&id, TOKENIZER).map_err(|source| Error::Hub {
        directory: directory.to_owned(),
        source,
    })?;
    // It says on which side a long task is cut; without it the rule of SmolVLM2 holds.
    if let Err(err) = hub.file(&id, "tokenizer_config.json") {
        log::warn!("no tokenizer_config.json of `{id}`: {err}");
    }
    Ok(path)
}

/// The sizes of the VLM called `name`, or what is common to all SmolVLM2 when its configuration cannot be found.
///
/// # Errors
/// A configuration is there but cannot be read.
pub fn vlm_config(
    directory: &Path,
    name: &str,
    hub: &Hub,
) -> Result<VlmConfig, super::geometry::Error> {
    let sibling = directory.join(name).join("config.json");
    if sibling.is_file() {
        return VlmConfig::read(&sibling);
    }
    let Some(id) = HubId::parse(name) else {
        return Ok(VlmConfig::default());
    };
    let cached = hub.cached_file(&id, "config.json");
    let found = cached.or_else(|| {
        let fetched = (name != KNOWN).then(|| hub.file(&id, "config.json"))?;
        fetched
            .inspect_err(|err| log::warn!("the sizes of `{id}` are assumed: {err}"))
            .ok()
    });
    found.map_or_else(|| Ok(VlmConfig::default()), |path| VlmConfig::read(&path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::processor::golden;

    fn nowhere() -> (tempfile::TempDir, Hub) {
        let dir = tempfile::tempdir().unwrap();
        // Port 9 discards; nobody listens on it here.
        let hub = Hub::new(dir.path().join("hub"), "http://127.0.0.1:9");
        (dir, hub)
    }

    #[test]
    fn the_checkpoints_own_file_comes_before_the_vlms() {
        let (dir, hub) = nowhere();
        let directory = golden::path("tiny_a/checkpoint");
        let found = tokenizer(&directory, "../vlm", &hub).unwrap();
        assert_eq!(found, directory.join("../vlm/tokenizer.json"));
        std::fs::write(dir.path().join(TOKENIZER), "{}").unwrap();
        let found = tokenizer(dir.path(), "../vlm", &hub).unwrap();
        assert_eq!(found, dir.path().join(TOKENIZER));
    }

    #[test]
    fn what_is_nowhere_is_explained() {
        let (dir, hub) = nowhere();
        let words = tokenizer(dir.path(), "../vlm", &hub)
            .unwrap_err()
            .to_string();
        assert!(words.contains("is no hub id"), "{words}");
        let words = tokenizer(dir.path(), KNOWN, &hub).unwrap_err().to_string();
        assert!(words.contains("no way to the hub"), "{words}");
        assert!(words.contains("copy the VLM's tokenizer.json"), "{words}");
    }

    #[test]
    fn sizes_come_from_the_sibling_or_are_the_known_ones() {
        let (dir, hub) = nowhere();
        let directory = golden::path("tiny_a/checkpoint");
        let read = vlm_config(&directory, "../vlm", &hub).unwrap();
        assert_ne!(read, VlmConfig::default());
        assert_eq!(
            vlm_config(dir.path(), KNOWN, &hub).unwrap(),
            VlmConfig::default()
        );
    }
}
