//! Starts a run without a click: torque, then the policy, each as soon as it can be. Only for an arm that the operator
//! named for it: the simulated one, or a real one with `run --arm`.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::latest::Latest;
use crate::runtime::{CameraStatus, Command, Connection, Mode, PolicyStatus, Snapshot};

/// How often the snapshot is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// The thread that starts a run. Dropping it ends the thread.
#[derive(Debug)]
pub struct Takeoff {
    /// Dropped to say stop.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What a start needs next.
#[derive(Debug, PartialEq)]
enum Next {
    Wait,
    Say(Command),
    Done,
}

impl Takeoff {
    /// Starts the thread; it speaks through `commands` like an operator and watches `snapshot`.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(commands: Sender<Command>, snapshot: Latest<Snapshot>) -> io::Result<Self> {
        let (stop, stopped) = bounded(0);
        let thread = thread::Builder::new()
            .name("takeoff".to_owned())
            .spawn(move || take_off(&commands, &snapshot, &stopped))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Takeoff {
    fn drop(&mut self) {
        self.stop = None;
        if self
            .thread
            .take()
            .is_some_and(|thread| thread.join().is_err())
        {
            log::error!("the thread that starts the run had panicked");
        }
    }
}

fn take_off(commands: &Sender<Command>, snapshot: &Latest<Snapshot>, stopped: &Receiver<()>) {
    let mut asked = false;
    let mut first = None;
    while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
        let Some(seen) = snapshot.get() else { continue };
        // What was meant for one arm is not done to another that was chosen meanwhile.
        if first.get_or_insert_with(|| seen.sources.clone()).follower != seen.sources.follower {
            return;
        }
        match next(&seen, asked) {
            Next::Wait => {}
            Next::Say(command) => {
                asked = true;
                // A full channel is tried again at the next look.
                let sent = commands.try_send(command.clone());
                if sent.is_ok() && command == Command::SetMode(Mode::Policy) {
                    return;
                }
            }
            Next::Done => return,
        }
    }
}

/// What is missing until the policy drives. Once the operator does anything about it, the start is theirs; `asked` says
/// that torque was asked for, so that torque lost meanwhile is not switched on behind their back.
fn next(seen: &Snapshot, asked: bool) -> Next {
    if seen.stopped.is_some() || seen.mode != Mode::Hold {
        return Next::Done;
    }
    match seen.connection {
        Connection::Connected { torque: true } => {}
        Connection::Connected { torque: false } if !asked => {
            return Next::Say(Command::EnableTorque);
        }
        _ => return Next::Wait,
    }
    let is_live = |camera: &str| {
        let mut cameras = seen.cameras.iter();
        cameras.any(|view| view.name == camera && view.status == CameraStatus::Live)
    };
    let sees = seen
        .views
        .iter()
        .filter_map(|view| view.camera.as_deref())
        .all(is_live);
    if sees && seen.policy == (PolicyStatus::Ready { busy: false }) {
        Next::Say(Command::SetMode(Mode::Policy))
    } else {
        Next::Wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{CameraView, Stopped, ViewBinding};

    fn seen(torque: bool, policy: PolicyStatus) -> Snapshot {
        Snapshot {
            connection: Connection::Connected { torque },
            policy,
            ..Snapshot::default()
        }
    }

    fn ready() -> PolicyStatus {
        PolicyStatus::Ready { busy: false }
    }

    #[test]
    fn torque_comes_first_and_once() {
        assert_eq!(next(&Snapshot::default(), false), Next::Wait);
        let limp = seen(false, ready());
        assert_eq!(next(&limp, false), Next::Say(Command::EnableTorque));
        assert_eq!(next(&limp, true), Next::Wait);
    }

    #[test]
    fn the_policy_drives_when_it_is_ready_and_sees() {
        let drive = Next::Say(Command::SetMode(Mode::Policy));
        assert_eq!(next(&seen(true, PolicyStatus::Absent), true), Next::Wait);
        assert_eq!(next(&seen(true, ready()), true), drive);
        let camera = |status| CameraView {
            name: "front".into(),
            source: "simulated".into(),
            frame: None,
            age: None,
            rate_hz: 30.0,
            status,
        };
        let with = |status| Snapshot {
            cameras: vec![camera(status)],
            views: vec![ViewBinding {
                view: "observation.images.front".into(),
                camera: Some("front".into()),
            }],
            ..seen(true, ready())
        };
        assert_eq!(next(&with(CameraStatus::Opening), true), Next::Wait);
        assert_eq!(next(&with(CameraStatus::Live), true), drive);
    }

    #[test]
    fn whoever_stops_or_drives_has_the_start() {
        let stopped = Snapshot {
            stopped: Some(Stopped {
                by: "the operator".into(),
                since: Duration::ZERO,
                acknowledged: true,
            }),
            ..seen(true, ready())
        };
        assert_eq!(next(&stopped, true), Next::Done);
        let jogging = Snapshot {
            mode: Mode::Jog,
            ..seen(true, ready())
        };
        assert_eq!(next(&jogging, true), Next::Done);
    }
}
