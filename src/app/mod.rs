//! Puts the rooms together: the log, the arm with its cameras, the policy and the runtime.

pub mod log;
