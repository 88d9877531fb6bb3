//! Brings the program's log lines to the window without a lock: a bounded queue that drops rather than waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use log::{Level, Log, Metadata, Record};

/// Lines that may wait between two looks of the window.
const QUEUE: usize = 1024;

/// One line of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct LogLine {
    pub level: Level,
    /// Since the logger was made.
    pub at: Duration,
    /// The room that speaks, without the crate's name.
    pub target: String,
    pub text: String,
}

/// A logger that passes every record on to another one and a copy of it to the window.
pub struct LogTail {
    inner: Box<dyn Log>,
    lines: Sender<LogLine>,
    start: Instant,
    dropped: Arc<AtomicU64>,
}

/// The window's end of a [`LogTail`].
#[derive(Clone)]
pub struct LogLines {
    lines: Receiver<LogLine>,
    dropped: Arc<AtomicU64>,
}

impl LogTail {
    /// Wraps a logger. Install the first with `log::set_boxed_logger`, give the second to the window.
    pub fn around(inner: Box<dyn Log>) -> (Self, LogLines) {
        let (sender, receiver) = bounded(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let tail = Self {
            inner,
            lines: sender,
            start: Instant::now(),
            dropped: Arc::clone(&dropped),
        };
        let lines = LogLines {
            lines: receiver,
            dropped,
        };
        (tail, lines)
    }
}

impl LogLines {
    /// The next line, if one has come.
    pub fn next(&self) -> Option<LogLine> {
        self.lines.try_recv().ok()
    }

    /// Lines that were lost since the last call because the window did not look in time.
    pub fn take_dropped(&self) -> u64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }
}

impl Log for LogTail {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.inner.enabled(metadata)
    }

    fn log(&self, record: &Record<'_>) {
        if !self.inner.enabled(record.metadata()) {
            return;
        }
        self.inner.log(record);
        let target = record.target();
        let line = LogLine {
            level: record.level(),
            at: self.start.elapsed(),
            target: target
                .strip_prefix("smolpilot::")
                .unwrap_or(target)
                .to_owned(),
            text: record.args().to_string(),
        };
        if self.lines.try_send(line).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn flush(&self) {
        self.inner.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Everything;

    impl Log for Everything {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn log(&self, _: &Record<'_>) {}
        fn flush(&self) {}
    }

    fn say(tail: &LogTail, text: &str) {
        tail.log(
            &Record::builder()
                .level(Level::Warn)
                .target("smolpilot::arm")
                .args(format_args!("{text}"))
                .build(),
        );
    }

    #[test]
    fn lines_arrive_and_a_flood_is_counted_not_waited_for() {
        let (tail, lines) = LogTail::around(Box::new(Everything));
        say(&tail, "joint 3 does not answer");
        let line = lines.next().unwrap();
        assert_eq!((line.target.as_str(), line.level), ("arm", Level::Warn));
        for _ in 0..QUEUE + 7 {
            say(&tail, "again");
        }
        assert_eq!(lines.take_dropped(), 7);
        assert_eq!(lines.take_dropped(), 0);
    }
}
