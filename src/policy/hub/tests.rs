//! The hub as it is met in the field, played by a small server on this machine.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::*;

const COMMIT: &str = "c83c3163b8ca9b7e67c509fffd9121e66cb96205";

/// What the server does with a request for a file.
#[derive(Clone)]
enum Answer {
    File(Vec<u8>),
    /// Breaks the connection after this many bytes, the first time.
    Break(Vec<u8>, usize),
    /// Ends well after this many bytes, the first time, as a proxy does that has seen enough.
    Short(Vec<u8>, usize),
    /// Sends this many bytes and then nothing, and leaves the connection open.
    Silent(Vec<u8>, usize),
    Status(u16),
}

struct Server {
    endpoint: String,
    files: Arc<Mutex<BTreeMap<String, Answer>>>,
    /// Every request line with its range.
    log: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(files: &[(&str, Answer)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let files = files.iter().map(|(k, v)| ((*k).to_owned(), v.clone()));
        let server = Self {
            endpoint,
            files: Arc::new(Mutex::new(files.collect())),
            log: Arc::default(),
        };
        let (files, log) = (Arc::clone(&server.files), Arc::clone(&server.log));
        std::thread::Builder::new()
            .name("pretend hub".into())
            .spawn(move || {
                let mut held = Vec::new();
                for stream in listener.incoming() {
                    // A client that went away is no concern of the server's.
                    let stream = stream.unwrap();
                    held.extend(
                        answer(&stream, &files, &log)
                            .ok()
                            .and_then(|hold| hold.then_some(stream)),
                    );
                }
            })
            .unwrap();
        server
    }

    fn hub(&self, cache: &Path) -> Hub {
        Hub::new(cache.to_owned(), &self.endpoint)
    }

    fn requests(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

/// A request: its path, the first byte that is wanted, and whether only that byte is.
struct Request {
    path: String,
    from: usize,
    probe: bool,
}

/// Reads a request, `None` when the client only knocked.
fn read_request(stream: &TcpStream) -> std::io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut request = Request {
        path: first.split(' ').nth(1).unwrap_or_default().to_owned(),
        from: 0,
        probe: false,
    };
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            return Ok(Some(request));
        }
        let line = line.to_ascii_lowercase();
        if let Some((from, to)) = line
            .strip_prefix("range: bytes=")
            .and_then(|range| range.trim().split_once('-'))
        {
            request.from = from.parse().unwrap_or(0);
            request.probe = !to.is_empty();
        }
    }
}

fn no(mut stream: &TcpStream, status: u16) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
}

