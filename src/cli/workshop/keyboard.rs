//! What a person types, a line at a time, without the arm having to wait for it.

use std::io;
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
    /// Anything was ever said.
    is_heard: bool,
    /// Nothing will be said any more.
    is_over: bool,
}

impl Keyboard {
    /// The terminal, or a script piped in; with `hands_free` nobody is listened to.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn of_stdin(hands_free: bool) -> anyhow::Result<Self> {
        if hands_free {
            return Ok(Self {
                lines: None,
                is_heard: false,
                is_over: false,
            });
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
        Ok(Self::of_lines(lines))
    }

    fn of_lines(lines: Receiver<String>) -> Self {
        Self {
            lines: Some(lines),
            is_heard: false,
            is_over: false,
        }
    }

    /// Nobody will say anything any more, as far as was seen by now.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// The next line, if there is one.
    ///
    /// # Errors
    /// It ended before anything was said: there is neither a terminal nor a script. Says what to do instead.
    pub fn said(&mut self) -> anyhow::Result<Said> {
        let Some(lines) = &self.lines else {
            return Ok(Said::Nothing);
        };
        let line = lines.try_recv();
        self.is_over = line == Err(TryRecvError::Disconnected);
        match line {
            Ok(line) => {
                self.is_heard = true;
                Ok(Said::Line(line))
            }
            Err(TryRecvError::Empty) => Ok(Said::Nothing),
            Err(TryRecvError::Disconnected) if self.is_heard => Ok(Said::End),
            Err(TryRecvError::Disconnected) => bail!(
                "this asks questions and nobody can answer: run it in a terminal, or calibrate with --yes, which goes on by itself when a step is done"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_an_end_only_after_something_was_said() {
        let (send, lines) = bounded(1);
        let mut keyboard = Keyboard::of_lines(lines);
        assert_eq!(keyboard.said().unwrap(), Said::Nothing);
        send.send("b".to_owned()).unwrap();
        assert_eq!(keyboard.said().unwrap(), Said::Line("b".to_owned()));
        drop(send);
        assert_eq!(keyboard.said().unwrap(), Said::End);
        let (_, lines) = bounded(1);
        let silent = Keyboard::of_lines(lines).said().unwrap_err();
        assert!(silent.to_string().contains("nobody can answer"));
    }
}
