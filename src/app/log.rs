//! Log lines go to stderr; where there is a window, the newest are also kept for its log page.

use log::LevelFilter;

/// Sends the log to stderr. `RUST_LOG` chooses what is shown; otherwise this crate's `Info` and everybody's warnings.
/// A second call changes nothing.
pub fn start() {
    let logger = env_logger::Builder::new()
        .filter_level(LevelFilter::Warn)
        .filter_module("smolpilot", LevelFilter::Info)
        .parse_default_env()
        .build();
    let level = logger.filter();
    if install(Box::new(logger)).is_ok() {
        log::set_max_level(level);
    }
}

#[cfg(not(feature = "gui"))]
fn install(logger: Box<dyn log::Log>) -> Result<(), log::SetLoggerError> {
    log::set_boxed_logger(logger)
}

#[cfg(feature = "gui")]
use tail::install;
#[cfg(feature = "gui")]
pub use tail::lines;

#[cfg(feature = "gui")]
mod tail {
    use std::sync::OnceLock;

    use crate::ui::{LogLines, LogTail};

    static LINES: OnceLock<LogLines> = OnceLock::new();

    /// The window's end of the log, once it has been started. There is one reader: each line comes once.
    pub fn lines() -> Option<LogLines> {
        LINES.get().cloned()
    }

    pub(super) fn install(logger: Box<dyn log::Log>) -> Result<(), log::SetLoggerError> {
        let (tail, lines) = LogTail::around(logger);
        log::set_boxed_logger(Box::new(tail))?;
        // The first logger of a program is the only one, so that the slot is empty here.
        LINES.get_or_init(|| lines);
        Ok(())
    }
}
