//! The window without an arm: widgets are found by label, and what counts is the commands they give.

#![cfg(feature = "gui")]

mod fixture;
mod pictures;
