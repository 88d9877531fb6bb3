//! The pretend rig as one thing: an arm on an in-memory bus, the table before it with a referee, and cameras that see both.

use std::io;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};

use crate::app::tabletop::{Tabletop, layout};
use crate::arm::{Bounds, Options, Role};
use crate::camera::Feed;
use crate::clock::Clock;
use crate::latest::Latest;
use crate::runtime::{Connector, RigLink, RigOrder, RigView};
use crate::scene::Props;
use crate::sim::{CameraSettings, Gesture, SimArm, SimCameras, Truth};

/// What the pretend leader is called.
pub const LEADER: &str = "simulated leader";
/// How often the world goes on without a word on the bus, real time.
const PERIOD: Duration = Duration::from_millis(16);
/// Orders that may wait; a hand that drags gives one a picture.
const ORDERS: usize = 64;
/// A thing that moved less is drawn where it was: metres, and the cosine of half a turn. What rests trembles by less.
const MOVED: f32 = 2e-5;
const TURNED: f32 = 1.0 - 1e-7;

/// The running pretend rig. Dropping it ends its threads.
#[derive(Debug)]
pub struct World {
    arm: SimArm,
    props: Latest<Props>,
    view: Latest<RigView>,
    cameras: SimCameras,
    /// Dropped to end the table's thread.
    orders: Option<Sender<RigOrder>>,
    table: Option<JoinHandle<()>>,
}

impl World {
    /// Starts a rig whose table is laid for a task, as `seed` says.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(clock: Clock, seed: u64, task: &str) -> io::Result<Self> {
        let arm = SimArm::on_table(clock.clone(), &layout(task, seed));
        let joints = arm.pose_feed();
        // The cameras have something to see before the first word on the bus.
        joints.set(arm.pose());
        let mut table = Tabletop::new(arm.clone(), task, seed);
        let (props, view) = (Latest::new(), Latest::new());
        let truth = table.follow();
        props.set(truth.props());
        view.set(table.view(&truth));
        let cameras = SimCameras::start(clock, joints, props.clone(), CameraSettings::default())?;
        let (orders, ordered) = bounded(ORDERS);
        let shown = (props.clone(), view.clone());
        let table = thread::Builder::new()
            .name("sim table".to_owned())
            .spawn(move || live(table, &shown.0, &shown.1, &ordered))?;
        Ok(Self {
            arm,
            props,
            view,
            cameras,
            orders: Some(orders),
            table: Some(table),
        })
    }

    /// The pretend arm.
    pub fn arm(&self) -> SimArm {
        self.arm.clone()
    }

    /// Its cameras.
    pub fn feeds(&self) -> Vec<Feed> {
        self.cameras.feeds().to_vec()
    }

    /// What lies on the table.
    pub fn props(&self) -> Latest<Props> {
        self.props.clone()
    }

    /// What is truly so: for the expert alone.
    pub fn truth(&self) -> Latest<Truth> {
        self.arm.truth_feed()
    }

    /// The way to the table, for the runtime.
    pub fn link(&self) -> Option<RigLink> {
        let orders = self.orders.clone()?;
        Some(RigLink {
            view: self.view.clone(),
            order: Box::new(move |order| {
                if let Err(TrySendError::Full(lost)) = orders.try_send(order) {
                    log::warn!("the table is busy: {lost} was not done");
                }
            }),
        })
    }
}

/// Connects the real driver to a pretend arm.
pub fn connector(arm: SimArm, role: Role, bounds: Bounds) -> Connector {
    Box::new(move || {
        let options = Options {
            role,
            bounds,
            ..Options::default()
        };
        arm.connect(options)
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
        self.orders = None;
        let Some(table) = self.table.take() else {
            return;
        };
        // Whoever still holds a way to the table keeps the thread; it is theirs to end.
        if table.is_finished() && table.join().is_err() {
            log::error!("the thread of the simulated table had panicked");
        }
    }
}

/// Lets the world go on, whoever drives in it, until nobody can give an order any more.
fn live(
    mut table: Tabletop,
    props: &Latest<Props>,
    view: &Latest<RigView>,
    ordered: &Receiver<RigOrder>,
) {
    let machine = Clock::real();
    let mut due = machine.now();
    loop {
        match ordered.recv_timeout(machine.until(due)) {
            Ok(order) => {
                table.obey(order);
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let truth = table.follow();
        view.set(table.view(&truth));
        let seen = truth.props();
        if props.get().is_none_or(|before| is_other(&before, &seen)) {
            props.set(seen);
        }
        due = (due + PERIOD).max(machine.now());
    }
}

/// Whether a picture of one would not be a picture of the other.
fn is_other(before: &Props, now: &Props) -> bool {
    let moved = before.cubes.iter().zip(&now.cubes).any(|(a, b)| {
        a.position.distance(b.position) > MOVED
            || a.orientation.dot(b.orientation).abs() < TURNED
            || (a.edge, a.color) != (b.edge, b.color)
    });
    moved
        || before.cubes.len() != now.cubes.len()
        || (&before.trays, &before.marks) != (&now.trays, &now.marks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::{Quat, Vec3};

    #[test]
    fn the_driver_meets_the_pretend_arm_and_the_cameras_deliver() {
        let task = "put the red cube in the box";
        let world = World::start(Clock::paced(), 7, task).unwrap();
        let mut arm = connector(world.arm(), Role::Follower, Bounds::default())().unwrap();
        assert!(!arm.torque_enabled(), "nobody asked for torque");
        assert!(arm.read_state().unwrap().is_finite());
        let names: Vec<_> = world.feeds().into_iter().map(|feed| feed.name).collect();
        assert_eq!(names[..2], ["front", "wrist"]);
        let link = world.link().unwrap();
        let view = link.view.get().unwrap();
        assert_eq!((view.seed, view.task.as_deref()), (7, Some(task)));
        assert_eq!(world.props().get().unwrap().cubes.len(), 3);
        assert_eq!(world.truth().get().unwrap().trays.len(), 1);
    }

    #[test]
    fn what_only_trembles_is_the_same_picture() {
        let cube = crate::scene::Cube {
            position: Vec3::new(0.2, 0.0, 0.0125),
            orientation: Quat::IDENTITY,
            edge: 0.025,
            color: [0.5; 3],
        };
        let props = |cube| Props {
            cubes: vec![cube],
            ..Props::default()
        };
        let moved = |by: f32, turn: f32| {
            is_other(
                &props(cube),
                &props(crate::scene::Cube {
                    position: cube.position + by * Vec3::X,
                    orientation: Quat::from_rotation_z(turn),
                    ..cube
                }),
            )
        };
        assert!(!moved(1e-5, 1e-4));
        assert!(moved(1e-4, 0.0) && moved(0.0, 1e-2));
        assert!(is_other(&props(cube), &Props::default()));
    }
}
