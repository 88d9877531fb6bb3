//! Large files on their way to the hub's file store, by Git LFS' batch protocol: in one piece, or in several where the hub asks for
//! that. What the store has already is not sent again.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek as _, SeekFrom};
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::wire::Wire;
use super::{BATCH, Content, Weighed};
use crate::hub::{Error, Hub, HubId, Progress};

const LFS: &str = "application/vnd.git-lfs+json";
/// A broken transfer is begun again this many times.
const ATTEMPTS: usize = 4;

/// Sends what the store lacks; returns how many bytes that were.
pub fn send(
    hub: &Hub,
    wire: &Wire<'_>,
    id: &HubId,
    large: &[&Weighed],
    progress: Progress<'_>,
) -> Result<u64, Error> {
    let whole: u64 = large.iter().map(|it| it.size).sum();
    let mut way = Way {
        wire,
        id,
        whole,
        done: 0,
        sent: 0,
        progress,
    };
    for some in large.chunks(BATCH) {
        let actions = ask(hub, wire, id, some)?;
        for one in some {
            let is_it = |action: &&Value| action["oid"].as_str() == Some(&one.oid);
            let Some(action) = actions.iter().find(is_it) else {
                let why = format!("it says nothing of {}", one.parcel.path);
                return Err(Error::nonsense(id, &why));
            };
            way.deliver(one, action)?;
        }
    }
    Ok(way.sent)
}

/// Asks what is to be done for each file.
fn ask(hub: &Hub, wire: &Wire<'_>, id: &HubId, some: &[&Weighed]) -> Result<Vec<Value>, Error> {
    let objects = some
        .iter()
        .map(|it| json!({ "oid": it.oid, "size": it.size }));
    let asked = json!({
        "operation": "upload",
        "transfers": ["basic", "multipart"],
        "objects": objects.collect::<Vec<_>>(),
        "hash_algo": "sha256",
        "ref": { "name": id.revision },
    });
    let repo = id.repo().url();
    let url = format!("{}/{repo}.git/info/lfs/objects/batch", hub.endpoint);
    let body = asked.to_string();
    let answer = wire.post_as(&url, LFS, &[("Accept", LFS)], body.as_bytes())?;
    let mut answer = wire.json(answer)?;
    match answer["objects"].take() {
        Value::Array(actions) => Ok(actions),
        _ => Err(Error::nonsense(id, &"it names no objects")),
    }
}

/// Files under way, and how far they are together.
struct Way<'a, 'b> {
    wire: &'a Wire<'a>,
    id: &'a HubId,
    whole: u64,
    /// Bytes of files that are there.
    done: u64,
    /// Bytes that were sent for it.
    sent: u64,
    progress: Progress<'b>,
}

impl Way<'_, '_> {
    fn deliver(&mut self, one: &Weighed, action: &Value) -> Result<(), Error> {
        if let Some(why) = action["error"]["message"].as_str() {
            return Err(Error::Refused {
                id: self.id.to_string(),
                status: action["error"]["code"].as_u64().unwrap_or_default() as u16,
                why: why.to_owned(),
            });
        }
        let upload = &action["actions"]["upload"];
        if upload.is_object() {
            let mut attempt = 1;
            loop {
                match self.upload(one, upload) {
                    Ok(()) => break,
                    Err(why) if attempt < ATTEMPTS && why.may_pass() => attempt += 1,
                    Err(why) => return Err(why),
                }
            }
            self.sent += one.size;
            let verify = action["actions"]["verify"]["href"].as_str();
            if let Some(url) = verify {
                let body = json!({ "oid": one.oid, "size": one.size });
                self.wire.accept(self.wire.post(url, &body)?)?;
            }
        }
        self.done += one.size;
        self.tell(0)
    }

    fn upload(&mut self, one: &Weighed, upload: &Value) -> Result<(), Error> {
        let Some(href) = upload["href"].as_str() else {
            let why = format!("it gives no address for {}", one.parcel.path);
            return Err(Error::nonsense(self.id, &why));
        };
        let Some(piece) = number(&upload["header"]["chunk_size"]) else {
            return self.put(one, href, 0, one.size).map(drop);
        };
        let urls = piece_urls(&upload["header"]);
        if piece == 0 || one.size.div_ceil(piece) != urls.len() as u64 {
            let why = format!("{} pieces of {piece} bytes for {}", urls.len(), one.size);
            return Err(Error::nonsense(self.id, &why));
        }
        let mut parts = vec![];
        for (at, url) in urls.into_iter().enumerate() {
            let from = at as u64 * piece;
            let tag = self.put(one, url, from, piece.min(one.size - from))?;
            parts.push(json!({ "partNumber": at + 1, "etag": tag }));
        }
        let whole = json!({ "oid": one.oid, "parts": parts });
        self.wire
            .accept(self.wire.post_signed(href, LFS, &whole)?)
            .map(drop)
    }

    /// Puts a piece where it belongs; returns the tag that the store gives it.
    fn put(&mut self, one: &Weighed, url: &str, from: u64, size: u64) -> Result<String, Error> {
        let mut bytes =
            open(&one.parcel.content, from, size).map_err(|err| self.unread(one, &err))?;
        let (wire, mut cancelled) = (self.wire, false);
        let mut counted = Counted {
            bytes: &mut *bytes,
            read: from,
            way: self,
            cancelled: &mut cancelled,
        };
        let answer = wire.put(url, &mut counted, size);
        if cancelled {
            return Err(self.cancelled());
        }
        let answer = wire.accept(answer?)?;
        Ok(answer.header("etag").unwrap_or_default().to_owned())
    }

    fn tell(&mut self, of_this: u64) -> Result<(), Error> {
        let share = (self.done + of_this) as f32 / self.whole.max(1) as f32;
        match (self.progress)(share.min(1.0)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(self.cancelled()),
        }
    }

    fn cancelled(&self) -> Error {
        Error::Cancelled {
            id: self.id.to_string(),
        }
    }

    fn unread(&self, one: &Weighed, err: &io::Error) -> Error {
        match &one.parcel.content {
            Content::File(path) => Error::unreadable(self.id, path, err),
            Content::Text(_) => Error::nonsense(self.id, err),
        }
    }
}

fn open(content: &Content, from: u64, size: u64) -> io::Result<Box<dyn Read>> {
    Ok(match content {
        Content::File(path) => {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(from))?;
            Box::new(file.take(size))
        }
        Content::Text(text) => {
            let mut bytes = Cursor::new(text.clone().into_bytes());
            bytes.set_position(from);
            Box::new(bytes.take(size))
        }
    })
}

/// Some servers write numbers as text.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// The addresses of the pieces, which stand under their numbers among the headers.
fn piece_urls(header: &Value) -> Vec<&str> {
    let entries = header.as_object().into_iter().flatten();
    let mut urls: Vec<(u64, &str)> = entries
        .filter_map(|(number, url)| Some((number.parse().ok()?, url.as_str()?)))
        .collect();
    urls.sort_unstable();
    urls.into_iter().map(|(_, url)| url).collect()
}

/// Tells how far it was read, and ends where nobody wants more.
struct Counted<'a, 'b, 'c> {
    bytes: &'a mut dyn Read,
    read: u64,
    way: &'a mut Way<'b, 'c>,
    cancelled: &'a mut bool,
}

impl Read for Counted<'_, '_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(buffer)?;
        self.read += read as u64;
        if self.way.tell(self.read).is_err() {
            *self.cancelled = true;
            return Err(io::Error::other("cancelled"));
        }
        Ok(read)
    }
}
