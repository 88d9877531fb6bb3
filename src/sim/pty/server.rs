//! The thread behind a pseudo-terminal: carries bytes between a client and the pretend servos, each at its moment.

use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use serialport::{SerialPort as _, TTYPort};

use super::{PtyError, Shared, remove_link};
use crate::arm::BAUD_RATE;
use crate::sim::SimArm;
use crate::sim::wire::lock;

/// How long the thread waits for a client's bytes before it looks round; the arm moves on at least this often.
const LOOK: Duration = Duration::from_millis(20);
/// Answers that would be there so soon are handed over at once: a second wake-up for each transaction would cost more on a
/// busy machine than the time on the wire that it pretends.
const EARLY: Duration = Duration::from_millis(2);
/// How often it looks for a client while there is none, and for a cable that is put in again.
const KNOCK: Duration = Duration::from_millis(5);

/// How paths of pseudo-terminals begin, on Linux and on macOS.
const PTY_PATHS: [&str; 2] = ["/dev/pts/", "/dev/ttys"];

/// The servos' end of a pseudo-terminal.
pub(super) struct Socket {
    master: TTYPort,
    device: PathBuf,
}

impl Socket {
    /// Opens a new pseudo-terminal, publishes it and leads the link to it.
    pub fn open(shared: &Shared, link: Option<&Path>) -> Result<Self, PtyError> {
        let no_pty = |error: serialport::Error| PtyError::NoPty(error.to_string());
        let (master, slave) = TTYPort::pair().map_err(no_pty)?;
        let device = PathBuf::from(slave.name().unwrap_or_default());
        // The client opens its end by the path. While nobody has, reads fail, which tells that nobody is there.
        drop(slave);
        if let Some(link) = link {
            relink(link, &device).map_err(|why| PtyError::Link {
                path: link.to_owned(),
                why: why.to_string(),
            })?;
        }
        shared.device.set(device.clone());
        Ok(Self { master, device })
    }

    /// Bytes that a client wrote before it went: a port with nobody at the other end gives them only while it is open
    /// there, so for a moment this end opens the other one too.
    fn leftovers(&mut self) -> Vec<u8> {
        let waiting = self.master.bytes_to_read().unwrap_or(0) as usize;
        if waiting == 0 {
            return Vec::new();
        }
        let path = self.device.to_string_lossy();
        let other = serialport::new(path, BAUD_RATE).exclusive(false).open();
        let mut bytes = vec![0; waiting];
        let count = other.map_or(0, |_held| self.master.read(&mut bytes).unwrap_or(0));
        bytes.truncate(count);
        bytes
    }
}

/// Puts a link to `device` at `link`. Only what an emulator left there is replaced: a link to a pseudo-terminal, or to
/// nothing any more. Whatever else it leads to, a real arm perhaps, is somebody's.
fn relink(link: &Path, device: &Path) -> io::Result<()> {
    let taken = |why: String| Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
    if let Ok(there) = link.symlink_metadata() {
        if !there.is_symlink() {
            return taken("there is something that is no link".to_owned());
        }
        let target = link.read_link()?;
        let is_pty = PTY_PATHS
            .iter()
            .any(|at| target.to_string_lossy().starts_with(at));
        if link.exists() && !is_pty {
            return taken(format!("there is a link to {}", target.display()));
        }
        if link.exists() && target != device {
            log::warn!(
                "{} led to {}; if that is another emulator, its arm is reached by that path only now",
                link.display(),
                target.display()
            );
        }
        std::fs::remove_file(link)?;
    }
    std::os::unix::fs::symlink(device, link)
}

/// Why a port is given up.
enum End {
    /// It is to end.
    Told,
    /// The cable was pulled.
    Unplugged,
}

pub(super) struct Server {
    arm: SimArm,
    shared: Arc<Shared>,
    link: Option<PathBuf>,
}

impl Server {
    pub fn new(arm: SimArm, shared: Arc<Shared>, link: Option<PathBuf>) -> Self {
        Self { arm, shared, link }
    }

