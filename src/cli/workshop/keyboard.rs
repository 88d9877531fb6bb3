//! What a person types, a line at a time, without the arm having to wait for it.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::thread;

use anyhow::bail;
use crossbeam_channel::{Receiver, TryRecvError, bounded};

/// Lines that may wait.
const LINES: usize = 64;

/// What was said since the last look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Nothing,
    /// A line without its end; empty for a bare Enter.
    Line(String),
    /// Nobody will say anything any more.
    End,
}

/// Lines as they are typed.
pub struct Keyboard {
    lines: Option<Receiver<String>>,
}

impl Keyboard {
    /// The terminal, or a script piped in; with `hands_free` nobody is listened to.
    ///
    /// # Errors
    /// There is neither a terminal nor a script; says what to do instead.
    pub fn of_stdin(hands_free: bool) -> anyhow::Result<Self> {
        if hands_free {
            return Ok(Self { lines: None });
        }
        let stdin = io::stdin();
        if !stdin.is_terminal() && stdin.lock().fill_buf().is_ok_and(<[u8]>::is_empty) {
            bail!(
                "this asks questions and nobody can answer: run it in a terminal, or calibrate with --yes, which goes on by itself when a step is done"
            );
        }
        let (send, lines) = bounded(LINES);
        // Ends with its input, or with the program.
        thread::Builder::new()
            .name("keyboard".to_owned())
            .spawn(move || {
                for line in io::stdin().lines() {
                    let Ok(line) = line else { return };
                    if send.send(line.trim().to_owned()).is_err() {
                        return;
                    }
                }
            })?;
        Ok(Self { lines: Some(lines) })
    }

    /// The next line, if there is one.
    pub fn said(&self) -> Said {
        let Some(lines) = &self.lines else {
            return Said::Nothing;
        };
        match lines.try_recv() {
            Ok(line) => Said::Line(line),
            Err(TryRecvError::Empty) => Said::Nothing,
            Err(TryRecvError::Disconnected) => Said::End,
        }
    }
}
