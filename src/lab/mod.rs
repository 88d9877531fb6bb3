//! Repeatable measured runs without a window: the same seeded episodes under other knobs and latencies, on a virtual clock.

mod compare;
mod course;
mod eyes;
mod findings;
mod flight;
mod grid;
mod meter;
mod pilot;
mod plot;
mod report;
mod row;
mod runner;
mod scenario;
mod seat;
mod studio;
mod table;
mod take;

pub use compare::{Asked, CompareError, Comparison, Question, compare};
pub use course::{Course, EpisodeRow, Runs};
pub use flight::{Error, Flight, Plan};
pub use grid::{Grid, Section, Setting};
pub use meter::{Measures, TracePoint};
pub use pilot::Pilot;
pub use plot::comparison as draw_comparison;
pub use report::Report;
pub use row::Row;
pub use runner::{Progress, Runner};
pub use scenario::{Outcome, Scenario};
pub use studio::Studio;
pub use take::{Demonstration, Take};
