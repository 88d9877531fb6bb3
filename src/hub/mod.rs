//! The Hugging Face hub: what is fetched from it once and flown or looked at ever after, and what is sent there when asked.
//!
//! The cache is the one that Python's `huggingface_hub` uses, so nothing is fetched twice.

mod cache;
mod error;
mod id;
#[cfg(test)]
pub mod pretend;
mod reading;
pub mod sending;
mod token;
mod watched;

use std::net::{TcpStream, ToSocketAddrs as _};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use hf_hub::Cache;
use hf_hub::api::sync::{Api, ApiBuilder};

pub use error::Error;
pub use id::{HubId, Kind};
pub use reading::Reading;
pub use token::home;

const HUB: &str = "https://huggingface.co";
/// How long a silent network may take to answer before the cache is used instead.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a transfer may bring nothing before it is given up.
const SILENCE: Duration = Duration::from_mins(1);

/// Hears how far a transfer is, 0 to 1, and says whether to go on.
pub type Progress<'a> = &'a mut dyn FnMut(f32) -> ControlFlow<()>;

/// The hub and its cache on this machine.
#[derive(Clone, Debug)]
pub struct Hub {
    cache: Cache,
    endpoint: String,
    offline: bool,
    silence: Duration,
    token: Option<String>,
}

impl Hub {
    /// Cache, mirror, token and offline mode as `HF_HUB_CACHE`, `HF_HOME`, `HF_ENDPOINT`, `HF_TOKEN` and `HF_HUB_OFFLINE` say,
    /// as in Python.
    pub fn from_env() -> Self {
        let cache = std::env::var_os("HF_HUB_CACHE").map(PathBuf::from);
        let cache = cache.or_else(|| Some(home()?.join("hub")));
        let cache = cache.unwrap_or_else(|| std::env::temp_dir().join("huggingface").join("hub"));
        let offline = std::env::var("HF_HUB_OFFLINE").unwrap_or_default();
        let endpoint = std::env::var("HF_ENDPOINT").unwrap_or_else(|_| HUB.to_owned());
        Self {
            offline: matches!(
                offline.to_ascii_lowercase().as_str(),
                "1" | "true" | "yes" | "on"
            ),
            token: token::token(),
            ..Self::new(cache, &endpoint)
        }
    }

    /// A hub with its own cache directory and address, where nobody is logged in.
    pub fn new(cache: PathBuf, endpoint: &str) -> Self {
        Self {
            cache: Cache::new(cache),
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            offline: false,
            silence: SILENCE,
            token: None,
        }
    }

    /// The same hub, with another folder for what is on its way.
    #[must_use]
    pub fn cached_in(&self, cache: PathBuf) -> Self {
        Self {
            cache: Cache::new(cache),
            ..self.clone()
        }
    }

    /// The same hub with this token.
    #[must_use]
    pub fn logged_in(self, token: impl Into<String>) -> Self {
        Self {
            token: Some(token.into()),
            ..self
        }
    }

    /// The same hub, which gives a transfer up sooner or later.
    #[must_use]
    pub fn with_silence(self, silence: Duration) -> Self {
        Self { silence, ..self }
    }

    /// The same hub, asked nothing.
    #[must_use]
    pub fn without_network(self) -> Self {
        Self {
            offline: true,
            ..self
        }
    }

    /// Looks at what the hub has under a name.
    ///
    /// # Errors
    /// The hub is not reached, or has nothing under that name for whoever asks.
    pub fn read(&self, id: &HubId) -> Result<Reading, Error> {
        Reading::of(self, id, &self.api(id)?)
    }

    /// The directory of what is cached of a revision; whether that is all of it is for the reader to say.
    pub fn snapshot(&self, id: &HubId) -> Option<PathBuf> {
        cache::snapshot(&self.cache, id)
    }

    /// One small file of a repository, from the cache or fetched.
    ///
    /// # Errors
    /// It is not in the cache and cannot be fetched.
    pub fn file(&self, id: &HubId, name: &str) -> Result<PathBuf, Error> {
        if let Some(path) = self.cached_file(id, name) {
            return Ok(path);
        }
        let api = self.api(id)?;
        reading::fetch(self, api.repo(id.repo()), id, name, &mut |_| {
            ControlFlow::Continue(())
        })
    }

    /// One file of a repository if the cache holds it.
    pub fn cached_file(&self, id: &HubId, name: &str) -> Option<PathBuf> {
        let path = self.snapshot(id)?.join(name);
        path.is_file().then_some(path)
    }

    fn api(&self, id: &HubId) -> Result<Api, Error> {
        self.reach(id)?;
        ApiBuilder::from_cache(self.cache.clone())
            .with_endpoint(self.endpoint.clone())
            .with_progress(false)
            .with_token(self.token.clone())
            .build()
            .map_err(|err| Error::from_api(id, "", err))
    }

    /// hf-hub waits for ever for a network that swallows packets, so see first that somebody is there.
    fn reach(&self, id: &HubId) -> Result<(), Error> {
        if self.offline {
            return Err(Error::offline(id));
        }
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
}

#[cfg(test)]
mod tests {
    use super::pretend::{Answer, Server};
    use super::*;

    #[test]
    fn offline_mode_never_asks() {
        let place = tempfile::tempdir().unwrap();
        let server = Server::start(&[("tokenizer.json", Answer::File(vec![1]))]);
        let hub = server.hub(place.path()).without_network();
        let id = HubId::parse("owner/model").unwrap();
        assert!(matches!(hub.read(&id), Err(Error::Offline { .. })));
        assert!(hub.file(&id, "tokenizer.json").is_err());
        assert_eq!(server.requests().len(), 0);
    }
}
