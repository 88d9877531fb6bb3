//! The pretend rig as one thing: an arm on an in-memory bus, the table before it, and two cameras that see both.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};

use crate::arm::{Arm, Bounds, Options, Role};
use crate::camera::Feed;
use crate::clock::Clock;
use crate::joint::JointVec;
use crate::latest::Latest;
use crate::runtime::{Connector, ResetScene};
use crate::scene::Props;
use crate::sim::{CameraSettings, Gesture, SimArm, SimCameras, Table};

/// What the pretend leader is called.
pub const LEADER: &str = "simulated leader";
/// How often the table follows the arm.
const PERIOD: Duration = Duration::from_millis(16);

/// What can be asked of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    Reset,
}

/// The running pretend rig. Dropping it ends its threads.
#[derive(Debug)]
pub struct World {
    arm: SimArm,
    props: Latest<Props>,
    cameras: SimCameras,
    /// Dropped to end the table's thread.
    asks: Option<Sender<Ask>>,
    table: Option<JoinHandle<()>>,
}

impl World {
    /// Starts a rig whose cubes lie where `seed` puts them.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(clock: Clock, seed: u64) -> io::Result<Self> {
        let arm = SimArm::new(clock.clone());
        let joints = arm.pose_feed();
        // The cameras have something to see before the first word on the bus.
        joints.set(arm.pose());
        let table = Table::new(seed);
        let props = Latest::new();
        props.set(table.props());
        let cameras = SimCameras::start(
            clock,
            joints.clone(),
            props.clone(),
            CameraSettings::default(),
        )?;
        let (asks, asked) = bounded(1);
        let shown = props.clone();
        let table = thread::Builder::new()
            .name("sim table".to_owned())
            .spawn(move || follow(table, &joints, &shown, &asked))?;
        Ok(Self {
            arm,
            props,
            cameras,
            asks: Some(asks),
            table: Some(table),
        })
    }

    /// The pretend arm.
    pub fn arm(&self) -> SimArm {
        self.arm.clone()
    }

    /// Front and wrist.
    pub fn feeds(&self) -> Vec<Feed> {
        self.cameras.feeds().to_vec()
    }

    /// What lies on the table.
    pub fn props(&self) -> Latest<Props> {
        self.props.clone()
    }

    /// Puts the cubes back.
    pub fn reset_scene(&self) -> Option<ResetScene> {
        let asks = self.asks.clone()?;
        Some(Box::new(move || match asks.try_send(Ask::Reset) {
            // A reset that is already asked for is enough.
            Ok(()) | Err(TrySendError::Full(_)) => {}
            Err(TrySendError::Disconnected(_)) => log::warn!("the simulated table is gone"),
        }))
    }
}

/// Connects the real driver to a pretend arm.
pub fn connector(arm: SimArm, role: Role, bounds: Bounds) -> Connector {
    Box::new(move || {
        let options = Options {
            role,
            bounds,
            clock: arm.clock().clone(),
            ..Options::default()
        };
        Arm::connect(arm.port(), arm.calibration(), options)
    })
}

/// A pretend leader with a hand that moves it to and fro, so that teleoperation is seen without hardware.
pub fn waving_leader(clock: Clock) -> Connector {
    let leader = SimArm::leader(clock);
    leader.hand(Gesture::Wave);
    connector(leader, Role::Leader, Bounds::default())
}

impl Drop for World {
    fn drop(&mut self) {
        self.asks = None;
        let Some(table) = self.table.take() else {
            return;
        };
        // Whoever still holds a way to reset the scene keeps the thread; it is theirs to end.
        if table.is_finished() && table.join().is_err() {
            log::error!("the thread of the simulated table had panicked");
        }
    }
}

/// Lets the table follow the arm until nobody can ask any more.
fn follow(
    mut table: Table,
    joints: &Latest<JointVec>,
    props: &Latest<Props>,
    asked: &Receiver<Ask>,
) {
    loop {
        let changed = match asked.recv_timeout(PERIOD) {
            Ok(Ask::Reset) => {
                table.reset();
                true
            }
            Err(RecvTimeoutError::Timeout) => joints.get().is_some_and(|pose| table.follow(*pose)),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if changed {
            props.set(table.props());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_meets_the_pretend_arm_and_the_cameras_deliver() {
        let world = World::start(Clock::real(), 7).unwrap();
        let mut arm = connector(world.arm(), Role::Follower, Bounds::default())().unwrap();
        assert!(!arm.torque_enabled(), "nobody asked for torque");
        assert!(arm.read_state().unwrap().is_finite());
        let names: Vec<_> = world.feeds().into_iter().map(|feed| feed.name).collect();
        assert_eq!(names, ["front", "wrist"]);
        assert_eq!(
            world.props().get().unwrap().cubes,
            Table::new(7).props().cubes
        );
        drop(world.reset_scene());
    }
}
