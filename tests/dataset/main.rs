//! Recording against what can happen to a machine: the program is killed at any moment, again and again, and nothing that was said
//! to be saved may be lost.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on shall stop")]

mod child;
mod kill;
mod toll;
mod truth;
