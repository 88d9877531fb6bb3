//! Fetches a checkpoint from the Hugging Face hub once, and flies from the cache ever after.
//!
//! A snapshot that is complete in the cache is used without touching the network: what flew yesterday flies today, also
//! on a bench without a network. The cache is the one that Python's `huggingface_hub` uses, so nothing is fetched twice.

mod cache;
mod error;
mod watched;

use std::collections::BTreeSet;
use std::fmt;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hf_hub::api::sync::{Api, ApiBuilder, ApiError, ApiRepo};
use hf_hub::{Cache, Repo, RepoType};

use self::watched::Failure;
pub use error::Error;

const HUB: &str = "https://huggingface.co";
/// How long a silent network may take to answer before the cache is used instead.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a download may bring nothing before it is given up.
const SILENCE: Duration = Duration::from_mins(1);
/// A broken connection is taken up again where it broke, this many times.
const ATTEMPTS: usize = 4;

/// A model on the hub, `owner/name` or `owner/name@revision`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubId {
    pub name: String,
    /// A branch, a tag or a commit.
    pub revision: String,
}

impl HubId {
    /// Reads `owner/name[@revision]`; `None` when it is something else, such as a path.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, revision) = text.split_once('@').unwrap_or((text, "main"));
        let plain = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        let (owner, model) = name.split_once('/')?;
        let revision_fits = !revision.is_empty() && revision.split('/').all(plain);
        (plain(owner) && plain(model) && revision_fits).then(|| Self {
            name: name.to_owned(),
            revision: revision.to_owned(),
        })
    }

    fn repo(&self) -> Repo {
        self.at(self.revision.clone())
    }

    fn at(&self, revision: String) -> Repo {
        Repo::with_revision(self.name.clone(), RepoType::Model, revision)
    }
}

impl fmt::Display for HubId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.revision != "main" {
            write!(f, "@{}", self.revision)?;
        }
        Ok(())
    }
}

/// A checkpoint on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub directory: PathBuf,
    /// What was odd, such as a start from an incomplete cache.
    pub warnings: Vec<String>,
}

/// The hub and its cache on this machine.
#[derive(Clone, Debug)]
pub struct Hub {
    cache: Cache,
    endpoint: String,
    offline: bool,
    silence: Duration,
}

impl Hub {
    /// Cache, mirror and offline mode as `HF_HUB_CACHE`, `HF_HOME`, `HF_ENDPOINT` and `HF_HUB_OFFLINE` say, as in Python.
    pub fn from_env() -> Self {
        let offline = std::env::var("HF_HUB_OFFLINE").unwrap_or_default();
        let homeless =
            std::env::var_os("HF_HOME").is_none() && directories::BaseDirs::new().is_none();
        let cache = match std::env::var_os("HF_HUB_CACHE") {
            Some(path) => Cache::new(path.into()),
            // hf-hub would panic without a home.
            None if homeless => Cache::new(std::env::temp_dir().join("huggingface").join("hub")),
            None => Cache::from_env(),
        };
        Self {
            cache,
            endpoint: std::env::var("HF_ENDPOINT").unwrap_or_else(|_| HUB.to_owned()),
            offline: matches!(
                offline.to_ascii_lowercase().as_str(),
                "1" | "true" | "yes" | "on"
            ),
            silence: SILENCE,
        }
    }

    /// A hub with its own cache directory and address.
    pub fn new(cache: PathBuf, endpoint: &str) -> Self {
        Self {
            cache: Cache::new(cache),
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            offline: false,
            silence: SILENCE,
        }
    }

    /// The directory of a checkpoint, fetched if it is not here yet; `progress` hears the fraction of the weights.
    ///
    /// # Errors
    /// It is not in the cache and cannot be fetched; the words say why and what to do.
    pub fn checkpoint(&self, id: &HubId, progress: &mut dyn FnMut(f32)) -> Result<Fetched, Error> {
        let cached = cache::snapshot(&self.cache, id);
        if let Some(directory) = cached.as_deref().filter(|at| cache::is_complete(at)) {
            return Ok(Fetched {
                directory: directory.to_owned(),
                warnings: Vec::new(),
            });
        }
        match self.download(id, progress) {
            Ok(directory) => Ok(Fetched {
                directory,
                warnings: Vec::new(),
            }),
            // Perhaps this checkpoint has no processor files, and then the cache holds all there is.
            Err(err) if err.is_unreachable() => match cached.filter(|at| cache::has_weights(at)) {
                Some(directory) => Ok(Fetched {
                    directory,
                    warnings: vec![format!(
                        "started from the cache without asking the hub: {err}"
                    )],
                }),
                None => Err(err),
            },
            Err(err) => Err(err),
        }
    }

    /// One small file of a model, from the cache or fetched.
    ///
    /// # Errors
    /// It is not in the cache and cannot be fetched.
    pub fn file(&self, id: &HubId, name: &str) -> Result<PathBuf, Error> {
        if let Some(path) = self.cached_file(id, name) {
            return Ok(path);
        }
        let api = self.api(id)?;
        self.fetch(&Arc::new(api.repo(id.repo())), id, name, &mut |_| {})
    }

    /// One file of a model if the cache holds it.
    pub fn cached_file(&self, id: &HubId, name: &str) -> Option<PathBuf> {
        let path = cache::snapshot(&self.cache, id)?.join(name);
        path.is_file().then_some(path)
    }

