//! Keys that work while another window is in front, and the only file that names `global_hotkey`. A foot pedal sends such a
//! key, too. The stop goes straight to the emergency stop, past the window.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crossbeam_channel::{Sender, bounded};
use global_hotkey::hotkey::{Code, HotKey};
use global_hotkey::{Error, GlobalHotKeyEvent, GlobalHotKeyManager, HotKeyState};

use crate::app::gamepad::Stop;
use crate::latest::Latest;
use crate::runtime::Command;
use crate::ui::InputStatus;

/// The keys that are wanted: stop, takeover. Empty is none.
pub type Wanted = [String; 2];

/// How the keys are, in the same order.
pub type Status = [InputStatus; 2];

/// Holds the keys.
pub struct GlobalKeys {
    wanted: Wanted,
    status: Latest<Status>,
    place: Place,
}

/// Where the keys are held.
enum Place {
    /// On a thread of their own: under X11 each request waits for an answer, and the window never waits.
    Thread(Sender<Wanted>),
    /// On the window's thread, as Windows and macOS want it.
    Here(Box<Holder>),
    /// Nowhere, and why.
    Nowhere(String),
}

impl GlobalKeys {
    /// Holds no key yet. To be called on the window's thread.
    pub fn new(commands: Sender<Command>, stop: Stop) -> Self {
        let ids = Arc::new([AtomicU32::new(0), AtomicU32::new(0)]);
        hear(Arc::clone(&ids), commands, stop);
        let status = Latest::new();
        Self {
            wanted: Wanted::default(),
            place: place(ids, &status),
            status,
        }
    }

    /// Holds these keys from now on, and no others; true when that changed something.
    pub fn hold(&mut self, wanted: &Wanted) {
        if self.wanted == *wanted {
            return;
        }
        self.wanted.clone_from(wanted);
        match &mut self.place {
            // One that is under way is followed by this one; more than a few are never chosen at once.
            Place::Thread(asks) => {
                if asks.try_send(wanted.clone()).is_err() {
                    log::warn!("the global keys were not changed: their thread is busy or gone");
                }
            }
            Place::Here(holder) => self.status.set(holder.hold(wanted)),
            Place::Nowhere(why) => self.status.set(wanted.each_ref().map(|key| {
                if key.is_empty() {
                    InputStatus::Off
                } else {
                    InputStatus::Inactive(why.clone())
                }
            })),
        }
    }

    /// How they are.
    pub fn status(&self) -> Status {
        self.status
            .get()
            .map_or_else(Status::default, |now| (*now).clone())
    }
}

/// Acts on presses, on whatever thread they arrive; once for the whole program.
fn hear(ids: Arc<[AtomicU32; 2]>, commands: Sender<Command>, stop: Stop) {
    GlobalHotKeyEvent::set_event_handler(Some(move |event: GlobalHotKeyEvent| {
        if event.state != HotKeyState::Pressed {
            return;
        }
        let [stops, takes_over] = ids.each_ref().map(|id| id.load(Ordering::SeqCst));
        let command = match event.id {
            id if id == stops => {
                stop();
                Command::Stop
            }
            id if id == takes_over => Command::Takeover,
            _ => return,
        };
        if commands.try_send(command).is_err() {
            log::warn!("the control thread took no command from a global key");
        }
    }));
}

/// Why the desktop of this session gives keys to no window but the one in front.
fn desktop_obstacle() -> Option<String> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if has("WAYLAND_DISPLAY") {
        let why = "a Wayland session shows keys to the window in front alone; log in to an X11 session, or use a gamepad";
        return Some(why.to_owned());
    }
    (!has("DISPLAY")).then(|| "there is no X11 display".to_owned())
}

fn place(ids: Arc<[AtomicU32; 2]>, status: &Latest<Status>) -> Place {
    if let Some(why) = desktop_obstacle() {
        return Place::Nowhere(why);
    }
    if !cfg!(target_os = "linux") {
        return match Holder::new(ids) {
            Ok(holder) => Place::Here(Box::new(holder)),
            Err(error) => Place::Nowhere(error.to_string()),
        };
    }
    let (asks, asked) = bounded::<Wanted>(8);
    let shown = status.clone();
    let thread = std::thread::Builder::new()
        .name("global keys".to_owned())
        .spawn(move || {
            let mut holder = match Holder::new(ids) {
                Ok(holder) => holder,
                Err(error) => {
                    let why = InputStatus::Inactive(error.to_string());
                    return shown.set([why.clone(), why]);
                }
            };
            // Ends when the window is gone.
            while let Ok(wanted) = asked.recv() {
                shown.set(holder.hold(&wanted));
            }
        });
    match thread {
        Ok(_) => Place::Thread(asks),
        Err(error) => Place::Nowhere(error.to_string()),
    }
}

/// The keys that are held.
struct Holder {
    keys: GlobalHotKeyManager,
    /// Read by whoever hears a press.
    ids: Arc<[AtomicU32; 2]>,
    held: [Option<HotKey>; 2],
}

impl Holder {
    fn new(ids: Arc<[AtomicU32; 2]>) -> Result<Self, Error> {
        Ok(Self {
            keys: GlobalHotKeyManager::new()?,
            ids,
            held: [None; 2],
        })
    }

    fn hold(&mut self, wanted: &Wanted) -> Status {
        for held in self.held.iter_mut().filter_map(Option::take) {
            if let Err(error) = self.keys.unregister(held) {
                log::warn!("a global key was not given back: {error}");
            }
        }
        std::array::from_fn(|index| {
            let key = &wanted[index];
            self.ids[index].store(0, Ordering::SeqCst);
            if key.is_empty() {
                return InputStatus::Off;
            }
            match self.take(key) {
                Ok(taken) => {
                    self.ids[index].store(taken.id(), Ordering::SeqCst);
                    self.held[index] = Some(taken);
                    InputStatus::Active(key.clone())
                }
                Err(why) => InputStatus::Inactive(why),
            }
        })
    }

    fn take(&self, key: &str) -> Result<HotKey, String> {
        let code: Code = key
            .parse()
            .map_err(|error| format!("there is no key called {key} ({error})"))?;
        let key = HotKey::new(None, code);
        self.keys.register(key).map_err(|error| words(&error))?;
        // A connection that has failed takes everything in silence; one that works refuses the same key twice.
        if cfg!(target_os = "linux") && self.keys.register(key).is_ok() {
            return Err("the X11 display does not answer".to_owned());
        }
        Ok(key)
    }
}

fn words(error: &Error) -> String {
    match error {
        Error::AlreadyRegistered(_) => "another program has this key".to_owned(),
        other => other.to_string(),
    }
}
