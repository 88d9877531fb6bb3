//! The pretend rig's front and wrist cameras: they see the scene as it truly is, one thread for both.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use glam::{Quat, Vec3, vec3};

use crate::camera::{Feed, FeedState};
use crate::clock::Clock;
use crate::joint::JointVec;
use crate::kinematics::{Link, forward_robot};
use crate::latest::Latest;
use crate::observation::Frame;
use crate::scene::{Look, Painter, Props, SceneInput, View};

/// What the cameras may cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CameraSettings {
    /// Width and height of both pictures, pixels.
    pub size: [u32; 2],
    /// Pictures a second of each camera, if the machine can.
    pub rate_hz: f32,
    /// Share of one CPU core that drawing may take; the rate falls until it fits. The policy needs the rest.
    pub cpu_share: f32,
}

impl Default for CameraSettings {
    fn default() -> Self {
        Self {
            size: [320, 240],
            rate_hz: 30.0,
            cpu_share: 0.15,
        }
    }
}

/// However slow the machine, the cameras stay well above the age at which a picture counts as stale.
const LOWEST_RATE_HZ: f32 = 5.0;
/// The cost of a pair of pictures is the smallest of this many: what the scheduler adds is not ours to save.
const COSTS: usize = 30;

/// The front camera: in front of the arm and above it, looking at the base. LeRobot's simulated one stands in the same place; ours looks
/// down by 33° instead of 25° and through a slightly longer lens, so that the picture is filled by what the gripper can reach.
pub fn front_view() -> View {
    let eye = vec3(0.8, 0.0, 0.5);
    let (sin, cos) = 33_f32.to_radians().sin_cos();
    View {
        eye,
        target: eye + vec3(-cos, 0.0, -sin),
        up: Vec3::Z,
        fov_y: 40_f32.to_radians(),
    }
}

/// The wrist camera beside the palm, looking at the finger tips (pose of the `MuJoCo` Menagerie model, lens of the wider builds).
pub fn wrist_view(joints: JointVec) -> View {
    let gripper = forward_robot(joints).link(Link::Gripper);
    let turn = Quat::from_rotation_x(-0.57);
    let eye = gripper.transform_point3(vec3(0.0, 0.055, -0.045));
    View {
        eye,
        target: eye + gripper.transform_vector3(turn * Vec3::NEG_Z),
        up: gripper.transform_vector3(turn * Vec3::Y),
        fov_y: 70_f32.to_radians(),
    }
}

