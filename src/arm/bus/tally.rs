//! What is counted on the line, in all and for each servo: loss is normal here, and its rate tells a bad cable from a good one.

use std::collections::BTreeMap;
use std::time::Duration;

/// What the bus has seen since it was opened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BusCounters {
    /// Requests sent, retries included.
    pub transactions: u64,
    /// Requests sent again because an answer was missing.
    pub retries: u64,
    /// Answer phases with bytes in them that were no valid frame.
    pub corrupt: u64,
    /// Valid frames that nobody had asked for: other id, other length, twice, out of order.
    pub unexpected: u64,
    /// Answers still missing after all retries, by servo id.
    pub lost: BTreeMap<u8, u64>,
}

/// How one servo has answered since the bus was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Answers that came through.
    pub answers: u64,
    /// Answers that did not come, or came damaged; retries count anew.
    pub missed: u64,
    /// When the latest answer came, on the bus's clock.
    pub answered_at: Option<Duration>,
}
