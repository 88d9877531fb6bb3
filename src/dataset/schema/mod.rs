//! What a data set holds: `meta/info.json`, its features, and where its files lie.
//!
//! Source: `lerobot/datasets/utils.py` and `feature_utils.py` of 0.6.1.

pub mod columns;
mod feature;
pub mod info;
mod place;
mod plan;

pub use feature::{Dtype, Feature, Features};
pub use info::Info;
pub use place::{FilePlace, chunk_file, expand};
pub use plan::{camera_key, canonical_codec, mismatch};
