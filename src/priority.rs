//! Which thread goes first when all want the processor: the arm's loop before everything.
//!
//! Inference on the CPU (or on a software adapter) keeps every core busy for seconds. The loop that drives the arm sleeps nearly
//! all the time and must wake at once, so that it asks for the system's real-time class, or else for a better place in the
//! usual one. Nothing here fails: what was granted is said, and that is all.
//!
//! On two crowded cores a real-time loop began at most 1.1 ms late, a usual one up to 480 ms. Inference at nice 5 or 10 made
//! neither the loop nor the window more punctual, and lost three quarters of its speed to other programs; it stays where it is.

use std::fmt;

use serde::Serialize;
use thread_priority::{ThreadPriority, ThreadPriorityValue};

/// Among real-time threads of Linux 1 to 99, where the kernel's own interrupt threads are at 50 and must stay ahead; of macOS
/// 15 to 47, where 31 is what everybody has.
const ARM: u8 = 40;

/// In the usual class of Linux nice −10 (it maps 99 to −20 and 0 to 19).
#[cfg(not(any(windows, target_os = "macos")))]
const ARM_USUAL: u8 = 73;
/// Of macOS as above; of Windows "highest".
#[cfg(target_os = "macos")]
const ARM_USUAL: u8 = ARM;
#[cfg(windows)]
const ARM_USUAL: u8 = 90;

/// Nice 0 on Linux, what everybody has on macOS, normal on Windows.
#[cfg(not(any(windows, target_os = "macos")))]
const USUAL: u8 = 48;
#[cfg(target_os = "macos")]
const USUAL: u8 = 31;
#[cfg(windows)]
const USUAL: u8 = 50;

/// Nice 11 on Linux, utility on macOS, below normal on Windows.
#[cfg(not(windows))]
const PATIENT: u8 = 20;
#[cfg(windows)]
const PATIENT: u8 = 30;

/// How long a thread's work can wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Not at all: the arm's loop, its watchdog, the leader's bus.
    Arm,
    /// As anything else. For threads that an urgent one starts, because they begin with its priority.
    Usual,
    /// After everything else of this machine: what may take as long as it takes.
    Patient,
}

/// What the system granted to a thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Granted {
    /// It runs before every usual thread of the machine.
    Realtime,
    /// It has a larger share than usual threads.
    Raised,
    /// It is one of many.
    Usual,
    /// It has a smaller share than usual threads.
    Lowered,
    /// It is one of many because the system refused more, in the system's words.
    Refused(String),
}

impl fmt::Display for Granted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Realtime => f.write_str("real-time"),
            Self::Raised => f.write_str("before usual threads"),
            Self::Usual => f.write_str("usual"),
            Self::Lowered => f.write_str("after usual threads"),
            Self::Refused(why) => write!(f, "usual ({why})"),
        }
    }
}

/// Asks for a place for the calling thread, and for all threads that it will start.
pub fn claim(urgency: Urgency) -> Granted {
    match urgency {
        Urgency::Arm => first_granted(&[
            (Granted::Realtime, &|| set_realtime(ARM)),
            (Granted::Raised, &|| set_usual(ARM_USUAL)),
        ]),
        Urgency::Usual => first_granted(&[(Granted::Usual, &|| set_usual(USUAL))]),
        Urgency::Patient => first_granted(&[(Granted::Lowered, &|| set_usual(PATIENT))]),
    }
}

/// What a thread of that urgency would get on this machine, tried on a thread of its own.
pub fn would_get(urgency: Urgency) -> Granted {
    let tried = std::thread::Builder::new()
        .name("priority".to_owned())
        .spawn(move || claim(urgency));
    let granted = tried.map(std::thread::JoinHandle::join);
    match granted {
        Ok(Ok(granted)) => granted,
        Ok(Err(_)) | Err(_) => Granted::Refused("no thread to try it on".to_owned()),
    }
}

/// A way to a place.
type Attempt<'a> = (Granted, &'a dyn Fn() -> Result<(), String>);