    fn api(&self, id: &HubId) -> Result<Api, Error> {
        if self.offline {
            return Err(Error::offline(id));
        }
        self.knock(id)?;
        let mut builder = ApiBuilder::from_cache(self.cache.clone())
            .with_endpoint(self.endpoint.clone())
            .with_progress(false);
        if let Ok(token) = std::env::var("HF_TOKEN") {
            builder = builder.with_token(Some(token));
        }
        builder.build().map_err(|err| Error::from_api(id, "", err))
    }

    /// hf-hub waits for ever for a network that swallows packets, so see first that somebody is there.
    fn knock(&self, id: &HubId) -> Result<(), Error> {
        let proxied = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
        if proxied.iter().any(|name| std::env::var_os(name).is_some()) {
            return Ok(());
        }
        let (scheme, rest) = self
            .endpoint
            .split_once("://")
            .unwrap_or(("https", &self.endpoint));
        let host = rest.split('/').next().unwrap_or(rest);
        let port = if scheme == "http" { 80 } else { 443 };
        let address = if host.contains(':') {
            host.to_owned()
        } else {
            format!("{host}:{port}")
        };
        let found = address
            .to_socket_addrs()
            .map_err(|err| Error::no_network(id, format!("{host} is not found ({err})")))?;
        let mut last = format!("{host} has no address");
        for address in found {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(_) => return Ok(()),
                Err(err) => last = format!("{host} does not answer ({err})"),
            }
        }
        Err(Error::no_network(id, last))
    }

    fn download(&self, id: &HubId, progress: &mut dyn FnMut(f32)) -> Result<PathBuf, Error> {
        let api = self.api(id)?;
        let info = api
            .repo(id.repo())
            .info()
            .map_err(|err| Error::from_api(id, "", err))?;
        let listed: BTreeSet<&str> = info.siblings.iter().map(|s| s.rfilename.as_str()).collect();
        let wanted = wanted(&listed);
        if !wanted.iter().any(|name| is_weights(name)) || !listed.contains("config.json") {
            return Err(Error::NotACheckpoint { id: id.to_string() });
        }
        // One commit for all files, also when somebody uploads meanwhile.
        let repo = Arc::new(api.repo(id.at(info.sha.clone())));
        let weights = wanted.iter().filter(|name| is_weights(name)).count() as f32;
        let mut done = 0.0;
        for name in wanted {
            let share = if is_weights(name) { 1.0 / weights } else { 0.0 };
            if !self.pointer(id, &info.sha, name).exists() {
                self.fetch(&repo, id, name, &mut |part| progress(done + part * share))?;
            }
            done += share;
        }
        // Only now does the name point here: a start that finds it finds everything.
        self.cache
            .repo(id.repo())
            .create_ref(&info.sha)
            .map_err(|err| Error::disk(id, self.cache.path(), &err))?;
        Ok(self.pointer(id, &info.sha, ""))
    }

    fn pointer(&self, id: &HubId, commit: &str, name: &str) -> PathBuf {
        let directory = self.cache.repo(id.repo()).pointer_path(commit);
        if name.is_empty() {
            directory
        } else {
            directory.join(name)
        }
    }

    /// Downloads one file, taking up broken connections, and checks its length.
    fn fetch(
        &self,
        repo: &Arc<ApiRepo>,
        id: &HubId,
        name: &str,
        progress: &mut dyn FnMut(f32),
    ) -> Result<PathBuf, Error> {
        let mut attempt = 1;
        loop {
            let mut size = 0;
            let fetched = watched::download(repo, name, self.silence, &mut size, progress);
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
                    file: name.to_owned(),
                    seconds: self.silence.as_secs(),
                },
                Err(Failure::Api(ApiError::InvalidResume)) => {
                    cache::remove_parts(&self.cache, id);
                    Error::from_api(id, name, ApiError::InvalidResume)
                }
                Err(Failure::Api(err)) => Error::from_api(id, name, err),
            };
            if attempt == ATTEMPTS || !failure.may_pass() {
                return Err(failure);
            }
            attempt += 1;
            cache::shorten_full_parts(&self.cache, id, size as u64);
        }
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

/// What running a policy needs, weights last.
fn wanted<'a>(listed: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let small = |name: &&str| {
        !name.contains('/')
            && (matches!(
                *name,
                "config.json" | "tokenizer.json" | "tokenizer_config.json"
            ) || name.ends_with(".safetensors.index.json")
                || (name.starts_with("policy_")
                    && (ends_in(name, "json") || ends_in(name, "safetensors"))))
    };
    let mut wanted: Vec<&str> = listed.iter().copied().filter(|name| small(name)).collect();
    let whole = listed.contains("model.safetensors");
    wanted.extend(
        listed
            .iter()
            .copied()
            .filter(|name| is_weights(name) && (!whole || *name == "model.safetensors")),
    );
    wanted
}

fn ends_in(name: &str, extension: &str) -> bool {
    Path::new(name)
        .extension()
        .is_some_and(|end| end == extension)
}

fn is_weights(name: &str) -> bool {
    !name.contains('/') && name.starts_with("model") && ends_in(name, "safetensors")
}

#[cfg(test)]
mod tests;
