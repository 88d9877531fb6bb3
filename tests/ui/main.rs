//! The window without an arm: widgets are found by label, and what counts is the commands they give.

#![cfg(feature = "gui")]

mod driving;
mod fixture;
mod health;
mod lab;
mod library;
mod looking;
mod person;
mod pictures;
mod recorded;
mod recording;
mod rig;
mod table;
mod teleop;
mod trouble;
mod tuning;
mod workshop;