    /// Serves until it is told to end, on one port after the other.
    pub fn run(&self, mut socket: Socket) {
        loop {
            let device = socket.device.clone();
            if matches!(self.serve(socket), End::Told) {
                return;
            }
            self.shared.device.clear();
            self.client(false);
            if let Some(link) = &self.link {
                remove_link(link, &device);
            }
            while self.unplugged() {
                if self.ends() {
                    return;
                }
                thread::sleep(KNOCK);
                self.arm.advance();
            }
            socket = match Socket::open(&self.shared, self.link.as_deref()) {
                Ok(socket) => socket,
                Err(error) => {
                    log::error!("the simulated arm cannot be plugged in again: {error}");
                    return;
                }
            };
        }
    }

    fn ends(&self) -> bool {
        self.shared.ends.load(Ordering::SeqCst)
    }

    fn unplugged(&self) -> bool {
        lock(&self.arm.wire()).disconnected()
    }

    /// Takes note of whether somebody is at the other end.
    fn client(&self, is_there: bool) {
        let was_there = self.shared.connected.swap(is_there, Ordering::SeqCst);
        if is_there && !was_there {
            self.shared.sessions.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Carries bytes both ways until the port has to go.
    fn serve(&self, mut socket: Socket) -> End {
        let mut bytes = [0; 1024];
        let mut somebody = false;
        loop {
            if self.ends() {
                return End::Told;
            }
            // What is written to nobody would be read by the next client.
            let wait = if somebody {
                let next = self.deliver(&mut socket.master);
                next.map_or(LOOK, |at| at.saturating_sub(self.arm.clock().now()))
            } else {
                KNOCK
            };
            if self.unplugged() {
                return End::Unplugged;
            }
            if wait.is_zero() {
                continue;
            }
            if let Err(error) = socket.master.set_timeout(wait.min(LOOK)) {
                log::warn!("the pseudo-terminal takes no timeout: {error}");
            }
            somebody = match socket.master.read(&mut bytes) {
                Ok(count) => {
                    self.client(true);
                    self.receive(&bytes[..count], socket.master.baud_rate());
                    true
                }
                Err(error) if error.kind() == io::ErrorKind::TimedOut => true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => somebody,
                Err(_) => {
                    self.alone(&mut socket);
                    false
                }
            };
        }
    }

    /// Nobody holds the other end.
    fn alone(&self, socket: &mut Socket) {
        let last_words = socket.leftovers();
        if last_words.is_empty() {
            // What the servos still have to say is for nobody, and not for the next client.
            lock(&self.arm.wire()).hang_up();
            self.client(false);
            thread::sleep(KNOCK);
            self.arm.advance();
        } else {
            // Perhaps they are the first ones of a new client: the next look tells, and then it is answered.
            self.client(true);
            self.receive(&last_words, Ok(BAUD_RATE));
        }
    }

    fn receive(&self, bytes: &[u8], baud_rate: serialport::Result<u32>) {
        let wire = self.arm.wire();
        let mut bus = lock(&wire);
        // Where a pseudo-terminal has no rate, it is that of the servos.
        let known = cfg!(target_os = "linux");
        bus.set_baud_rate(baud_rate.ok().filter(|_| known).unwrap_or(BAUD_RATE));
        bus.receive(bytes, self.arm.clock().now());
    }

    /// Brings the arm up to date and writes what has arrived by now; when more will have arrived.
    fn deliver(&self, master: &mut TTYPort) -> Option<Duration> {
        let mut bytes = [0; 1024];
        let (count, next, stall) = {
            let wire = self.arm.wire();
            let mut bus = lock(&wire);
            let now = self.arm.clock().now();
            bus.advance(now);
            let count = bus.deliver(&mut bytes, now + EARLY);
            let stall = if count > 0 {
                bus.stall()
            } else {
                Duration::ZERO
            };
            let next = bus.next_burst().map(|at| at.saturating_sub(EARLY));
            (count, next, stall)
        };
        if count > 0
            && let Err(error) = master.write_all(&bytes[..count])
        {
            // The next read tells whether the client is gone.
            log::debug!("an answer found nobody: {error}");
        }
        if !stall.is_zero() {
            thread::sleep(stall);
        }
        next
    }
}
