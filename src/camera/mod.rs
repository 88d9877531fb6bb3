//! Cameras: one thread each, the newest frame wins, and a lost camera says so instead of repeating its last picture.

mod feed;

pub use feed::{Feed, FeedState};
