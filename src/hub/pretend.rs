//! The hub as it is met in the field, played by a small server on this machine: it breaks off, falls silent, refuses, and keeps what
//! it is sent.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Hub;

pub const COMMIT: &str = "c83c3163b8ca9b7e67c509fffd9121e66cb96205";
/// Whoever shows this may write.
pub const TOKEN: &str = "hf_pretend";

/// What the server does with a request for a file.
#[derive(Clone)]
pub enum Answer {
    File(Vec<u8>),
    /// Breaks the connection after this many bytes, the first time.
    Break(Vec<u8>, usize),
    /// Ends well after this many bytes, the first time, as a proxy does that has seen enough.
    Short(Vec<u8>, usize),
    /// Sends this many bytes and then nothing, and leaves the connection open.
    Silent(Vec<u8>, usize),
    Status(u16),
}

/// What the server keeps and does.
#[derive(Default)]
pub struct State {
    /// By path; `api` stands for the list of them.
    pub files: BTreeMap<String, Answer>,
    /// Large files by their hash.
    pub store: BTreeMap<String, Vec<u8>>,
    pieces: BTreeMap<String, Vec<u8>>,
    pub tags: Vec<String>,
    /// Whether the repository was made.
    pub is_made: bool,
    /// Large files are asked for in pieces of this many bytes.
    pub piece: Option<usize>,
    /// A status for the next request whose line holds these words; 0 breaks the connection in the middle of the body.
    pub refusals: Vec<(&'static str, u16)>,
    /// Every request line; of a download with the first byte that is wanted.
    log: Vec<String>,
}

pub struct Server {
    endpoint: String,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub fn start(files: &[(&str, Answer)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let files = files.iter().map(|(k, v)| ((*k).to_owned(), v.clone()));
        let state = State {
            files: files.collect(),
            ..State::default()
        };
        let server = Self {
            endpoint: endpoint.clone(),
            state: Arc::new(Mutex::new(state)),
        };
        let state = Arc::clone(&server.state);
        std::thread::Builder::new()
            .name("pretend hub".into())
            .spawn(move || {
                let mut held = Vec::new();
                for stream in listener.incoming() {
                    // A client that went away is no concern of the server's.
                    let stream = stream.unwrap();
                    let hold = answer(&stream, &endpoint, &state).ok();
                    held.extend(hold.and_then(|hold| hold.then_some(stream)));
                }
            })
            .unwrap();
        server
    }

    pub fn hub(&self, cache: &Path) -> Hub {
        Hub::new(cache.to_owned(), &self.endpoint)
    }

    pub fn requests(&self) -> Vec<String> {
        self.state().log.clone()
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// The bytes of a file that the repository has.
    pub fn file(&self, path: &str) -> Option<Vec<u8>> {
        match self.state().files.get(path) {
            Some(Answer::File(bytes)) => Some(bytes.clone()),
            _ => None,
        }
    }
}

/// A request: the first byte of a file that is wanted, and whether only that byte is.
#[derive(Default)]
struct Request {
    method: String,
    path: String,
    from: usize,
    probe: bool,
    token: String,
    body: Vec<u8>,
}

/// Reads a request, `None` when the client only knocked or was cut off.
fn read_request(stream: &TcpStream, state: &Mutex<State>) -> std::io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut words = first.split(' ').map(str::to_owned);
    let mut request = Request {
        method: words.next().unwrap_or_default(),
        path: words.next().unwrap_or_default(),
        ..Request::default()
    };
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        let (name, value) = line.trim().split_once(": ").unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "range" => {
                let (from, to) = value.trim_start_matches("bytes=").split_once('-').unwrap();
                request.from = from.parse().unwrap_or(0);
                request.probe = !to.is_empty();
            }
            "content-length" => length = value.parse().unwrap(),
            "authorization" => value.clone_into(&mut request.token),
            _ => {}
        }
    }
    let line = format!("{} {}", request.method, request.path);
    if state.lock().unwrap().is_refused(&line, 0).is_some() {
        reader.take(length / 2).read_to_end(&mut request.body)?;
        return Ok(None);
    }
    reader.take(length).read_to_end(&mut request.body)?;
    Ok(Some(request))
}

