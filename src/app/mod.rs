//! Wires the rooms together; the only place that sees all of them.

pub mod ending;
#[cfg(feature = "gui")]
mod fault_log;
mod film;
#[cfg(feature = "gui")]
mod gamepad;
#[cfg(feature = "gui")]
mod global_keys;
#[cfg(feature = "gui")]
mod keeper;
mod lab_bench;
pub mod library;
pub mod log;
#[cfg(feature = "gui")]
mod pad;
mod recording;
#[cfg(feature = "gui")]
pub mod session;
mod supply;
mod tabletop;
mod takeoff;
#[cfg(feature = "gui")]
pub mod window;
pub mod wiring;
mod world;
