//! The recorder's thread: does what the control loop orders, so that the loop never waits for an encoder or a disk.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::dataset::{Error, Plan, Recorder, RecorderView};
use crate::latest::Latest;
use crate::priority::{self, Urgency};
use crate::runtime::{RecordLink, RecordOrder};

/// Orders that may wait.
const WAITING: usize = 256;
/// Bytes of pictures in steps that may wait, beside those that wait for encoders.
const WAITING_BYTES: usize = 32 << 20;
/// How often the view is renewed while nothing is ordered, so that the bars of saves move.
const LOOK: Duration = Duration::from_millis(100);

/// The thread that records. Dropping it waits until what was kept is saved; an episode that runs can be recovered.
#[derive(Debug)]
pub struct Recording {
    view: Latest<RecorderView>,
    orders: Sender<Waiting>,
    bytes: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// An order, and the bytes of its pictures.
type Waiting = (RecordOrder, usize);

impl Recording {
    /// A recorder without a data set.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start() -> io::Result<Self> {
        let view = Latest::new();
        view.set(RecorderView::default());
        let (orders, ordered) = bounded(WAITING);
        let (bytes, stop) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let desk = Desk {
            recorder: None,
            closing: false,
            last: RecorderView::default(),
            view: view.clone(),
            bytes: Arc::clone(&bytes),
            stop: Arc::clone(&stop),
        };
        let thread = thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || desk.follow(&ordered))?;
        Ok(Self {
            view,
            orders,
            bytes,
            stop,
            thread: Some(thread),
        })
    }

    /// The runtime's way to it.
    pub fn link(&self) -> RecordLink {
        let (orders, bytes) = (self.orders.clone(), Arc::clone(&self.bytes));
        let order = move |order| {
            let size = size_of_pictures(&order);
            let waiting = bytes.fetch_add(size, Ordering::Relaxed);
            let sent = if fits(waiting, size) {
                orders
                    .try_send((order, size))
                    .map_err(|full| full.into_inner().0)
            } else {
                Err(order)
            };
            sent.inspect_err(|_| {
                bytes.fetch_sub(size, Ordering::Relaxed);
            })
        };
        RecordLink {
            view: self.view.clone(),
            order: Box::new(order),
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if self
            .thread
            .take()
            .is_some_and(|thread| thread.join().is_err())
        {
            log::error!("the recorder's thread had panicked");
        }
    }
}

/// Whether so many bytes of pictures may wait beside those that do. One step always may, however large.
fn fits(waiting: usize, size: usize) -> bool {
    size == 0 || waiting == 0 || waiting + size <= WAITING_BYTES
}

/// Bytes of the pictures in a step. One that is shown twice counts twice.
fn size_of_pictures(order: &RecordOrder) -> usize {
    let RecordOrder::Step(step) = order else {
        return 0;
    };
    let pictures = step.frames.iter().flatten();
    pictures.map(|frame| frame.rgb.len()).sum()
}