impl State {
    /// The refusal that awaits a request, if it is of this kind: 0, or any other status.
    fn is_refused(&mut self, line: &str, kind: u16) -> Option<u16> {
        let fits =
            |(words, status): &(&str, u16)| line.contains(words) && (*status == 0) == (kind == 0);
        let at = self.refusals.iter().position(fits)?;
        Some(self.refusals.remove(at).1)
    }
}

fn say(mut stream: &TcpStream, status: u16, headers: &str, body: &str) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status} So\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn no(stream: &TcpStream, status: u16) -> std::io::Result<()> {
    say(stream, status, "", "{\"error\": \"because\"}")
}

/// Whether the connection is to stay open.
fn answer(stream: &TcpStream, endpoint: &str, state: &Mutex<State>) -> std::io::Result<bool> {
    let Some(request) = read_request(stream, state)? else {
        return Ok(false);
    };
    let mut state = state.lock().unwrap();
    let line = format!("{} {}", request.method, request.path);
    state.log.push(match request.method.as_str() {
        "GET" => format!("{} {}", request.path, request.from),
        _ => line.clone(),
    });
    if let Some(status) = state.is_refused(&line, 1) {
        return no(stream, status).map(|()| false);
    }
    match request.method.as_str() {
        "GET" if request.path.starts_with("/api/") => list(stream, &state).map(|()| false),
        "GET" => send(stream, &request, &mut state),
        _ => take(stream, endpoint, &request, &mut state).map(|()| false),
    }
}

fn list(stream: &TcpStream, state: &State) -> std::io::Result<()> {
    if let Some(Answer::Status(status)) = state.files.get("api") {
        return no(stream, *status);
    }
    let size = |answer: &Answer| match answer {
        Answer::File(body)
        | Answer::Break(body, _)
        | Answer::Short(body, _)
        | Answer::Silent(body, _) => body.len(),
        Answer::Status(_) => 0,
    };
    let files = state.files.iter();
    let files = files.map(|(name, it)| json!({ "rfilename": name, "size": size(it) }));
    let list = json!({ "sha": COMMIT, "siblings": files.collect::<Vec<_>>() });
    say(stream, 200, "", &list.to_string())
}

fn send(mut stream: &TcpStream, request: &Request, state: &mut State) -> std::io::Result<bool> {
    let path = request.path.split_once("/resolve/").unwrap_or_default().1;
    let name = path.split_once('/').unwrap_or_default().1.to_owned();
    // How much is announced and how much is sent.
    let (body, announced, sent) = match state.files.get(&name) {
        Some(Answer::File(body)) => (body.clone(), usize::MAX, usize::MAX),
        Some(Answer::Break(body, stop) | Answer::Silent(body, stop)) => {
            (body.clone(), usize::MAX, *stop)
        }
        Some(Answer::Short(body, stop)) => (body.clone(), *stop, *stop),
        Some(Answer::Status(status)) => return no(stream, *status).map(|()| false),
        None => return no(stream, 404).map(|()| false),
    };
    let Request { from, probe, .. } = *request;
    let hold = !probe && matches!(state.files.get(&name), Some(Answer::Silent(..)));
    if from >= body.len() {
        return no(stream, 416).map(|()| false);
    }
    let part = if probe { &body[..1] } else { &body[from..] };
    write!(
        stream,
        "HTTP/1.1 206 Partial\r\nETag: \"tag-{}\"\r\nX-Repo-Commit: {COMMIT}\r\n\
         Content-Range: bytes {from}-{}/{}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        name.replace('/', "-"),
        from + part.len() - 1,
        body.len(),
        part.len().min(announced)
    )?;
    if !probe {
        state.files.insert(name, Answer::File(body.clone()));
    }
    stream.write_all(&part[..part.len().min(sent)])?;
    Ok(hold)
}

