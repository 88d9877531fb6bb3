//! A pretend arm behind a real serial port: a pseudo-terminal whose path any program can open, LeRobot too.
//!
//! Clients come and go, at the rate that they set; a cable that a fault pulled out is a port that is gone, and comes back
//! under another number. A link gives it one name for good.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use crate::latest::Latest;
use crate::sim::SimArm;

/// A port that is served by a thread of its own. Dropping it closes the port; the arm remains.
#[derive(Debug)]
pub struct Pty {
    shared: Arc<Shared>,
    link: Option<PathBuf>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread tells and is told.
#[derive(Debug, Default)]
struct Shared {
    ends: AtomicBool,
    connected: AtomicBool,
    sessions: AtomicU64,
    /// The present device; empty while the cable is out.
    device: Latest<PathBuf>,
}

/// Why there is no port.
#[derive(Debug, thiserror::Error)]
pub enum PtyError {
    #[error(
        "this system has no pseudo-terminals to serve an arm on: use Linux or macOS, or the simulated arm inside the program"
    )]
    Unsupported,
    #[error("the system gives no pseudo-terminal: {0}")]
    NoPty(String),
    #[error("the system gives no thread for a pseudo-terminal: {0}")]
    NoThread(io::Error),
    #[error(
        "cannot make {} a link to the port: {why}. Remove what is there, or choose another --link",
        path.display()
    )]
    Link { path: PathBuf, why: String },
}

impl Pty {
    /// Serves `arm`, whose clock must be a real one. A link at `link` will always lead to the port.
    ///
    /// # Errors
    /// There are no pseudo-terminals or none is left, or the link cannot be made.
    #[cfg(unix)]
    pub fn start(arm: SimArm, link: Option<PathBuf>) -> Result<Self, PtyError> {
        let shared = Arc::new(Shared::default());
        let socket = server::Socket::open(&shared, link.as_deref())?;
        let server = server::Server::new(arm, Arc::clone(&shared), link.clone());
        let thread = std::thread::Builder::new()
            .name("sim pty".to_owned())
            .spawn(move || server.run(socket))
            .map_err(PtyError::NoThread)?;
        Ok(Self {
            shared,
            link,
            thread: Some(thread),
        })
    }

    /// There are no pseudo-terminals on this system.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(unix))]
    pub fn start(_arm: SimArm, _link: Option<PathBuf>) -> Result<Self, PtyError> {
        Err(PtyError::Unsupported)
    }

    /// What to open: the link if there is one, else the device, which is gone while the cable is out.
    pub fn path(&self) -> Option<PathBuf> {
        let device = || self.shared.device.get().map(|path| PathBuf::clone(&path));
        self.link.clone().or_else(device)
    }

    /// Whether a client holds the port open.
    pub fn is_connected(&self) -> bool {
        self.shared.connected.load(Ordering::SeqCst)
    }

    /// How many clients have come so far.
    pub fn sessions(&self) -> u64 {
        self.shared.sessions.load(Ordering::SeqCst)
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            log::error!("the thread of a pseudo-terminal had panicked");
        }
        if let (Some(link), Some(device)) = (&self.link, self.shared.device.get()) {
            remove_link(link, &device);
        }
    }
}

/// Takes away the link to `device`, unless somebody has put something else in its place.
fn remove_link(link: &Path, device: &Path) {
    let is_ours = link.read_link().is_ok_and(|target| target == device);
    if is_ours && let Err(error) = std::fs::remove_file(link) {
        log::warn!("cannot remove the link {}: {error}", link.display());
    }
}

