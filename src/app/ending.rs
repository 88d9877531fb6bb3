//! How the program ends when it is ended from outside, or by its own fault: Ctrl-C, `kill`, a terminal that closes, a panic
//! of the window. The arm is stopped before anybody else hears of it, and no second signal breaks that off.

use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;
use std::time::Duration;

use crate::runtime::{Halt, Halted};

/// How long a stop may take to be confirmed before the program ends without it.
const STOP_LIMIT: Duration = Duration::from_secs(2);

/// What to tell whoever stands beside an arm that did not confirm its stop.
pub const UNCONFIRMED: &str =
    "The arm did not confirm that it holds. Support it, and switch its power supply off";

/// A signal came.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// The arm that is stopped.
static HALT: Mutex<Option<Halt>> = Mutex::new(None);

/// From now on signals end the program in order.
pub fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // On a thread of its own, one signal after the other: a second one waits until the stop of the first is over.
        if let Err(error) = ctrlc::set_handler(hear) {
            log::warn!("Ctrl-C cannot be caught, it will end the program at once: {error}");
        }
        stop_on_panic();
    });
}

/// From now on the end of the program stops this arm.
pub fn guard(halt: Halt) {
    *HALT.lock().unwrap_or_else(PoisonError::into_inner) = Some(halt);
}

/// The arm was stopped and its loop has ended: there is nothing left to stop.
pub fn over() {
    *HALT.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Whether the program is to end.
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::SeqCst)
}

/// The first signal stops the arm and then ends the program in order; one after that ends it at once, in case something
/// hangs in a driver.
fn hear() {
    let is_first = !INTERRUPTED.swap(true, Ordering::SeqCst);
    if is_first {
        log::info!("ending: whatever is driven is being stopped");
        match stop() {
            Halted::Holding => log::info!("the arm holds. Once more to quit at once"),
            Halted::NoArm => log::info!("no arm is driven. Once more to quit at once"),
            Halted::Unconfirmed => log::error!("{UNCONFIRMED}"),
        }
    } else {
        #[expect(
            clippy::exit,
            reason = "a thread that hangs in a driver cannot be ended"
        )]
        std::process::exit(130);
    }
}

/// A panic of the main thread may end in a window system that does not unwind, and then nothing else would stop the arm.
fn stop_on_panic() {
    let told = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        told(panic);
        if thread::current().name() == Some("main") && stop() == Halted::Unconfirmed {
            log::error!("{UNCONFIRMED}");
        }
    }));
}

fn stop() -> Halted {
    let halt = HALT.lock().unwrap_or_else(PoisonError::into_inner).clone();
    halt.map_or(Halted::NoArm, |halt| halt.stop(STOP_LIMIT))
}