/// Takes what is written.
fn take(
    stream: &TcpStream,
    endpoint: &str,
    request: &Request,
    state: &mut State,
) -> std::io::Result<()> {
    let path = request.path.as_str();
    // The addresses of the store are signed, and the token is not for it.
    let is_store = path.starts_with("/store/");
    if is_store != request.token.is_empty()
        || !is_store && request.token != format!("Bearer {TOKEN}")
    {
        return no(stream, 401);
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    match (request.method.as_str(), path) {
        ("POST", "/api/repos/create") => {
            let is_new = !std::mem::replace(&mut state.is_made, true);
            say(stream, if is_new { 200 } else { 409 }, "", "{}")
        }
        ("POST", _) if path.contains("/preupload/") => {
            say(stream, 200, "", &sorted_out(&body).to_string())
        }
        ("POST", _) if path.ends_with("/objects/batch") => {
            let objects = body["objects"].as_array().unwrap().iter();
            let objects: Vec<_> = objects.map(|it| plan(endpoint, state, it)).collect();
            say(stream, 200, "", &json!({ "objects": objects }).to_string())
        }
        ("PUT", _) => {
            let name = path.trim_start_matches("/store/").to_owned();
            let tag = format!("ETag: \"e{}\"\r\n", request.body.len());
            let at = if name.contains('/') {
                &mut state.pieces
            } else {
                &mut state.store
            };
            at.insert(name, request.body.clone());
            say(stream, 200, &tag, "")
        }
        ("POST", _) if is_store => {
            let oid = body["oid"].as_str().unwrap().to_owned();
            let pieces = state.pieces.range(oid.clone()..);
            let own = pieces.take_while(|(name, _)| name.starts_with(&oid));
            let whole: Vec<u8> = own.flat_map(|(_, bytes)| bytes.clone()).collect();
            state.store.insert(oid, whole);
            say(stream, 200, "", "{}")
        }
        ("POST", _) if path.ends_with("/verify") => {
            let oid = body["oid"].as_str().unwrap();
            let kept = state.store.get(oid).map(|bytes| hash(bytes) == oid);
            say(stream, if kept == Some(true) { 200 } else { 422 }, "", "{}")
        }
        ("POST", _) if path.contains("/commit/") => {
            let text = String::from_utf8(request.body.clone()).unwrap();
            for line in text.lines() {
                commit(state, &serde_json::from_str(line).unwrap());
            }
            say(stream, 200, "", "{}")
        }
        ("POST", _) if path.contains("/tag/") => {
            let tag = body["tag"].as_str().unwrap().to_owned();
            if state.tags.contains(&tag) {
                return no(stream, 409);
            }
            state.tags.push(tag);
            say(stream, 200, "", "{}")
        }
        ("DELETE", _) => {
            state.tags.retain(|tag| !path.ends_with(tag.as_str()));
            say(stream, 200, "", "{}")
        }
        _ => no(stream, 404),
    }
}

/// Which files are large to this hub.
fn sorted_out(asked: &Value) -> Value {
    let mode = |file: &Value| {
        let path = file["path"].as_str().unwrap();
        let is_large = ["parquet", "mp4"].contains(&path.rsplit('.').next().unwrap());
        json!({ "path": path, "uploadMode": if is_large { "lfs" } else { "regular" } })
    };
    let files: Vec<_> = asked["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(mode)
        .collect();
    json!({ "files": files })
}

fn hash(bytes: &[u8]) -> String {
    super::sending::hexadecimal(&Sha256::digest(bytes))
}

/// What is to be done for a large file.
fn plan(endpoint: &str, state: &State, object: &Value) -> Value {
    let (oid, size) = (
        object["oid"].as_str().unwrap(),
        object["size"].as_u64().unwrap(),
    );
    if state.store.contains_key(oid) {
        return json!({ "oid": oid, "size": size });
    }
    let href = format!("{endpoint}/store/{oid}");
    let verify = json!({ "href": format!("{endpoint}/verify") });
    let upload = match state.piece.filter(|piece| (*piece as u64) < size) {
        None => json!({ "href": href }),
        Some(piece) => {
            let mut header = json!({ "chunk_size": piece.to_string() });
            for at in 1..=size.div_ceil(piece as u64) {
                header[format!("{at:05}")] = format!("{href}/{at:05}").into();
            }
            json!({ "href": href, "header": header })
        }
    };
    json!({ "oid": oid, "size": size, "actions": { "upload": upload, "verify": verify } })
}

fn commit(state: &mut State, line: &Value) {
    let value = &line["value"];
    let path = value["path"].as_str().unwrap_or_default().to_owned();
    match line["key"].as_str().unwrap() {
        "file" => {
            let text = value["content"].as_str().unwrap();
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(text)
                .unwrap();
            state.files.insert(path, Answer::File(bytes));
        }
        "lfsFile" => {
            let bytes = state.store[value["oid"].as_str().unwrap()].clone();
            state.files.insert(path, Answer::File(bytes));
        }
        "deletedFile" => drop(state.files.remove(&path)),
        _ => {}
    }
}