fn list(mut stream: &TcpStream, files: &BTreeMap<String, Answer>) -> std::io::Result<()> {
    if let Some(Answer::Status(status)) = files.get("api") {
        return no(stream, *status);
    }
    let names: Vec<String> = files
        .keys()
        .map(|name| format!("{{\"rfilename\": \"{name}\"}}"))
        .collect();
    let body = format!(
        "{{\"sha\": \"{COMMIT}\", \"siblings\": [{}]}}",
        names.join(",")
    );
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Whether the connection is to stay open.
fn answer(
    mut stream: &TcpStream,
    files: &Mutex<BTreeMap<String, Answer>>,
    log: &Mutex<Vec<String>>,
) -> std::io::Result<bool> {
    let Some(Request { path, from, probe }) = read_request(stream)? else {
        return Ok(false);
    };
    log.lock().unwrap().push(format!("{path} {from}"));
    let mut files = files.lock().unwrap();
    if path.starts_with("/api/models/") {
        return list(stream, &files).map(|()| false);
    }
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    // How much is announced and how much is sent.
    let (body, announced, sent) = match files.get(&name) {
        Some(Answer::File(body)) => (body.clone(), usize::MAX, usize::MAX),
        Some(Answer::Break(body, stop) | Answer::Silent(body, stop)) => {
            (body.clone(), usize::MAX, *stop)
        }
        Some(Answer::Short(body, stop)) => (body.clone(), *stop, *stop),
        Some(Answer::Status(status)) => return no(stream, *status).map(|()| false),
        None => return no(stream, 404).map(|()| false),
    };
    let hold = !probe && matches!(files.get(&name), Some(Answer::Silent(..)));
    if from >= body.len() {
        return no(stream, 416).map(|()| false);
    }
    let part = if probe { &body[..1] } else { &body[from..] };
    write!(
        stream,
        "HTTP/1.1 206 Partial\r\nETag: \"tag-{name}\"\r\nX-Repo-Commit: {COMMIT}\r\n\
         Content-Range: bytes {from}-{}/{}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        from + part.len() - 1,
        body.len(),
        part.len().min(announced)
    )?;
    if !probe {
        files.insert(name, Answer::File(body.clone()));
    }
    stream.write_all(&part[..part.len().min(sent)])?;
    Ok(hold)
}

fn id() -> HubId {
    HubId::parse("owner/model").unwrap()
}

fn pipeline() -> Answer {
    Answer::File(br#"{"name": "p", "steps": []}"#.to_vec())
}

fn whole() -> Vec<(&'static str, Answer)> {
    vec![
        ("README.md", Answer::File(b"hello".to_vec())),
        ("config.json", Answer::File(b"{}".to_vec())),
        ("model.safetensors", Answer::File(vec![7; 5000])),
        ("policy_postprocessor.json", pipeline()),
        ("policy_preprocessor.json", pipeline()),
    ]
}

fn refusal(files: &[(&str, Answer)]) -> Error {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(files);
    server
        .hub(dir.path())
        .checkpoint(&id(), &mut |_| {})
        .unwrap_err()
}

#[test]
fn ids_are_told_from_paths() {
    assert_eq!(id().revision, "main");
    let pinned = HubId::parse("lerobot/smolvla_base@v1.0").unwrap();
    assert_eq!(pinned.to_string(), "lerobot/smolvla_base@v1.0");
    for path in [
        "demo", "./a/b", "../x", "/abs/dir", "a/b/c", "a/", "/b", "a b/c", "x/y@",
    ] {
        assert_eq!(HubId::parse(path), None, "{path}");
    }
}

#[test]
fn a_checkpoint_is_fetched_once_and_then_starts_without_the_hub() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(&whole());
    let mut heard = Vec::new();
    let fetched = server
        .hub(dir.path())
        .checkpoint(&id(), &mut |fraction| heard.push(fraction))
        .unwrap();
    let weights = std::fs::read(fetched.directory.join("model.safetensors")).unwrap();
    assert_eq!(weights, vec![7; 5000]);
    assert!(heard.is_sorted() && heard.last() == Some(&1.0), "{heard:?}");
    assert!(!fetched.directory.join("README.md").exists());

    let asked = server.requests().len();
    let again = server
        .hub(dir.path())
        .checkpoint(&id(), &mut |_| {})
        .unwrap();
    assert_eq!(again, fetched);
    assert_eq!(server.requests().len(), asked, "the cache was complete");
    // The commit itself is a name as well.
    let commit = HubId::parse(&format!("owner/model@{COMMIT}")).unwrap();
    assert!(
        server
            .hub(dir.path())
            .checkpoint(&commit, &mut |_| {})
            .is_ok()
    );
}

#[test]
fn a_broken_connection_continues_where_it_broke() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = whole();
    let body: Vec<u8> = (0..60000u32).map(|i| (i % 251) as u8).collect();
    files[2].1 = Answer::Break(body.clone(), 40000);
    let server = Server::start(&files);
    let fetched = server
        .hub(dir.path())
        .checkpoint(&id(), &mut |_| {})
        .unwrap();
    let weights = std::fs::read(fetched.directory.join("model.safetensors")).unwrap();
    assert!(weights == body, "{} bytes", weights.len());
    let continued = server
        .requests()
        .iter()
        .any(|line| line.ends_with("model.safetensors 40000"));
    assert!(continued, "{:?}", server.requests());
}

#[test]
fn a_download_that_ends_too_early_continues() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = whole();
    let body: Vec<u8> = (0..9000u32).map(|i| (i % 241) as u8).collect();
    files[2].1 = Answer::Short(body.clone(), 4000);
    let server = Server::start(&files);
    let fetched = server
        .hub(dir.path())
        .checkpoint(&id(), &mut |_| {})
        .unwrap();
    let weights = std::fs::read(fetched.directory.join("model.safetensors")).unwrap();
    assert!(weights == body, "{} bytes", weights.len());
    let continued = |line: &String| line.ends_with("model.safetensors 4000");
    assert!(server.requests().iter().any(continued));
}

