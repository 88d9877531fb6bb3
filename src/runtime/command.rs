//! What the operator can ask for. The window sends these and then waits to see them happen in the snapshot.

use crate::arm::Role;
use crate::joint::Joint;
use crate::runtime::workshop::Order;
use crate::runtime::{
    Aggregate, ArmSource, Drive, LabOrder, LibraryOrder, Mode, ReplayPlan, RigOrder, RtcKnobs,
    Scheduling, SessionOrder,
};

/// One request to the control thread, applied at the start of its next tick.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// The operator wants another driver: hold the pose, let the policy drive, follow the leader, or jog by hand.
    SetMode(Mode),
    /// A person takes over in mid-run: with the leader if there is one, else by jogging. Said again while a person drives:
    /// back to whom they took over from.
    Takeover,
    /// The operator hit stop: goal = present position, latched until `Resume`. (The stop button also sets `EStop`.)
    Stop,
    /// The operator releases the stop latch; the arm goes on holding.
    Resume,
    /// The operator typed a task; applies in mid-run, the queue of the old task is dropped.
    SetTask(String),
    /// The operator turned one knob.
    Set(Knob),
    /// The operator asks a joint to go to a goal in robot units (jog mode only); limits set the speed.
    JogTo(Joint, f32),
    /// A hand pushes joints or the gripper's tip (jog mode only). Holds for [`DEAD_MAN`](crate::runtime::DEAD_MAN), so that
    /// it must be renewed; all zero is a hand that lets go.
    Drive(Drive),
    /// The operator wants the arm folded up slowly, to hold there.
    Park,
    /// As `Park`, and torque off at the end: the arm sinks a little instead of falling. A stop breaks it off.
    ParkAndRelease,
    /// The operator wants torque on: the arming sequence, from the present pose.
    EnableTorque,
    /// The operator wants torque off and was warned that the arm drops.
    ReleaseTorque,
    /// The operator chose another policy (directory, hub id or `demo`); the arm holds meanwhile.
    LoadPolicy(String),
    /// The operator no longer wants to wait for the policy that is being loaded; there is none then.
    CancelLoad,
    /// The operator picked the data set whose statistics are right, after a load that was refused with a list.
    ChooseStats(String),
    /// The operator wants the failed or hung policy started again.
    RestartPolicy,
    /// The operator bound a camera (by name) to a view of the checkpoint, or unbound it.
    BindView {
        view: String,
        camera: Option<String>,
    },
    /// The operator has seen to what this joint complained of: its latched alarm is over. A gripper that is still overloaded
    /// goes limp for a moment, which clears it.
    ClearAlarm(Joint),
    /// The operator has read this fault; it goes away if its cause has.
    Acknowledge(u64),
    /// The operator wants something of the simulated rig: another table, slow motion, a cube elsewhere.
    Rig(RigOrder),
    /// The operator wants something measured in the lab, or no longer.
    Lab(LabOrder),
    /// The operator wants something of the recording.
    Session(SessionOrder),
    /// The operator wants something of the data sets on disk.
    Library(LibraryOrder),
    /// The operator wants recorded actions gone through again; the way to the first of them is slow.
    Replay(Box<ReplayPlan>),
    /// The operator chose the arm in this role, or none. One that holds is not let go.
    UseArm(Role, Option<ArmSource>),
    /// The operator wants something of the workshop.
    Workshop(Order),
    /// The program is closing: hold, park nothing, end the threads.
    Shutdown,
}

/// One knob and its new value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Knob {
    Scheduling(Scheduling),
    ChunkSizeThreshold(f32),
    AutoThreshold(bool),
    NActionSteps(usize),
    ActionsPerChunk(usize),
    Aggregate(Aggregate),
    BlendSteps(Option<usize>),
    NumSteps(usize),
    Epsilon(Option<f32>),
    Fps(f32),
    Rtc(RtcKnobs),
}
