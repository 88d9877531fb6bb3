//! The workshop's thread: takes orders, looks at what is open, shows what it sees. It blocks on a port for as long as a servo
//! may take, which neither the control loop nor the window could.

use std::io;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::latest::Latest;
use crate::runtime::workshop::shop::{Shop, Tools};
use crate::runtime::workshop::{Order, WorkshopView};

/// Orders that may wait; a person gives one at a time.
const ORDERS: usize = 32;

/// What the thread is told.
#[derive(Debug)]
enum Word {
    Order(Order),
    /// These ports are the runtime's own from now on.
    Driven(Vec<String>),
}

/// The runtime's end of the workshop. Dropping it ends the thread after what it is doing; ports are closed then.
#[derive(Debug)]
pub struct Workshop {
    words: Sender<Word>,
    view: Latest<WorkshopView>,
}

impl Workshop {
    /// Starts the thread; it touches nothing before its first order.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(tools: Tools) -> io::Result<Self> {
        let (words, heard) = bounded(ORDERS);
        let view = Latest::new();
        let shown = view.clone();
        thread::Builder::new()
            .name("workshop".to_owned())
            .spawn(move || work(Shop::new(tools), &heard, &shown))?;
        Ok(Self { words, view })
    }

    /// Passes an order on without waiting; false when the workshop is too busy to hear it, or has ended.
    pub fn order(&self, order: Order) -> bool {
        self.words.try_send(Word::Order(order)).is_ok()
    }

    /// Says which ports are the runtime's own; false as in [`Workshop::order`].
    pub fn driven(&self, ports: Vec<String>) -> bool {
        self.words.try_send(Word::Driven(ports)).is_ok()
    }

    /// The slot with what it sees.
    pub fn view(&self) -> Latest<WorkshopView> {
        self.view.clone()
    }
}

fn work(mut shop: Shop, words: &Receiver<Word>, shown: &Latest<WorkshopView>) {
    loop {
        match next_word(words, shop.pause()) {
            Ok(Some(Word::Order(order))) => shop.obey(order),
            Ok(Some(Word::Driven(ports))) => shop.leave_alone(ports),
            Ok(None) => shop.turn(),
            Err(()) => return,
        }
        shown.set(shop.view());
    }
}

/// The next thing that was said, or nothing within `pause`. An error when nobody can say anything any more.
fn next_word(words: &Receiver<Word>, pause: Option<Duration>) -> Result<Option<Word>, ()> {
    let Some(pause) = pause else {
        return words.recv().map(Some).map_err(|_closed| ());
    };
    match words.recv_timeout(pause) {
        Ok(word) => Ok(Some(word)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => Err(()),
    }
}
