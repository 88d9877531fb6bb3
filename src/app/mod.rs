//! Wires the rooms together; the only place that sees all of them.

pub mod log;
#[cfg(feature = "gui")]
pub mod window;