#[cfg(unix)]
mod server;

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::time::Duration;

    use super::*;
    use crate::arm::packet::{BROADCAST, Instruction, instruction_frame, status_frame};
    use crate::arm::{BAUD_RATE, Port, open_port};
    use crate::clock::Clock;
    use crate::joint::Joint;
    use crate::sim::Fault;

    /// Longer than anything takes on a busy machine; reached only when the test fails.
    const LIMIT: Duration = Duration::from_secs(20);

    fn served() -> (SimArm, Pty) {
        let arm = SimArm::new(Clock::real());
        let pty = Pty::start(arm.clone(), None).unwrap();
        (arm, pty)
    }

    fn client(pty: &Pty) -> Port {
        let mut port = open_port(pty.path().unwrap().to_str().unwrap()).unwrap();
        port.set_timeout(LIMIT).unwrap();
        // As every driver begins.
        port.clear(serialport::ClearBuffer::Input).unwrap();
        port
    }

    fn ping(port: &mut Port, id: u8) {
        let frame = instruction_frame(id, Instruction::Ping, &[]);
        port.write_all(&frame).unwrap();
        let mut answer = [0; 6];
        port.read_exact(&mut answer).unwrap();
        assert_eq!(answer.as_slice(), status_frame(id, 0, &[]));
    }

    fn until(clock: &Clock, what: &str, condition: impl Fn() -> bool) {
        let end = clock.now() + LIMIT;
        while !condition() {
            assert!(clock.now() < end, "never {what}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn clients_come_and_go() {
        let (arm, pty) = served();
        for session in 1..=5 {
            let mut port = client(&pty);
            ping(&mut port, 2);
            ping(&mut port, 6);
            assert!(pty.is_connected());
            drop(port);
            until(arm.clock(), "left", || !pty.is_connected());
            assert_eq!(pty.sessions(), session);
        }
        assert_eq!(arm.traffic().requests, 10);
    }

    #[test]
    fn what_a_client_says_last_is_still_obeyed() {
        let (arm, pty) = served();
        for _ in 0..20 {
            let mut port = client(&pty);
            let on = instruction_frame(3, Instruction::Write, &[40, 1]);
            port.write_all(&on).unwrap();
            port.read_exact(&mut [0; 6]).unwrap();
            assert!(arm.torque(Joint::ElbowFlex));
            let off = instruction_frame(BROADCAST, Instruction::Write, &[40, 0]);
            port.write_all(&off).unwrap();
            drop(port);
            until(arm.clock(), "limp", || !arm.torque(Joint::ElbowFlex));
            until(arm.clock(), "left", || !pty.is_connected());
        }
    }

    #[test]
    fn an_answer_that_nobody_fetched_is_not_for_the_next_client() {
        let (arm, pty) = served();
        for round in 0..20 {
            let mut port = client(&pty);
            let frame = instruction_frame(2, Instruction::Ping, &[]);
            port.write_all(&frame).unwrap();
            drop(port);
            let heard = || pty.sessions() > 2 * round;
            until(arm.clock(), "left", || heard() && !pty.is_connected());
            let mut port = client(&pty);
            ping(&mut port, 6);
            assert_eq!(port.bytes_to_read().unwrap(), 0);
            drop(port);
            until(arm.clock(), "left", || !pty.is_connected());
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn servos_do_not_hear_a_client_at_another_rate() {
        let (_arm, pty) = served();
        let mut port = client(&pty);
        port.set_baud_rate(115_200).unwrap();
        port.write_all(&instruction_frame(2, Instruction::Ping, &[]))
            .unwrap();
        port.set_timeout(Duration::from_millis(30)).unwrap();
        let silence = port.read(&mut [0; 6]).unwrap_err();
        assert_eq!(silence.kind(), io::ErrorKind::TimedOut);
        port.set_timeout(LIMIT).unwrap();
        port.set_baud_rate(BAUD_RATE).unwrap();
        ping(&mut port, 2);
    }

    #[test]
    fn a_pulled_cable_is_a_lost_port_and_the_link_finds_the_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("arm");
        let arm = SimArm::new(Clock::real());
        let pty = Pty::start(arm.clone(), Some(link.clone())).unwrap();
        assert_eq!(pty.path(), Some(link.clone()));
        let before = link.read_link().unwrap();
        let mut port = client(&pty);
        ping(&mut port, 1);
        arm.inject(Fault::Disconnect);
        assert!(port.read(&mut [0; 6]).is_err());
        until(arm.clock(), "gone", || link.symlink_metadata().is_err());
        arm.heal();
        until(arm.clock(), "back", || link.symlink_metadata().is_ok());
        assert_ne!(
            link.read_link().unwrap(),
            before,
            "the old one is held open"
        );
        ping(&mut client(&pty), 1);
        drop(pty);
        assert!(link.symlink_metadata().is_err());
    }

    #[test]
    fn a_link_never_replaces_what_is_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notes.txt");
        std::fs::write(&file, "mine").unwrap();
        let arm = SimArm::new(Clock::real());
        let why = Pty::start(arm.clone(), Some(file.clone())).unwrap_err();
        assert!(why.to_string().contains("notes.txt"), "{why}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
        let link = folder.path().join("arm");
        std::os::unix::fs::symlink("/nowhere", &link).unwrap();
        let _pty = Pty::start(arm.clone(), Some(link.clone())).unwrap();
        assert!(link.exists());
        let to_file = folder.path().join("to-file");
        std::os::unix::fs::symlink(&file, &to_file).unwrap();
        let why = Pty::start(arm, Some(to_file.clone())).unwrap_err();
        assert!(why.to_string().contains("a link to"), "{why}");
        assert_eq!(to_file.read_link().unwrap(), file);
    }

    /// A second emulator with the link of the first took it along when it ended, and the first one took away the second's.
    #[test]
    fn a_port_that_goes_leaves_the_link_of_another_one() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("arm");
        let start = || Pty::start(SimArm::new(Clock::real()), Some(link.clone())).unwrap();
        let (first, second) = (start(), start());
        let target = link.read_link().unwrap();
        drop(first);
        assert_eq!(link.read_link().unwrap(), target);
        drop(second);
        assert!(link.symlink_metadata().is_err());
    }
}