#[test]
fn a_download_that_falls_silent_is_given_up_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let mut files = whole();
    files[2].1 = Answer::Silent(vec![7; 9000], 4000);
    let server = Server::start(&files);
    let mut hub = server.hub(dir.path());
    hub.silence = Duration::from_millis(200);
    let mut heard = 0.0_f32;
    let silent = hub.checkpoint(&id(), &mut |part| heard = heard.max(part));
    let words = silent.unwrap_err().to_string();
    assert!(
        words.contains("model.safetensors") && words.contains("continues"),
        "{words}"
    );
    assert!(heard < 0.9, "{heard}");
    // What came is kept for the next start.
    let part = dir.path().join("models--owner--model/blobs/tag-model.part");
    assert!(std::fs::metadata(part).is_ok_and(|part| part.len() <= 4000));
}

#[test]
fn a_part_that_is_complete_but_was_never_filed_is_used() {
    let dir = tempfile::tempdir().unwrap();
    let blobs = dir.path().join("models--owner--model/blobs");
    std::fs::create_dir_all(&blobs).unwrap();
    std::fs::write(blobs.join("tag-model.part"), [7; 5000]).unwrap();
    let server = Server::start(&whole());
    let fetched = server
        .hub(dir.path())
        .checkpoint(&id(), &mut |_| {})
        .unwrap();
    let weights = std::fs::read(fetched.directory.join("model.safetensors")).unwrap();
    assert_eq!(weights, [7; 5000]);
    let last_byte = |line: &String| line.ends_with("model.safetensors 4999");
    assert!(server.requests().iter().any(last_byte));
}

#[test]
fn refusals_of_the_hub_are_told_apart() {
    let api = |status| refusal(&[("api", Answer::Status(status))]);
    assert!(matches!(api(401), Error::Unauthorized { .. }));
    assert!(matches!(api(403), Error::Gated { .. }));
    assert!(matches!(api(404), Error::NotFound { .. }));
    assert!(matches!(api(503), Error::Trouble { status: 503, .. }));
    assert!(api(401).to_string().contains("hf auth login"));

    let mut files = whole();
    files[2].1 = Answer::Status(403);
    assert!(matches!(refusal(&files), Error::Gated { .. }));
    assert!(matches!(
        refusal(&whole()[..1]),
        Error::NotACheckpoint { .. }
    ));
}

#[test]
fn without_a_network_the_cache_stands_in_or_the_words_say_so() {
    let dir = tempfile::tempdir().unwrap();
    // A port that nobody listens on any more.
    let endpoint = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let hub = Hub::new(dir.path().to_owned(), &endpoint);
    let err = hub.checkpoint(&id(), &mut |_| {}).unwrap_err();
    assert!(matches!(err, Error::NoNetwork { .. }), "{err}");
    assert!(
        err.to_string().contains("Connect to a network once"),
        "{err}"
    );

    // An old checkpoint without processor files: nothing proves that the cache is complete, but it runs.
    let snapshot = dir
        .path()
        .join("models--owner--model/snapshots")
        .join(COMMIT);
    std::fs::create_dir_all(&snapshot).unwrap();
    std::fs::create_dir_all(dir.path().join("models--owner--model/refs")).unwrap();
    std::fs::write(dir.path().join("models--owner--model/refs/main"), COMMIT).unwrap();
    std::fs::write(snapshot.join("config.json"), "{}").unwrap();
    std::fs::write(snapshot.join("model.safetensors"), "x").unwrap();
    let fetched = hub.checkpoint(&id(), &mut |_| {}).unwrap();
    assert_eq!(fetched.directory, snapshot);
    assert!(fetched.warnings[0].contains("without asking the hub"));
}

#[test]
fn offline_mode_never_asks() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(&whole());
    let mut hub = server.hub(dir.path());
    hub.offline = true;
    let err = hub.checkpoint(&id(), &mut |_| {}).unwrap_err();
    assert!(matches!(err, Error::Offline { .. }), "{err}");
    assert!(hub.file(&id(), "tokenizer.json").is_err());
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_full_disk_says_so() {
    let full = std::io::Error::from(std::io::ErrorKind::StorageFull);
    let err = Error::from_api(&id(), "model.safetensors", ApiError::IoError(full));
    assert!(matches!(err, Error::DiskFull { .. }), "{err}");
    assert!(!err.may_pass());
}
