//! A download that is given up when nothing comes any more. A network that swallows packets breaks no connection, and hf-hub would
//! wait on it for ever.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use hf_hub::api::Progress as Reports;
use hf_hub::api::sync::{ApiError, ApiRepo};

use super::Progress;

/// How often the listener is told how far it is, whether something came or not: that is when it can cancel.
const LOOK: Duration = Duration::from_millis(200);

/// Reports that may wait; a reader that falls behind slows the download down.
const WAITING: usize = 64;

/// Why there is no file.
#[derive(Debug)]
pub enum Failure {
    Api(ApiError),
    /// Nothing came for too long.
    Silent,
    /// Whoever listens wants no more of it.
    Cancelled,
}

/// What the downloading thread tells.
enum News {
    /// The whole size; counting begins anew.
    Size(usize),
    Bytes(usize),
    Done(Result<PathBuf, ApiError>),
}

/// Fetches a file on a thread of its own. `size` becomes its announced size, `progress` hears the fraction.
///
/// A thread that is given up, or whose listener unwinds, ends with the next byte that comes, if one ever does.
///
/// # Errors
/// Those of the hub, nothing came for `silence`, or the listener wants no more.
pub fn download(
    repo: &Arc<ApiRepo>,
    name: &str,
    silence: Duration,
    size: &mut usize,
    progress: Progress<'_>,
) -> Result<PathBuf, Failure> {
    let (tell, told) = bounded(WAITING);
    let (repo, wanted) = (Arc::clone(repo), name.to_owned());
    let work = move || {
        let done = repo.download_with_progress(&wanted, Teller(tell.clone()));
        tell.send(News::Done(done)).ok();
    };
    let started = thread::Builder::new().name("download".into()).spawn(work);
    started.map_err(|error| Failure::Api(ApiError::IoError(error)))?;
    let (mut seen, mut heard) = (0, Instant::now());
    loop {
        match told.recv_timeout(LOOK.min(silence)) {
            Ok(News::Size(whole)) => (*size, seen) = (whole, 0),
            Ok(News::Bytes(bytes)) => seen += bytes,
            Ok(News::Done(done)) => return done.map_err(Failure::Api),
            Err(RecvTimeoutError::Timeout) if heard.elapsed() < silence => {
                say(progress, seen, *size)?;
                continue;
            }
            // A thread that panicked says no more either.
            Err(_) => return Err(Failure::Silent),
        }
        heard = Instant::now();
        say(progress, seen, *size)?;
    }
}

fn say(progress: Progress<'_>, seen: usize, size: usize) -> Result<(), Failure> {
    let fraction = (seen as f32 / size.max(1) as f32).min(1.0);
    match progress(fraction) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Failure::Cancelled),
    }
}

/// The downloading thread's end.
struct Teller(Sender<News>);

impl Teller {
    fn tell(&self, news: News) {
        if self.0.send(news).is_err() {
            // Nobody wants the file any more, and hf-hub has no other way to stop.
            std::panic::resume_unwind(Box::new("cancelled"));
        }
    }
}

impl Reports for Teller {
    fn init(&mut self, size: usize, _file: &str) {
        self.tell(News::Size(size));
    }

    fn update(&mut self, bytes: usize) {
        self.tell(News::Bytes(bytes));
    }

    fn finish(&mut self) {}
}
