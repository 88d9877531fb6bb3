//! smolpilot: the SmolVLA robot policy on any GPU through Burn's wgpu backend, flying an SO-101 arm.
//!
//! Three sentences are the architecture:
//!
//! 1. Tensors live on one thread; the arm and the action queue live on another. Only plain data crosses.
//! 2. The control core is a pure state machine: `tick(now, inputs) -> outputs`, tested on a virtual clock.
//! 3. The window reads an immutable [`runtime::Snapshot`] and speaks only in [`runtime::Command`]s.
//!
//! A room imports only from lower floors; `tests/house` enforces it.
//!
//! ```text
//!  5  main  cli  app            wires everything; the only place that sees all rooms
//!  4  ui    lab                 what the operator sees        |  measured runs without a window
//!  3  runtime  sim  remote  train
//!  2  policy  dataset  scene
//!  1  arm  camera  gpu  hub
//!  0  joint  kinematics  observation  action  clock  latest  priority
//! ```

pub mod action;
pub mod clock;
pub mod joint;
pub mod kinematics;
pub mod latest;
pub mod observation;
pub mod priority;

pub mod arm;
pub mod camera;
pub mod gpu;
pub mod hub;

pub mod dataset;
pub mod policy;
pub mod scene;

pub mod runtime;
pub mod sim;

pub mod lab;

#[cfg(feature = "gui")]
pub mod ui;

pub mod app;
pub mod cli;
