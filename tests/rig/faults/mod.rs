//! The 32 things that go wrong with an arm on a bus, each on the real driver and the whole runtime against pretend servos.
//! What must not happen is asked of the servos' own log. Rows 1, 4 to 10 are the wire, the others the things behind it.

mod ending;
mod leader;
mod meeting;
mod pace;
mod servo;
#[cfg(unix)]
mod signals;
mod silence;
mod wire;
