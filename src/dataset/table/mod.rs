//! The tables of a data set: rows, episodes and tasks, read in every dialect and written exactly as LeRobot writes them.
//!
//! Each file is Parquet, compressed by Snappy, which the hub's viewer reads, too.

pub mod episodes;
pub mod rows;
pub mod tasks;

mod array;
mod column;
mod parquet;

pub use column::{Column, Table, Values};
pub use episodes::{Episode, Span};