/// Both cameras, running until dropped.
#[derive(Debug)]
pub struct SimCameras {
    feeds: [Feed; 2],
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SimCameras {
    /// Starts the thread that draws both. `joints` are the true angles in robot units; without them there is no picture.
    pub fn start(
        clock: Clock,
        joints: Latest<JointVec>,
        props: Latest<Props>,
        settings: CameraSettings,
    ) -> io::Result<Self> {
        let [width, height] = settings.size;
        let feed = |name: &str| Feed::new(name, format!("simulated {width}x{height}"));
        let feeds = [feed("front"), feed("wrist")];
        let (stop, stopped) = bounded(1);
        let seen = feeds.clone();
        let thread = std::thread::Builder::new()
            .name("sim cameras".into())
            .spawn(move || {
                let mut studio = Studio::new(Painter::open(settings.size), seen, settings);
                log::info!("simulated cameras are drawn by {}", studio.painter.name());
                studio.run(&clock, &joints, &props, &stopped);
            })?;
        Ok(Self {
            feeds,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Front and wrist.
    pub fn feeds(&self) -> [Feed; 2] {
        self.feeds.clone()
    }
}

impl Drop for SimCameras {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(Err(_)) = self.thread.take().map(JoinHandle::join) {
            log::error!("the thread of the simulated cameras ended by a panic");
        }
    }
}

/// What the camera thread owns.
struct Studio {
    painter: Painter,
    feeds: [Feed; 2],
    settings: CameraSettings,
    look: Look,
    seq: u64,
    /// What the newest pictures show, and their pixels: an unchanged scene is published again without being drawn again.
    shown: Option<Shown>,
    /// Seconds that the last pairs of pictures took.
    costs: VecDeque<f32>,
    /// When the pictures of the last second were taken.
    taken: VecDeque<Duration>,
}

/// A pair of pictures and what they show.
struct Shown {
    joints: JointVec,
    props: Props,
    pixels: [Arc<[u8]>; 2],
}

impl Studio {
    fn new(painter: Painter, feeds: [Feed; 2], settings: CameraSettings) -> Self {
        Self {
            painter,
            feeds,
            settings,
            look: Look::camera(),
            seq: 0,
            shown: None,
            costs: VecDeque::new(),
            taken: VecDeque::new(),
        }
    }

    /// Takes pictures until told to stop.
    fn run(
        &mut self,
        clock: &Clock,
        joints: &Latest<JointVec>,
        props: &Latest<Props>,
        stopped: &Receiver<()>,
    ) {
        let mut due = clock.now();
        loop {
            let wait = clock.until(due);
            // A virtual clock is moved by somebody else: look at it now and then.
            let nap = if clock.is_virtual() {
                wait.min(Duration::from_millis(1))
            } else {
                wait
            };
            match stopped.recv_timeout(nap) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
            }
            let now = clock.now();
            if now < due {
                continue;
            }
            if let Some(joints) = joints.get() {
                let nothing = Props::default();
                let props = props.get();
                self.take(now, *joints, props.as_deref().unwrap_or(&nothing));
            }
            // Late pictures are dropped, not made up for.
            due = (due + self.period()).max(clock.now());
        }
    }

    /// Takes one picture with each camera and publishes both.
    fn take(&mut self, now: Duration, joints: JointVec, props: &Props) {
        let same =
            matches!(&self.shown, Some(shown) if shown.joints == joints && shown.props == *props);
        if !same {
            let began = Instant::now();
            let input = SceneInput {
                joints,
                ghost: None,
                ribbons: &[],
                props,
                look: &self.look,
            };
            let pixels = [front_view(), wrist_view(joints)]
                .map(|view| Arc::from(self.painter.draw(&input, &view)));
            self.shown = Some(Shown {
                joints,
                props: props.clone(),
                pixels,
            });
            self.seq += 1;
            self.costs.push_back(began.elapsed().as_secs_f32());
            self.costs.drain(..self.costs.len().saturating_sub(COSTS));
        }
        self.publish(now);
    }

    fn publish(&mut self, now: Duration) {
        let Some(shown) = &self.shown else {
            return;
        };
        self.taken.push_back(now);
        while self
            .taken
            .front()
            .is_some_and(|&t| now.saturating_sub(t) > Duration::from_secs(1))
        {
            self.taken.pop_front();
        }
        let rate_hz = self.measured_rate();
        let [width, height] = self.settings.size;
        for (feed, rgb) in self.feeds.iter().zip(&shown.pixels) {
            if let Some(frame) = Frame::new(width, height, Arc::clone(rgb), self.seq, now) {
                feed.frames.set(frame);
                feed.state.set(FeedState::Live { rate_hz });
            }
        }
    }

    /// Pictures a second over the last second.
    fn measured_rate(&self) -> f32 {
        match (self.taken.front(), self.taken.back()) {
            (Some(first), Some(last)) if last > first => {
                (self.taken.len() - 1) as f32 / last.saturating_sub(*first).as_secs_f32()
            }
            _ => 1.0 / self.period().as_secs_f32(),
        }
    }

    /// Time between pictures: the wanted rate, or what the CPU budget allows. A GPU's time is not the CPU's.
    fn period(&self) -> Duration {
        let wanted = 1.0 / self.settings.rate_hz.max(LOWEST_RATE_HZ);
        let cost = self.costs.iter().copied().fold(f32::INFINITY, f32::min);
        let affordable = match self.painter {
            Painter::Software(..) if cost.is_finite() => {
                cost / self.settings.cpu_share.clamp(0.01, 1.0)
            }
            _ => 0.0,
        };
        Duration::from_secs_f32(affordable.clamp(wanted, 1.0 / LOWEST_RATE_HZ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::table::Table;

    const SETTINGS: CameraSettings = CameraSettings {
        size: [64, 48],
        rate_hz: 30.0,
        cpu_share: 1.0,
    };

    fn studio() -> Studio {
        let painter = Painter::software(SETTINGS.size, "this is a test".into());
        let feeds = [Feed::new("front", "test"), Feed::new("wrist", "test")];
        Studio::new(painter, feeds, SETTINGS)
    }

    fn newest(studio: &Studio, camera: usize) -> Arc<Frame> {
        studio.feeds[camera].frames.get().unwrap()
    }

    #[test]
    fn both_cameras_see_the_cube_that_the_gripper_is_above() {
        let mut table = Table::new(2);
        table.move_cube(0, 0.24, 0.0);
        table.move_cube(1, 0.30, 0.20);
        table.move_cube(2, 0.10, -0.25);
        let mut studio = studio();
        let joints = JointVec([0.0, -20.0, 35.0, 65.0, 0.0, 60.0]);
        studio.take(Duration::from_millis(40), joints, &table.props());
        for (camera, least) in [(0, 3), (1, 8)] {
            let frame = newest(&studio, camera);
            let red = frame
                .rgb
                .chunks(3)
                .filter(|p| p[0] > 90 && p[0] > 2 * p[1] && p[0] > 2 * p[2]);
            let count = red.count();
            assert!(count >= least, "camera {camera} sees {count} red pixels");
            assert_eq!(frame.captured_at, Duration::from_millis(40));
        }
    }

    #[test]
    fn a_still_scene_is_published_again_and_a_moved_arm_drawn_anew() {
        let mut studio = studio();
        let props = Props::default();
        let mut joints = JointVec::default();
        studio.take(Duration::ZERO, joints, &props);
        let first = newest(&studio, 0);
        studio.take(Duration::from_millis(33), joints, &props);
        let again = newest(&studio, 0);
        assert_eq!(again.seq, first.seq, "nothing new to look at");
        assert!(Arc::ptr_eq(&again.rgb, &first.rgb));
        assert_eq!(again.captured_at, Duration::from_millis(33));
        joints.0[0] = 20.0;
        studio.take(Duration::from_millis(66), joints, &props);
        let moved = newest(&studio, 0);
        assert_ne!(moved.rgb, first.rgb);
        assert_eq!(moved.seq, first.seq + 1);
        let state = studio.feeds[0].state.get().unwrap();
        assert!(matches!(*state, FeedState::Live { rate_hz } if (rate_hz - 30.3).abs() < 0.1));
    }

    #[test]
    fn the_rate_falls_until_drawing_fits_its_share_of_the_cpu() {
        let mut studio = studio();
        studio.settings.cpu_share = 0.15;
        studio.costs.extend([0.02, 0.009, 0.011]);
        assert!((studio.period().as_secs_f32() - 0.06).abs() < 1e-6);
        studio.costs = [0.001].into();
        assert!((studio.period().as_secs_f32() - 1.0 / 30.0).abs() < 1e-6);
        studio.costs = [9.0].into();
        assert!((studio.period().as_secs_f32() - 0.2).abs() < 1e-6);
    }

    #[test]
    fn the_thread_delivers_when_there_are_joints_and_ends_when_dropped() {
        let (clock, joints) = (Clock::virtual_at_zero(), Latest::new());
        let cameras =
            SimCameras::start(clock.clone(), joints.clone(), Latest::new(), SETTINGS).unwrap();
        let [front, wrist] = cameras.feeds();
        assert_eq!(front.state.get().as_deref(), Some(&FeedState::Opening));
        joints.set(JointVec::default());
        let patience = Instant::now();
        while wrist.frames.get().is_none() && patience.elapsed() < Duration::from_secs(30) {
            clock.advance(Duration::from_millis(40));
            std::thread::yield_now();
        }
        assert!(front.frames.get().is_some() && wrist.frames.get().is_some());
        drop(cameras);
        let last = front.frames.get().unwrap().seq;
        clock.advance(Duration::from_secs(1));
        assert_eq!(front.frames.get().unwrap().seq, last);
    }
}
