//! Log lines go to stderr, and the newest few hundred stay in memory so that the window can show them.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use log::{Level, LevelFilter, Log, Metadata, Record};

/// How many lines stay in memory.
const KEPT_LINES: usize = 500;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Counts the lines since the program started.
    pub seq: u64,
    /// Time since the program started logging.
    pub at: Duration,
    pub level: Level,
    /// The room that wrote it: `smolpilot::camera`.
    pub target: String,
    pub text: String,
}

/// The newest lines, oldest first; reading takes no lock.
pub type LogLines = Arc<VecDeque<Arc<LogLine>>>;

static RING: LazyLock<Ring> = LazyLock::new(|| Ring::new(KEPT_LINES));

/// Sends the log to stderr and to memory. `RUST_LOG` chooses what is shown; otherwise this crate's `Info` and
/// everybody's warnings. A second call changes nothing.
pub fn start() {
    let stderr = env_logger::Builder::new()
        .filter_level(LevelFilter::Warn)
        .filter_module("smolpilot", LevelFilter::Info)
        .parse_default_env()
        .build();
    log::set_max_level(stderr.filter());
    if log::set_boxed_logger(Box::new(Tee { stderr })).is_err() {
        log::debug!("the log had been started before");
    }
}

/// The newest lines, oldest first.
pub fn recent() -> LogLines {
    RING.lines.load_full()
}

/// Writes every record that passes the filter twice.
struct Tee {
    stderr: env_logger::Logger,
}

impl Log for Tee {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.stderr.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        if self.stderr.matches(record) {
            self.stderr.log(record);
            RING.push(record.level(), record.target(), record.args().to_string());
        }
    }

    fn flush(&self) {
        self.stderr.flush();
    }
}

/// A bounded list that writers replace and readers share.
struct Ring {
    start: Instant,
    kept: usize,
    lines: ArcSwap<VecDeque<Arc<LogLine>>>,
}

impl Ring {
    fn new(kept: usize) -> Self {
        Self {
            start: Instant::now(),
            kept,
            lines: ArcSwap::default(),
        }
    }

    /// Appends a line and drops the oldest beyond the bound; writers on other threads retry, none waits.
    fn push(&self, level: Level, target: &str, text: String) {
        let at = self.start.elapsed();
        let line = LogLine {
            seq: 0,
            at,
            level,
            target: target.to_owned(),
            text,
        };
        self.lines.rcu(|old| {
            let mut lines = VecDeque::clone(old);
            let seq = lines.back().map_or(0, |last| last.seq + 1);
            lines.push_back(Arc::new(LogLine {
                seq,
                ..line.clone()
            }));
            while lines.len() > self.kept {
                lines.pop_front();
            }
            lines
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_lines_are_kept_and_numbered() {
        let ring = Ring::new(3);
        for n in 0..5 {
            ring.push(Level::Info, "camera", format!("line {n}"));
        }
        let lines = ring.lines.load_full();
        let seen: Vec<_> = lines
            .iter()
            .map(|line| (line.seq, line.text.as_str()))
            .collect();
        assert_eq!(seen, [(2, "line 2"), (3, "line 3"), (4, "line 4")]);
    }
}
