//! What the hub has under a name, one commit of it, and the fetching of its files: broken connections are taken up where they broke.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hf_hub::api::sync::{Api, ApiError, ApiRepo};
use serde::Deserialize;

use super::watched::{self, Failure};
use super::{Error, Hub, HubId, Progress, cache};

/// A broken connection is taken up again where it broke, this many times.
const ATTEMPTS: usize = 4;
/// The longest list of files that is read, bytes: some hundred thousand names.
const LONGEST_LIST: u64 = 64 << 20;

/// One commit of a repository of the hub.
#[derive(Debug)]
pub struct Reading {
    hub: Hub,
    id: HubId,
    repo: Arc<ApiRepo>,
    /// All files come from this commit, also when somebody uploads meanwhile.
    pub commit: String,
    /// Its files by path, with their size in bytes where the hub tells it.
    pub files: BTreeMap<String, Option<u64>>,
}

#[derive(Deserialize)]
struct Listing {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
}

#[derive(Deserialize)]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
}

impl Reading {
    pub(super) fn of(hub: &Hub, id: &HubId, api: &Api) -> Result<Self, Error> {
        let refused =
            |err: ureq::Error| Error::from_api(id, "", ApiError::RequestError(Box::new(err)));
        let named = api.repo(id.repo());
        let answer = named.info_request().query("blobs", "true").call();
        let body = answer.map_err(refused)?.into_body();
        let list = body.into_with_config().limit(LONGEST_LIST).read_to_vec();
        let list: Listing = serde_json::from_slice(&list.map_err(refused)?)
            .map_err(|err| Error::nonsense(id, &err))?;
        let files = list.siblings.into_iter().map(|it| (it.rfilename, it.size));
        Ok(Self {
            hub: hub.clone(),
            id: id.clone(),
            repo: Arc::new(api.repo(id.at(list.sha.clone()))),
            commit: list.sha,
            files: files.collect(),
        })
    }

    /// The cache's directory of this commit.
    pub fn directory(&self) -> PathBuf {
        self.hub
            .cache
            .repo(self.id.repo())
            .pointer_path(&self.commit)
    }

    /// Whether the cache holds a file of it.
    pub fn holds(&self, name: &str) -> bool {
        self.directory().join(name).exists()
    }

    /// Fetches one file into the cache and returns where it is; its length is checked.
    ///
    /// # Errors
    /// The hub refuses, the network breaks for good, the disk is full, or the listener wants no more.
    pub fn fetch(&self, name: &str, progress: Progress<'_>) -> Result<PathBuf, Error> {
        fetch_shared(&self.hub, &self.repo, &self.id, name, progress)
    }

    /// Lets the name point at this commit: a start that finds it finds everything.
    ///
    /// # Errors
    /// The cache cannot be written.
    pub fn name_it(&self) -> Result<(), Error> {
        self.hub
            .cache
            .repo(self.id.repo())
            .create_ref(&self.commit)
            .map_err(|err| Error::disk(&self.id, self.hub.cache.path(), &err))
    }
}

/// Fetches one file, whatever the commit.
pub(super) fn fetch(
    hub: &Hub,
    repo: ApiRepo,
    id: &HubId,
    name: &str,
    progress: Progress<'_>,
) -> Result<PathBuf, Error> {
    fetch_shared(hub, &Arc::new(repo), id, name, progress)
}

fn fetch_shared(
    hub: &Hub,
    repo: &Arc<ApiRepo>,
    id: &HubId,
    name: &str,
    progress: Progress<'_>,
) -> Result<PathBuf, Error> {
    let mut attempt = 1;
    loop {
        let mut size = 0;
        let fetched = watched::download(repo, name, hub.silence, &mut size, progress);
        let failure = match fetched {
            Ok(path) => match shortage(&path, size) {
                None => return Ok(path),
                Some(got) => {
                    set_back(&path);
                    Error::CutOff {
                        id: id.to_string(),
                        file: name.to_owned(),
                        got,
                        size,
                    }
                }
            },
            Err(Failure::Silent) => Error::Silent {
                id: id.to_string(),
                what: format!("fetching {name}"),
                seconds: hub.silence.as_secs(),
            },
            Err(Failure::Cancelled) => Error::Cancelled { id: id.to_string() },
            Err(Failure::Api(ApiError::InvalidResume)) => {
                cache::remove_parts(&hub.cache, id);
                Error::from_api(id, name, ApiError::InvalidResume)
            }
            Err(Failure::Api(err)) => Error::from_api(id, name, err),
        };
        if attempt == ATTEMPTS || !failure.may_pass() {
            return Err(failure);
        }
        attempt += 1;
        cache::shorten_full_parts(&hub.cache, id, size as u64);
    }
}

/// How many bytes a file has, if that is not what the hub announced.
fn shortage(path: &Path, size: usize) -> Option<u64> {
    let got = std::fs::metadata(path).map_or(0, |meta| meta.len());
    (got != size as u64).then_some(got)
}

/// Turns a short download that was already filed back into a part, so that the next attempt continues it.
fn set_back(pointer: &Path) {
    let Ok(blob) = pointer.canonicalize() else {
        return;
    };
    let part = blob.with_extension("part");
    // If this fails the file stays and is found damaged when it is opened; nothing more can be done here.
    std::fs::remove_file(pointer).ok();
    std::fs::rename(blob, part).ok();
}