/// The thread's end.
struct Desk {
    recorder: Option<Recorder>,
    /// No more is recorded; the recorder goes when its saves are done.
    closing: bool,
    /// What is shown of a recorder that is gone.
    last: RecorderView,
    view: Latest<RecorderView>,
    bytes: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl Desk {
    fn follow(mut self, ordered: &Receiver<Waiting>) {
        // Whoever started it may go before everything else; recording does not.
        priority::claim(Urgency::Usual);
        loop {
            match ordered.recv_timeout(LOOK) {
                Ok((order, size)) => {
                    self.guarded(|desk| desk.act(order));
                    self.bytes.fetch_sub(size, Ordering::Relaxed);
                }
                Err(RecvTimeoutError::Timeout) if !self.stop.load(Ordering::Relaxed) => {}
                Err(_) => break,
            }
            let is_done = |recorder: &Recorder| recorder.view().saving.is_empty();
            if self.closing && self.recorder.as_ref().is_none_or(is_done) {
                self.guarded(Self::close);
            }
            self.show();
        }
        self.guarded(Self::close);
        self.show();
    }

    /// A panic costs the recorder, whose journals stay, but not the thread.
    fn guarded(&mut self, act: impl FnOnce(&mut Self)) {
        if catch_unwind(AssertUnwindSafe(|| act(self))).is_err() {
            self.recorder = None;
            self.closing = false;
            let why = "the recorder panicked; see the log. Begin the session again to recover the episode";
            self.last = RecorderView {
                trouble: Some(why.to_owned()),
                ..RecorderView::default()
            };
        }
    }

    fn show(&self) {
        let view = self.recorder.as_ref().map(Recorder::view);
        let mut view = view.unwrap_or_else(|| self.last.clone());
        if self.closing || self.recorder.is_none() {
            // What nobody is there to recover is not offered here; the library offers it.
            (view.interrupted, view.discarded) = (Vec::new(), None);
        }
        self.view.set(view);
    }

    fn act(&mut self, order: RecordOrder) {
        match order {
            RecordOrder::Open(plan) => return self.open(*plan),
            RecordOrder::Close => {
                self.closing = true;
                return;
            }
            _ => {}
        }
        let Some(recorder) = self.recorder.as_mut().filter(|_| !self.closing) else {
            return;
        };
        // Why an order was not followed is in the recorder's view.
        let followed = follow(recorder, order);
        if let Err(error) = followed {
            log::warn!("recorder: {error}");
        }
    }

    fn open(&mut self, plan: Plan) {
        self.close();
        match Recorder::open(plan) {
            Ok(recorder) => self.recorder = Some(recorder),
            Err(error) => {
                log::warn!("recorder: {error}");
                self.last = RecorderView {
                    trouble: Some(error.to_string()),
                    ..RecorderView::default()
                };
            }
        }
    }

    fn close(&mut self) {
        self.closing = false;
        let Some(recorder) = self.recorder.take() else {
            return;
        };
        let before = recorder.view();
        let closed = recorder.close();
        let trouble = closed.as_ref().err().map(ToString::to_string);
        self.last = RecorderView {
            root: None,
            running: None,
            saving: Vec::new(),
            trouble,
            ..closed.unwrap_or(before)
        };
    }
}

fn follow(recorder: &mut Recorder, order: RecordOrder) -> Result<(), Error> {
    match order {
        RecordOrder::Begin => recorder.begin(),
        RecordOrder::Step(step) => recorder.push(*step),
        RecordOrder::Keep(outcome) => recorder.keep(outcome).map(drop),
        RecordOrder::Discard => recorder.discard(),
        RecordOrder::Recover(id) => recorder.recover(&id),
        RecordOrder::Forget(id) => recorder.forget(&id),
        RecordOrder::Open(_) | RecordOrder::Close => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{CameraShape, Outcome, Provenance, Step};
    use crate::joint::JointVec;
    use crate::observation::Frame;

    fn plan(root: &std::path::Path) -> Plan {
        Plan {
            cameras: vec![CameraShape {
                name: "front".to_owned(),
                width: 32,
                height: 16,
            }],
            ..Plan::new(root)
        }
    }

    fn step(k: u64) -> RecordOrder {
        let at = Duration::from_millis(33 * k);
        RecordOrder::Step(Box::new(Step {
            at,
            state: JointVec::default(),
            action: JointVec::default(),
            frames: vec![Frame::new(32, 16, vec![7; 32 * 16 * 3], k + 1, at)],
            task: "stack".into(),
            provenance: Provenance::default(),
            missed: 0,
        }))
    }

    /// Waits until the view is as wanted.
    fn wait(link: &RecordLink, wanted: impl Fn(&RecorderView) -> bool) -> RecorderView {
        loop {
            let view = link.view.get().unwrap();
            if wanted(&view) {
                return RecorderView::clone(&view);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_session_goes_by_orders_and_shows_in_the_view() {
        let folder = tempfile::tempdir().unwrap();
        let recording = Recording::start().unwrap();
        let mut link = recording.link();
        let mut order = |order| (link.order)(order).unwrap();
        order(RecordOrder::Open(Box::new(plan(folder.path()))));
        order(RecordOrder::Begin);
        (0..5).map(step).for_each(&mut order);
        order(RecordOrder::Keep(Outcome::Success));
        order(RecordOrder::Begin);
        order(step(0));
        order(RecordOrder::Discard);
        let view = wait(&link, |view| view.saved == 1 && view.discarded.is_some());
        assert_eq!(view.root.as_deref(), Some(folder.path()));
        assert_eq!((view.episodes, view.frames, view.running), (1, 5, None));
        let id = view.discarded.unwrap().id;
        (link.order)(RecordOrder::Recover(id)).unwrap();
        (link.order)(RecordOrder::Close).unwrap();
        let closed = wait(&link, |view| view.root.is_none() && view.episodes == 2);
        assert_eq!((closed.frames, closed.trouble), (6, None));
        // What comes too late is left undone.
        (link.order)(RecordOrder::Begin).unwrap();
        drop(recording);
        assert_eq!(link.view.get().unwrap().running, None);
    }

    #[test]
    fn why_a_data_set_cannot_be_opened_is_shown_and_an_episode_that_runs_at_the_end_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let recording = Recording::start().unwrap();
        let mut link = recording.link();
        (link.order)(RecordOrder::Open(Box::new(plan(&file)))).unwrap();
        let view = wait(&link, |view| view.trouble.is_some());
        assert_eq!(view.root, None);
        let root = folder.path().join("set");
        (link.order)(RecordOrder::Open(Box::new(plan(&root)))).unwrap();
        (link.order)(RecordOrder::Begin).unwrap();
        (0..3)
            .map(step)
            .for_each(|step| (link.order)(step).unwrap());
        drop(recording);
        let left = crate::dataset::left_in(&root).unwrap();
        assert_eq!((left.len(), left[0].0.frames), (1, 3));
        // The next session offers it as long as it can do something about it.
        let recording = Recording::start().unwrap();
        let mut link = recording.link();
        (link.order)(RecordOrder::Open(Box::new(plan(&root)))).unwrap();
        wait(&link, |view| view.interrupted.len() == 1);
        (link.order)(RecordOrder::Close).unwrap();
        let closed = wait(&link, |view| view.root.is_none());
        assert_eq!((closed.interrupted, closed.discarded), (vec![], None));
    }

    #[test]
    fn pictures_that_wait_are_bounded_but_one_step_always_fits() {
        assert!(fits(0, 10 * WAITING_BYTES) && fits(WAITING_BYTES, 0));
        assert!(fits(WAITING_BYTES - 5, 5) && !fits(WAITING_BYTES - 5, 6));
    }
}
