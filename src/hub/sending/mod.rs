//! Sends files to a repository of the hub in one commit: whoever reads it sees all of them or none.
//!
//! Large files go to the hub's file store first, by their SHA-256. What arrived there stays, so that a transfer that broke goes on
//! where it broke.

mod commit;
mod lfs;
mod wire;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::ControlFlow;
use std::path::PathBuf;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use self::wire::Wire;
use super::{Error, Hub, HubId, Kind, Progress};

/// The hub tells large files from small ones by their beginning, too.
const SAMPLE: usize = 512;
/// Files that the hub is asked about at once.
const BATCH: usize = 100;
/// The share of the whole that reading the files for their hashes takes.
const HASHING: f32 = 0.1;

/// A file on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// Where it goes, with slashes.
    pub path: String,
    pub content: Content,
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The bytes of a file of this machine.
    File(PathBuf),
    Text(String),
}

/// What is to be sent, and how.
#[derive(Clone, Debug, Default)]
pub struct Shipment {
    pub parcels: Vec<Parcel>,
    /// Paths in the repository that go with the same commit.
    pub removed: Vec<String>,
    /// The commit's message.
    pub message: String,
    /// A repository that has yet to be made is seen by its owner alone.
    pub private: bool,
    /// Names the commit, and moves there if the name is in use.
    pub tag: Option<String>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The page of the repository.
    pub url: String,
    /// Bytes that went to the file store; what was there already is not counted.
    pub bytes: u64,
}

/// A parcel that was weighed.
#[derive(Clone, Debug)]
struct Weighed {
    parcel: Parcel,
    size: u64,
    /// SHA-256, hexadecimal.
    oid: String,
    /// Its first bytes.
    sample: Vec<u8>,
    /// It goes to the file store.
    is_large: bool,
}

impl Hub {
    /// The token of who is logged in, if there is a way to the hub.
    ///
    /// # Errors
    /// Nobody is logged in, or the hub is not reached.
    pub fn ready_to_send(&self, id: &HubId) -> Result<&str, Error> {
        let Some(token) = &self.token else {
            return Err(Error::LoggedOut { id: id.to_string() });
        };
        self.reach(id).map_err(Error::sending)?;
        Ok(token)
    }

    /// Sends a shipment, making the repository if it is not there.
    ///
    /// # Errors
    /// Nobody is logged in or they may not write there, a file cannot be read, the network breaks, or the listener wants no more.
    pub fn send(
        &self,
        id: &HubId,
        shipment: &Shipment,
        progress: Progress<'_>,
    ) -> Result<Sent, Error> {
        let token = self.ready_to_send(id)?;
        let wire = Wire::new(id, token, self.silence);
        create(self, &wire, id, shipment.private)?;
        let mut weighed = weigh(id, &shipment.parcels, progress)?;
        for some in weighed.chunks_mut(BATCH) {
            sort_out(self, &wire, id, some)?;
        }
        let large: Vec<&Weighed> = weighed.iter().filter(|it| it.is_large).collect();
        let bytes = lfs::send(self, &wire, id, &large, &mut |share| {
            progress(HASHING + (1.0 - HASHING) * share)
        })?;
        commit::commit(self, &wire, id, shipment, &weighed)?;
        if let Some(tag) = &shipment.tag {
            commit::tag(self, &wire, id, tag)?;
        }
        Ok(Sent {
            url: format!("{}/{}", self.endpoint, id.repo().url()),
            bytes,
        })
    }
}

/// The address of a call about a repository.
fn api(hub: &Hub, id: &HubId, call: &str) -> String {
    let kind = match id.kind {
        Kind::Model => "models",
        Kind::Dataset => "datasets",
    };
    format!("{}/api/{kind}/{}/{call}", hub.endpoint, id.name)
}

fn create(hub: &Hub, wire: &Wire<'_>, id: &HubId, private: bool) -> Result<(), Error> {
    let (owner, name) = id.name.split_once('/').unwrap_or(("", &id.name));
    let kind = match id.kind {
        Kind::Model => "model",
        Kind::Dataset => "dataset",
    };
    let wanted = json!({ "type": kind, "name": name, "organization": owner, "private": private });
    let url = format!("{}/api/repos/create", hub.endpoint);
    let answer = wire.post(&url, &wanted)?;
    // It is there already. Whether it may be written, the next call tells.
    if answer.status == 409 {
        return Ok(());
    }
    wire.accept(answer).map(drop)
}

fn weigh(id: &HubId, parcels: &[Parcel], progress: Progress<'_>) -> Result<Vec<Weighed>, Error> {
    let mut weighed = Vec::with_capacity(parcels.len());
    for (at, parcel) in parcels.iter().enumerate() {
        let share = at as f32 / parcels.len().max(1) as f32;
        if progress(share * HASHING) == ControlFlow::Break(()) {
            return Err(Error::Cancelled { id: id.to_string() });
        }
        weighed.push(match &parcel.content {
            Content::Text(text) => weigh_bytes(parcel, text.as_bytes()),
            Content::File(path) => {
                weigh_file(parcel, path).map_err(|err| Error::unreadable(id, path, &err))?
            }
        });
    }
    Ok(weighed)
}

fn weigh_bytes(parcel: &Parcel, bytes: &[u8]) -> Weighed {
    Weighed {
        parcel: parcel.clone(),
        size: bytes.len() as u64,
        oid: hexadecimal(&Sha256::digest(bytes)),
        sample: bytes[..bytes.len().min(SAMPLE)].to_vec(),
        is_large: false,
    }
}

fn weigh_file(parcel: &Parcel, path: &PathBuf) -> io::Result<Weighed> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let (mut size, mut sample) = (0, vec![]);
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        let wanted = SAMPLE.saturating_sub(sample.len()).min(read);
        sample.extend_from_slice(&buffer[..wanted]);
        hash.update(&buffer[..read]);
        size += read as u64;
    }
    Ok(Weighed {
        parcel: parcel.clone(),
        size,
        oid: hexadecimal(&hash.finalize()),
        sample,
        is_large: false,
    })
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        write!(text, "{byte:02x}").ok();
        text
    })
}

/// Asks the hub which files are large to it.
fn sort_out(hub: &Hub, wire: &Wire<'_>, id: &HubId, weighed: &mut [Weighed]) -> Result<(), Error> {
    use base64::Engine as _;
    let asked = weighed.iter().map(|it| {
        let sample = base64::engine::general_purpose::STANDARD.encode(&it.sample);
        json!({ "path": it.parcel.path, "size": it.size, "sample": sample })
    });
    let asked = json!({ "files": asked.collect::<Vec<_>>() });
    let url = api(hub, id, &format!("preupload/{}", id.repo().url_revision()));
    let answer = wire.json(wire.post(&url, &asked)?)?;
    let modes = answer["files"].as_array().map_or(&[][..], Vec::as_slice);
    for one in weighed {
        let is_it = |mode: &&Value| mode["path"].as_str() == Some(&one.parcel.path);
        let mode = modes.iter().find(is_it);
        let mode = mode.and_then(|mode| mode["uploadMode"].as_str());
        one.is_large = match mode {
            Some("lfs") => true,
            Some("regular") => false,
            _ => {
                let why = format!("it does not say how to send {}", one.parcel.path);
                return Err(Error::nonsense(id, &why));
            }
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests;
