//! The pretend rig's cameras as the window has them: they see the scene as it truly is, one thread for all of them.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::camera::{Feed, FeedState};
use crate::clock::Clock;
use crate::joint::JointVec;
use crate::latest::Latest;
use crate::observation::Frame;
use crate::scene::{Painter, Props};
use crate::sim::Scenery;
use crate::sim::camera::{SimStudio, Viewpoint};

/// What the cameras may cost.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraSettings {
    /// Which cameras there are, in the order of their feeds.
    pub cameras: Vec<Viewpoint>,
    /// How the rig looks to them.
    pub scenery: Scenery,
    /// Width and height of every picture, pixels.
    pub size: [u32; 2],
    /// Pictures a second of each camera, if the machine can.
    pub rate_hz: f32,
    /// Share of one CPU core that drawing may take; the rate falls until it fits. The policy needs the rest.
    pub cpu_share: f32,
}

impl Default for CameraSettings {
    fn default() -> Self {
        Self {
            // A third picture would cost the policy half as much CPU again.
            cameras: vec![Viewpoint::Front, Viewpoint::Wrist],
            scenery: Scenery::plain(),
            size: [320, 240],
            rate_hz: 30.0,
            cpu_share: 0.15,
        }
    }
}

/// However slow the machine, the cameras stay well above the age at which a picture counts as stale.
const LOWEST_RATE_HZ: f32 = 5.0;
/// The cost of a set of pictures is the smallest of this many: what the scheduler adds is not ours to save.
const COSTS: usize = 30;

