//! The library behind the window: finds the data sets of this user, reads what is looked at, and does to them what is asked. On
//! threads of its own, so that neither the arm nor the window ever waits for a disk.

mod cover;
mod desk;
mod edits;
mod job;
mod places;
mod shelf;
mod show;
mod work;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Sender, TrySendError, bounded};

use crate::app::library::desk::{Desk, Event};
use crate::latest::Latest;
use crate::runtime::{LibraryLink, LibraryOrder, LibraryView, PolicyLoader};

pub use places::Places;

/// Orders that may wait while one is done; a hand that scrubs gives one a picture.
const ORDERS: usize = 256;

/// The library's thread. Dropping it ends it; a job that runs is cancelled.
#[derive(Debug)]
pub struct Library {
    view: Latest<LibraryView>,
    cancel: Arc<AtomicBool>,
    /// Dropped to end the thread.
    events: Option<Sender<Event>>,
    thread: Option<JoinHandle<()>>,
}

impl Library {
    /// A library of the data sets in `places`. `loader` loads a policy that a record is compared with.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(places: Places, loader: PolicyLoader) -> io::Result<Self> {
        let (view, cancel) = (Latest::new(), Arc::<AtomicBool>::default());
        view.set(LibraryView {
            home: places.home.clone(),
            ..LibraryView::default()
        });
        let (events, heard) = bounded(ORDERS);
        let desk = Desk::new(places, loader, view.clone(), Arc::clone(&cancel));
        let reports = events.clone();
        let thread = thread::Builder::new()
            .name("library".to_owned())
            .spawn(move || desk.serve(&heard, &reports))?;
        Ok(Self {
            view,
            cancel,
            events: Some(events),
            thread: Some(thread),
        })
    }

    /// The runtime's way to it.
    pub fn link(&self) -> Option<LibraryLink> {
        let (events, cancel) = (self.events.clone()?, Arc::clone(&self.cancel));
        let order = move |order| {
            // A job hears it at once, however many orders wait before it.
            if order == LibraryOrder::Cancel {
                cancel.store(true, Ordering::Relaxed);
            }
            if let Err(TrySendError::Full(Event::Order(lost))) =
                events.try_send(Event::Order(order))
            {
                log::warn!("the library is busy: {lost:?} was not done");
            }
        };
        Some(LibraryLink {
            view: self.view.clone(),
            order: Box::new(order),
        })
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
        if let Some(events) = self.events.take() {
            // Without room for it the thread is at work, and ends with the program.
            events.try_send(Event::Leave).ok();
        }
        let Some(thread) = self.thread.take() else {
            return;
        };
        if thread.is_finished() && thread.join().is_err() {
            log::error!("the library's thread had panicked");
        }
    }
}
