//! Recording from the command line: a session beside `run` and `teleop`, and demonstrations by the hundred with `sim record`.

mod args;
mod session;
mod sim;

pub use args::{RecordArgs, ReplayArgs, SimRecordArgs};
pub use session::{Recorded, see_through};
pub use sim::run as sim;