/// The cameras, running until dropped.
#[derive(Debug)]
pub struct SimCameras {
    feeds: Vec<Feed>,
    scenery: Latest<Scenery>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl SimCameras {
    /// Starts the thread that draws them. `joints` are the true angles in robot units; without them there is no picture.
    pub fn start(
        clock: Clock,
        joints: Latest<JointVec>,
        props: Latest<Props>,
        settings: CameraSettings,
    ) -> io::Result<Self> {
        let [width, height] = settings.size;
        let feed =
            |camera: &Viewpoint| Feed::new(camera.name(), format!("simulated {width}x{height}"));
        let feeds: Vec<Feed> = settings.cameras.iter().map(feed).collect();
        let (stop, stopped) = bounded(1);
        let seen = feeds.clone();
        let scenery = Latest::new();
        let world = Seen {
            joints,
            props,
            scenery: scenery.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("sim cameras".into())
            .spawn(move || {
                let mut filming = Filming::new(Painter::open(settings.size), seen, settings);
                let painter = filming.studio.painter().name();
                log::info!("simulated cameras are drawn by {painter}");
                filming.run(&clock, &world, &stopped);
            })?;
        Ok(Self {
            feeds,
            scenery,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// In the order of [`CameraSettings::cameras`].
    pub fn feeds(&self) -> &[Feed] {
        &self.feeds
    }

    /// Another look from the next picture on.
    pub fn dress(&self, scenery: Scenery) {
        self.scenery.set(scenery);
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

/// What the thread looks at before it draws.
struct Seen {
    joints: Latest<JointVec>,
    props: Latest<Props>,
    scenery: Latest<Scenery>,
}

/// What the camera thread owns.
struct Filming {
    studio: SimStudio,
    feeds: Vec<Feed>,
    settings: CameraSettings,
    seq: u64,
    /// What the newest pictures show, and their pixels: an unchanged scene is published again without being drawn again.
    shown: Option<Shown>,
    /// Seconds that the last sets of pictures took.
    costs: VecDeque<f32>,
    /// When the pictures of the last second were taken.
    taken: VecDeque<Duration>,
}

/// A picture of each camera, and what they show.
struct Shown {
    scenery: Scenery,
    joints: JointVec,
    props: Props,
    pixels: Vec<Arc<[u8]>>,
}

impl Filming {
    fn new(painter: Painter, feeds: Vec<Feed>, settings: CameraSettings) -> Self {
        Self {
            studio: SimStudio::with(painter, settings.scenery, &settings.cameras),
            feeds,
            settings,
            seq: 0,
            shown: None,
            costs: VecDeque::new(),
            taken: VecDeque::new(),
        }
    }

    /// Takes pictures until told to stop.
    fn run(&mut self, clock: &Clock, world: &Seen, stopped: &Receiver<()>) {
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
            if let Some(scenery) = world.scenery.get() {
                self.studio.dress(*scenery);
            }
            if let Some(joints) = world.joints.get() {
                let nothing = Props::default();
                let props = world.props.get();
                self.take(now, *joints, props.as_deref().unwrap_or(&nothing));
            }
            // Late pictures are dropped, not made up for.
            due = (due + self.period()).max(clock.now());
        }
    }

    /// Takes one picture with each camera and publishes them.
    fn take(&mut self, now: Duration, joints: JointVec, props: &Props) {
        let scenery = *self.studio.scenery();
        let same = self.shown.as_ref().is_some_and(|shown| {
            shown.joints == joints && shown.props == *props && shown.scenery == scenery
        });
        if !same {
            let began = Instant::now();
            let pixels = self.studio.draw(joints, props);
            self.shown = Some(Shown {
                scenery,
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
        let affordable = match self.studio.painter() {
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
    use crate::scene::Cube;
    use crate::sim::Colour;
    use glam::{Quat, Vec3, vec3};

    fn settings() -> CameraSettings {
        CameraSettings {
            size: [64, 48],
            cpu_share: 1.0,
            ..CameraSettings::default()
        }
    }

    fn filming() -> Filming {
        let painter = Painter::software(settings().size, "this is a test".into());
        let feeds = vec![Feed::new("front", "test"), Feed::new("wrist", "test")];
        Filming::new(painter, feeds, settings())
    }

    fn newest(filming: &Filming, camera: usize) -> Arc<Frame> {
        filming.feeds[camera].frames.get().unwrap()
    }

    #[test]
    fn both_cameras_see_the_cube_that_the_gripper_is_above() {
        let cube = |colour: Colour, position: Vec3| Cube {
            position,
            orientation: Quat::from_rotation_z(0.4),
            edge: 0.025,
            color: colour.rgb(),
        };
        let props = Props {
            cubes: vec![
                cube(Colour::Red, vec3(0.24, 0.0, 0.0125)),
                cube(Colour::Blue, vec3(0.30, 0.20, 0.0125)),
                cube(Colour::Green, vec3(0.10, -0.25, 0.0125)),
            ],
            ..Props::default()
        };
        let mut filming = filming();
        let joints = JointVec([0.0, -20.0, 35.0, 65.0, 0.0, 60.0]);
        filming.take(Duration::from_millis(40), joints, &props);
        for (camera, least) in [(0, 3), (1, 8)] {
            let frame = newest(&filming, camera);
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
        let mut filming = filming();
        let props = Props::default();
        let mut joints = JointVec::default();
        filming.take(Duration::ZERO, joints, &props);
        let first = newest(&filming, 0);
        filming.take(Duration::from_millis(33), joints, &props);
        let again = newest(&filming, 0);
        assert_eq!(again.seq, first.seq, "nothing new to look at");
        assert!(Arc::ptr_eq(&again.rgb, &first.rgb));
        assert_eq!(again.captured_at, Duration::from_millis(33));
        joints.0[0] = 20.0;
        filming.take(Duration::from_millis(66), joints, &props);
        let moved = newest(&filming, 0);
        assert_ne!(moved.rgb, first.rgb);
        assert_eq!(moved.seq, first.seq + 1);
        let state = filming.feeds[0].state.get().unwrap();
        assert!(matches!(*state, FeedState::Live { rate_hz } if (rate_hz - 30.3).abs() < 0.1));
    }

    #[test]
    fn another_scenery_is_drawn_anew_though_nothing_moved() {
        let mut filming = filming();
        filming.take(Duration::ZERO, JointVec::default(), &Props::default());
        let plain = newest(&filming, 0);
        filming.studio.dress(Scenery::seeded(1, 1.0));
        filming.take(Duration::ZERO, JointVec::default(), &Props::default());
        let dressed = newest(&filming, 0);
        assert_eq!(dressed.seq, plain.seq + 1);
        assert_ne!(dressed.rgb, plain.rgb);
    }

    #[test]
    fn the_rate_falls_until_drawing_fits_its_share_of_the_cpu() {
        let mut filming = filming();
        filming.settings.cpu_share = 0.15;
        filming.costs.extend([0.02, 0.009, 0.011]);
        assert!((filming.period().as_secs_f32() - 0.06).abs() < 1e-6);
        filming.costs = [0.001].into();
        assert!((filming.period().as_secs_f32() - 1.0 / 30.0).abs() < 1e-6);
        filming.costs = [9.0].into();
        assert!((filming.period().as_secs_f32() - 0.2).abs() < 1e-6);
    }

    #[test]
    fn the_thread_delivers_when_there_are_joints_and_ends_when_dropped() {
        let (clock, joints) = (Clock::virtual_at_zero(), Latest::new());
        let settings = CameraSettings {
            cameras: Viewpoint::ALL.to_vec(),
            ..settings()
        };
        let cameras =
            SimCameras::start(clock.clone(), joints.clone(), Latest::new(), settings).unwrap();
        let feeds = cameras.feeds().to_vec();
        let names: Vec<&str> = feeds.iter().map(|feed| &*feed.name).collect();
        assert_eq!(names, ["front", "wrist", "top"]);
        let front = &feeds[0];
        assert_eq!(front.state.get().as_deref(), Some(&FeedState::Opening));
        joints.set(JointVec::default());
        let patience = Instant::now();
        while feeds.iter().any(|feed| feed.frames.get().is_none())
            && patience.elapsed() < Duration::from_secs(30)
        {
            clock.advance(Duration::from_millis(40));
            std::thread::yield_now();
        }
        assert!(feeds.iter().all(|feed| feed.frames.get().is_some()));
        drop(cameras);
        let last = front.frames.get().unwrap().seq;
        clock.advance(Duration::from_secs(1));
        assert_eq!(front.frames.get().unwrap().seq, last);
    }
}
