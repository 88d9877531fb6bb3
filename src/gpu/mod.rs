//! Which processor computes: finds adapters, opens one, says which and why, and counts what it is made to do.

mod adapter;
mod arithmetic;
mod choice;
pub mod compute;
mod count;
mod error;
pub mod kernels;
mod open;
pub mod shaders;

pub use adapter::{Adapter, AdapterKind, adapters};
pub use arithmetic::{Arithmetic, Kernels, Precision, Wish};
pub use choice::DeviceChoice;
pub use count::{
    Copies, DeviceMemory, DriverMemory, LaunchTimes, LaunchWatch, Launches, copies, count_launches,
    driver_memory, memory, note_read_back, note_upload, time_launches,
};
pub use error::Error;
pub use open::{OpenedDevice, open, open_for, words as panic_words};
