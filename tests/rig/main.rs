//! The whole runtime, threads and all, against simulated servos that speak packets, with a scripted policy in the place of
//! the network, and with things going wrong.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]

mod bus;
mod faults;
mod flight;
mod operator;
mod policy;
#[cfg(unix)]
mod pty;
mod scripted;
mod slow_motion;
mod soak;
mod stand;
mod teleop;
mod workshop;
