//! What went wrong, since when, and what to do now, in one sentence each.

use std::time::Duration;

/// The kinds of fault, so that panels and tests need not read prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FaultKind {
    /// The bus lost single packets; the run goes on.
    BusRetry,
    /// A joint or the whole bus does not answer; the arm holds.
    BusLost,
    /// Torque could not be switched on, went off by itself, or is off while something wants to drive.
    Arming,
    /// A servo raised an alarm.
    ServoAlarm,
    /// The arm answers, but no calibration fits it.
    Uncalibrated,
    /// What was asked of the workshop, or of the choice of arms, cannot be done now.
    Workshop,
    /// What was asked of the simulated rig, or of a policy that only knows that, cannot be done now.
    Rig,
    /// The leader arm that a person drives by cannot be read; the follower holds.
    LeaderLost,
    /// A servo protects itself from overload; stays until the operator clears it.
    Overload,
    /// A servo is too hot to be driven on.
    Overheat,
    /// The supply gives too few or too many volts.
    Supply,
    /// A part of the arm would come too close to the table or to the arm itself.
    Clearance,
    /// A joint is far behind its goal.
    JointBlocked,
    /// A camera's newest frame is too old; policy paused.
    CameraStale,
    /// A view that the policy needs has no camera.
    CameraMissing,
    /// The policy returned an error.
    PolicyError,
    /// The policy did not answer in time.
    PolicyHung,
    /// The policy's thread ended; it is being restarted.
    PolicyDied,
    /// The policy could not be loaded.
    PolicyLoad,
    /// The policy's actions do not fit this arm or are not numbers.
    BadAction,
    /// The control loop stood still, and the watchdog stopped the arm.
    LoopStalled,
    /// The control loop has ended by a crash; the arm was frozen.
    LoopDied,
    /// The control loop could not keep its rate.
    LateTicks,
    /// No g keeps the plan fresh: the latency is more than half a chunk.
    TooSlow,
    /// What was asked of the recording, or of a replay, cannot be done now.
    Session,
    /// Rows are lost, the disk is nearly full, or an episode cannot be kept.
    Recorder,
    /// Settings could not be read or written.
    Settings,
}

/// One fault as the operator sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// Names the fault in `Command::Acknowledge`.
    pub id: u64,
    /// What sort of thing it is.
    pub kind: FaultKind,
    /// What happened, to which thing.
    pub what: String,
    /// What to do now.
    pub remedy: String,
    /// When it began, on the runtime's clock.
    pub since: Duration,
    /// How often it has been seen.
    pub count: u64,
    /// Whether its cause is still there.
    pub active: bool,
}