/// The first place that the system grants; the first refusal's words if it grants none.
fn first_granted(attempts: &[Attempt<'_>]) -> Granted {
    let mut refused = None;
    for (granted, ask) in attempts {
        match ask() {
            Ok(()) => return granted.clone(),
            Err(why) => {
                refused.get_or_insert(why);
            }
        }
    }
    refused.map_or(Granted::Usual, Granted::Refused)
}

fn value(place: u8) -> Result<ThreadPriority, String> {
    ThreadPriorityValue::try_from(place).map(ThreadPriority::Crossplatform)
}

#[cfg(unix)]
fn set_realtime(place: u8) -> Result<(), String> {
    use thread_priority::RealtimeThreadSchedulePolicy::RoundRobin;
    set(
        place,
        thread_priority::ThreadSchedulePolicy::Realtime(RoundRobin),
    )
}

#[cfg(unix)]
fn set_usual(place: u8) -> Result<(), String> {
    use thread_priority::NormalThreadSchedulePolicy::Other;
    set(place, thread_priority::ThreadSchedulePolicy::Normal(Other))
}

#[cfg(unix)]
fn set(place: u8, class: thread_priority::ThreadSchedulePolicy) -> Result<(), String> {
    let thread = thread_priority::thread_native_id();
    let set = thread_priority::set_thread_priority_and_policy(thread, value(place)?, class);
    set.map_err(|error| words(&error))
}

/// Windows has no such class for single threads.
#[cfg(windows)]
fn set_realtime(_place: u8) -> Result<(), String> {
    Err("this system has no real-time class for threads".to_owned())
}

#[cfg(windows)]
fn set_usual(place: u8) -> Result<(), String> {
    value(place)?
        .set_for_current()
        .map_err(|error| words(&error))
}

/// The system's error by its name, and the way out where there is one.
#[cfg(any(unix, windows))]
fn words(error: &thread_priority::Error) -> String {
    let thread_priority::Error::OS(code) = error else {
        return error.to_string();
    };
    let error = std::io::Error::from_raw_os_error(*code);
    if error.kind() == std::io::ErrorKind::PermissionDenied && cfg!(target_os = "linux") {
        return "not permitted; an rtprio limit for this user in /etc/security/limits.d permits it"
            .to_owned();
    }
    error.to_string()
}

#[cfg(not(any(unix, windows)))]
fn set_realtime(_place: u8) -> Result<(), String> {
    Err("threads have no priorities on this system".to_owned())
}

#[cfg(not(any(unix, windows)))]
fn set_usual(_place: u8) -> Result<(), String> {
    Err("threads have no priorities on this system".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuse(why: &'static str) -> impl Fn() -> Result<(), String> {
        move || Err(why.to_owned())
    }

    #[test]
    fn the_best_that_is_granted_is_taken() {
        let raised = |ask: &dyn Fn() -> Result<(), String>| {
            first_granted(&[
                (Granted::Realtime, &refuse("not permitted")),
                (Granted::Raised, ask),
            ])
        };
        assert_eq!(raised(&|| Ok(())), Granted::Raised);
        let refused = raised(&refuse("not permitted either"));
        assert_eq!(refused, Granted::Refused("not permitted".to_owned()));
        assert_eq!(refused.to_string(), "usual (not permitted)");
        assert_eq!(first_granted(&[]), Granted::Usual);
    }

    /// Whatever it is, the thread that tries keeps its own.
    #[test]
    fn nothing_fails() {
        assert_eq!(would_get(Urgency::Usual), Granted::Usual);
        let patient = would_get(Urgency::Patient);
        assert!(
            matches!(patient, Granted::Lowered | Granted::Refused(_)),
            "{patient:?}"
        );
        let arm = would_get(Urgency::Arm);
        assert!(
            matches!(
                arm,
                Granted::Realtime | Granted::Raised | Granted::Refused(_)
            ),
            "{arm:?}"
        );
    }

    /// The policy's thread is started by the arm's loop and would begin with its place.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_place_is_inherited_and_given_up_again() {
        use thread_priority::{ThreadSchedulePolicy, thread_schedule_policy};
        let is_realtime = || {
            let class = thread_schedule_policy().unwrap();
            matches!(class, ThreadSchedulePolicy::Realtime(_))
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let granted = claim(Urgency::Arm);
                assert_eq!(is_realtime(), granted == Granted::Realtime);
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        assert_eq!(is_realtime(), granted == Granted::Realtime);
                        assert_eq!(claim(Urgency::Usual), Granted::Usual);
                        assert!(!is_realtime());
                    });
                });
            });
        });
    }
}
