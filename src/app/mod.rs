//! Wires the rooms together; the only place that sees all of them.

#[cfg(feature = "gui")]
pub mod window;
