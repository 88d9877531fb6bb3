//! Puts a rig together from what the operator named: arm, cameras, policy and the runtime that flies them.
//!
//! The simulated rig switches its torque on by itself and lets the policy drive as soon as it is ready, so that the main
//! job is seen without a click. A real arm is only ever armed by a command of the operator.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};

use crate::app::film;
use crate::app::lab_bench::{self, LabBench};
use crate::app::library::{Library, Places};
use crate::app::recording::Recording;
use crate::app::supply;
use crate::app::takeoff::Takeoff;
use crate::app::world::{self, World};
use crate::arm::{Bounds, Calibration, Calibrations, Role};
use crate::camera::{self, Camera, Feed};
use crate::clock::Clock;
use crate::gpu::Wish;
use crate::latest::Latest;
use crate::policy::self_test::{self, Verdicts};
use crate::policy::{self, LoadProgress, LoadRequest, LoadStage, Refusal};
use crate::runtime::workshop::Tools;
use crate::runtime::{
    ArmSource, ArmSupply, Connector, EXPERT, FaultKind, Halted, Knobs, LeaderSetup, PolicyLoader,
    Runtime, Setup, ViewBinding,
};
use crate::sim::{Expert, Truth};

/// The task of a first run; its words are those of the reference figures.
pub const FIRST_TASK: &str = "Pick up the red cube and place it in the box.";

/// What to put together.
#[expect(
    clippy::struct_excessive_bools,
    reason = "answers to independent questions"
)]
#[derive(Clone, Debug)]
pub struct RigOptions {
    /// An empty source loads none.
    pub policy: LoadRequest,
    /// The policy was named, so that the window takes no other.
    pub policy_named: bool,
    pub device: Wish,
    pub arm: ArmChoice,
    /// The arm was named, so that no remembered one takes its place.
    pub arm_named: bool,
    /// The arm in a person's hand, if there is one.
    pub leader: Option<ArmChoice>,
    /// What was said about it, even that there is none, stands against a remembered one.
    pub leader_named: bool,
    /// What bounds the follower's goals.
    pub bounds: Bounds,
    /// Cameras by name. The simulated rig has its own, which these join or replace.
    pub cameras: Vec<camera::Spec>,
    /// Which camera feeds which view; the view may be named by the last part of its key.
    pub views: Vec<ViewBinding>,
    pub task: String,
    pub knobs: Knobs,
    /// Where the cubes of the simulated table lie, and the policy's noise.
    pub seed: u64,
    /// Switches torque on and lets the policy drive without a click.
    pub takeoff: bool,
    /// A window shows it.
    pub is_shown: bool,
    /// Something may be recorded; in a window it always may.
    pub records: bool,
    /// What went wrong before, for the operator: kind, what happened, what to do.
    pub faults: Vec<(FaultKind, String, String)>,
}

/// Which arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArmChoice {
    /// The pretend one; a pretend leader has a hand that waves it.
    Simulated,
    /// A real one, with its calibration file.
    Port { port: String, calibration: PathBuf },
    /// A real one that was chosen in an earlier session.
    Remembered { port: String, id: String },
}

/// A running rig. Dropping it ends the run; a real arm goes on holding.
pub struct Rig {
    /// Ends first, so that nothing is asked of a runtime that closes.
    takeoff: Option<Takeoff>,
    pub runtime: Runtime,
    cameras: Vec<Camera>,
    world: Option<World>,
    lab: Option<LabBench>,
    library: Option<Library>,
    /// Ends after the runtime, once everything that was kept is saved.
    recording: Option<Recording>,
}

impl Rig {
    /// Starts everything. Slow things (loading, connecting, opening cameras) go on behind it and show in the snapshot.
    ///
    /// # Errors
    /// The calibration cannot be read, a camera cannot be opened at all in this build, or the system gives no thread.
    pub fn start(options: RigOptions) -> anyhow::Result<Self> {
        let (clock, world) = match &options.arm {
            ArmChoice::Simulated => {
                let clock = Clock::paced();
                let world = World::start(clock.clone(), options.seed, &options.task)
                    .context("cannot start the simulated rig")?;
                (clock, Some(world))
            }
            // A real arm knows no slow motion.
            ArmChoice::Port { .. } | ArmChoice::Remembered { .. } => (Clock::real(), None),
        };
        let networks = policy_loader(options.device, options.is_shown);
        let truth = world.as_ref().map(World::truth);
        let loader = with_expert(networks, truth);
        let mut setup = Setup::new(clock.clone(), Arc::clone(&loader));
        if let Some(world) = &world {
            simulated(&mut setup, world);
        }
        let arms = supply::arms(&clock, world.as_ref().map(World::arm), options.bounds);
        let named = Named {
            follower: &options.arm,
            leader: options.leader.as_ref(),
            bounds: options.bounds,
        };
        join_arms(&mut setup, &named, &arms)?;
        setup.supply = Some(arms);
        // Who is on the ports are real arms, in whatever motion the pretend one is.
        setup.tools = Some(Tools::of_machine(Clock::real()));
        let cameras = open_cameras(&options.cameras, &clock)?;
        join_feeds(&mut setup.feeds, &cameras);
        let is_real = |name: &String| options.cameras.iter().any(|camera| camera.name == *name);
        setup.pretend_feeds.retain(|name| !is_real(name));
        setup.policy = (!options.policy.source.is_empty()).then_some(options.policy);
        setup.knobs = options.knobs;
        setup.task = options.task;
        setup.views = options.views;
        setup.seed = options.seed;
        setup.faults = options.faults;
        let lab = options
            .is_shown
            .then(|| LabBench::start(lab_bench::folder()))
            .transpose()
            .context("cannot start the lab")?;
        setup.lab = lab.as_ref().and_then(LabBench::link);
        let library = options
            .is_shown
            .then(|| Library::start(Places::of_user(), loader))
            .transpose()
            .context("cannot start the library")?;
        setup.library = library.as_ref().and_then(Library::link);
        let recording = (options.is_shown || options.records)
            .then(Recording::start)
            .transpose()
            .context("cannot start the recorder")?;
        setup.recorder = recording.as_ref().map(Recording::link);
        let runtime = Runtime::start(setup).context("cannot start the control thread")?;
        let takeoff = options
            .takeoff
            .then(|| Takeoff::start(runtime.commands.clone(), runtime.snapshot.clone()))
            .transpose()
            .context("cannot start the run")?;
        Ok(Self {
            takeoff,
            runtime,
            cameras,
            world,
            lab,
            library,
            recording,
        })
    }

    /// Ends the run in order: nobody asks any more, the arm is stopped, then cameras and pretend world go, and what was kept is
    /// saved. Returns what became of the stop.
    pub fn shutdown(mut self) -> Halted {
        drop(self.takeoff.take());
        let halted = self.runtime.shutdown();
        drop(self.cameras);
        drop(self.world);
        drop(self.lab);
        drop(self.library);
        drop(self.recording);
        halted
    }
}

/// Two arms and nothing else: no cameras, no table, no policy.
///
/// # Errors
/// A calibration cannot be read.
pub fn pair(
    arm: &ArmChoice,
    by: &ArmChoice,
    bounds: Bounds,
    clock: &Clock,
) -> anyhow::Result<Setup> {
    let nobody: PolicyLoader = Arc::new(|_, _| {
        Err(Refusal {
            why: "nothing but the two arms is here".to_owned(),
            stats: Vec::new(),
        })
    });
    let mut setup = Setup::new(clock.clone(), nobody);
    let named = Named {
        follower: arm,
        leader: Some(by),
        bounds,
    };
    join_arms(&mut setup, &named, &supply::arms(clock, None, bounds))?;
    Ok(setup)
}

/// The arms that were chosen at the start.
struct Named<'a> {
    follower: &'a ArmChoice,
    leader: Option<&'a ArmChoice>,
    bounds: Bounds,
}

/// Names the arms and says how to get them.
fn join_arms(setup: &mut Setup, named: &Named<'_>, arms: &ArmSupply) -> anyhow::Result<()> {
    let Named {
        follower,
        leader,
        bounds,
    } = *named;
    let source = follower.source();
    setup.arm = source.to_string();
    setup.connector = Some(follower.connector(Role::Follower, arms, &setup.clock, bounds)?);
    setup.sources.follower = Some(source);
    if let Some(leader) = leader {
        let name = match leader.source() {
            ArmSource::Simulated => world::LEADER.to_owned(),
            source @ ArmSource::Port { .. } => source.to_string(),
        };
        let connector = leader.connector(Role::Leader, arms, &setup.clock, bounds)?;
        setup.leader = Some(LeaderSetup { name, connector });
        setup.sources.leader = Some(leader.source());
    }
    Ok(())
}

impl ArmChoice {
    /// As the runtime names it: by port, and by the id of its calibration.
    fn source(&self) -> ArmSource {
        match self {
            Self::Simulated => ArmSource::Simulated,
            Self::Port { port, calibration } => ArmSource::Port {
                path: port.clone(),
                id: calibration
                    .file_stem()
                    .map(|id| id.to_string_lossy().into_owned())
                    .unwrap_or_default(),
            },
            Self::Remembered { port, id } => ArmSource::Port {
                path: port.clone(),
                id: id.clone(),
            },
        }
    }

    fn connector(
        &self,
        role: Role,
        arms: &ArmSupply,
        clock: &Clock,
        bounds: Bounds,
    ) -> anyhow::Result<Connector> {
        match self {
            Self::Port { port, calibration } => {
                let calibration = Calibration::read(calibration)?;
                Ok(supply::named(role, port, calibration, clock, bounds))
            }
            Self::Simulated | Self::Remembered { .. } => Ok(arms(role, &self.source())),
        }
    }
}

fn simulated(setup: &mut Setup, world: &World) {
    setup.feeds = world.feeds();
    setup.props = world.props();
    setup.pretend_feeds = setup.feeds.iter().map(|feed| feed.name.clone()).collect();
    setup.rig = world.link();
}

fn refusal(error: impl std::error::Error) -> Refusal {
    Refusal {
        why: error.to_string(),
        stats: Vec::new(),
    }
}

/// Loads policies on the thread that runs them; the device is opened there too, because tensors may not change threads.
///
/// A device that computes something else than the CPU on a tiny network is refused before it may drive.
///
/// With a window, `is_shown`, chunks are computed in pieces, so that pictures get in between.
pub fn policy_loader(wish: Wish, is_shown: bool) -> PolicyLoader {
    Arc::new(move |request, progress| {
        progress(LoadProgress {
            stage: LoadStage::Opening,
            fraction: None,
        });
        let verdicts = Verdicts::of_user();
        let device = self_test::open(wish, &verdicts).map_err(refusal)?;
        log::info!("device: {} ({})", device.summary(), device.why);
        if let Some(compute) = &device.compute {
            compute.let_pictures_between(is_shown);
        }
        progress(LoadProgress {
            stage: LoadStage::SelfTest,
            fraction: None,
        });
        let passed = self_test::verify(&device, &verdicts).map_err(refusal)?;
        log::info!("self-test: {passed}");
        log::info!("policy: loading {}", request.source);
        policy::load(request, &device, progress)
    })
}

/// The same loader, and beside it the rig's scripted expert, which needs no device. `truth` is what it plans with.
fn with_expert(networks: PolicyLoader, truth: Option<Latest<Truth>>) -> PolicyLoader {
    Arc::new(move |request, progress| {
        if request.source != EXPERT {
            return networks(request, progress);
        }
        match &truth {
            Some(truth) => Ok(Box::new(Expert::new(truth.clone()))),
            None => Err(Refusal {
                why: "the expert plans with where things truly are on the simulated table, which nobody knows of a real one. \
                      Name another policy, or start with --rig"
                    .to_owned(),
                stats: Vec::new(),
            }),
        }
    })
}

/// The calibration file of an arm: the named one, the one of a LeRobot id, or the only one that LeRobot keeps.
///
/// # Errors
/// There is none, or there are several to choose from; the message lists them.
pub fn calibration_file(
    role: Role,
    file: Option<&Path>,
    id: Option<&str>,
) -> anyhow::Result<PathBuf> {
    if let Some(file) = file {
        return Ok(file.to_owned());
    }
    let kept = Calibrations::of_user()
        .context("this system names no home, where calibrations would be kept")?;
    kept_file(&kept, role, id)
}

fn kept_file(kept: &Calibrations, role: Role, id: Option<&str>) -> anyhow::Result<PathBuf> {
    if let Some(id) = id {
        let places = kept.paths(role, id);
        return kept
            .find(role, id)
            .ok_or_else(|| anyhow!("no calibration of that id: looked for {}", joined(&places)));
    }
    let option = match role {
        Role::Follower => "--",
        Role::Leader => "--leader-",
    };
    let mut arms = kept.list();
    arms.retain(|arm| arm.role == role);
    match arms.as_slice() {
        [only] => Ok(only.path.clone()),
        [] => Err(anyhow!(
            "no calibration in {}. Calibrate the {role} with `smolpilot calibrate` or with LeRobot, or name its file with \
             {option}calibration FILE",
            joined(&kept.folders(role))
        )),
        several => {
            let ids: Vec<_> = several.iter().map(|arm| arm.id.as_str()).collect();
            bail!(
                "several {role}s were calibrated here; choose one with {option}id: {}",
                ids.join(", ")
            )
        }
    }
}

fn joined(paths: &[PathBuf]) -> String {
    let names: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    names.join(" or ")
}

fn open_cameras(specs: &[camera::Spec], clock: &Clock) -> anyhow::Result<Vec<Camera>> {
    let projector = film::projector();
    let open = |spec: &camera::Spec| {
        let camera = Camera::open(spec, clock.clone(), &projector);
        camera.with_context(|| format!("camera {}", spec.name))
    };
    specs.iter().map(open).collect()
}

/// A named camera takes the place of a simulated one of the same name, or joins them.
fn join_feeds(feeds: &mut Vec<Feed>, cameras: &[Camera]) {
    for camera in cameras {
        let feed = camera.feed().clone();
        match feeds.iter_mut().find(|known| known.name == feed.name) {
            Some(known) => *known = feed,
            None => feeds.push(feed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_calibration_is_found_and_several_are_listed() {
        let place = tempfile::tempdir().unwrap();
        let kept = Calibrations::below(place.path());
        let none = kept_file(&kept, Role::Follower, None)
            .unwrap_err()
            .to_string();
        assert!(none.contains("smolpilot calibrate"), "{none}");
        let keep = |role, id| {
            let staged = kept.stage(role, id, &Calibration::simulated()).unwrap();
            staged.commit().unwrap()[0].clone()
        };
        keep(Role::Leader, "amber");
        let blue = keep(Role::Follower, "blue");
        assert_eq!(kept_file(&kept, Role::Follower, None).unwrap(), blue);
        let red = keep(Role::Follower, "red");
        let several = kept_file(&kept, Role::Follower, None)
            .unwrap_err()
            .to_string();
        assert!(several.contains("blue, red"), "{several}");
        assert_eq!(kept_file(&kept, Role::Follower, Some("red")).unwrap(), red);
        let absent = kept_file(&kept, Role::Follower, Some("amber"))
            .unwrap_err()
            .to_string();
        assert!(absent.contains("so101_follower"), "{absent}");
    }

    #[test]
    fn the_expert_needs_the_rig_and_no_device() {
        let networks: PolicyLoader = Arc::new(|request, _| {
            Err(Refusal {
                why: format!("a device was opened for {}", request.source),
                stats: Vec::new(),
            })
        });
        let load = |truth, source: &str| {
            let request = LoadRequest {
                source: source.to_owned(),
                stats: None,
            };
            with_expert(Arc::clone(&networks), truth)(&request, &mut |_| {})
        };
        let expert = load(Some(Latest::new()), EXPERT).unwrap();
        assert!(expert.spec().plans_with_truth);
        let why = |refused: Result<Box<dyn policy::Policy>, Refusal>| refused.err().unwrap().why;
        assert!(why(load(None, EXPERT)).contains("a real one"));
        assert!(why(load(Some(Latest::new()), "demo")).contains("for demo"));
    }

    #[test]
    fn a_named_file_is_taken_as_it_is() {
        let file = Path::new("/somewhere/arm.json");
        assert_eq!(
            calibration_file(Role::Follower, Some(file), None).unwrap(),
            file
        );
    }

    #[test]
    fn a_named_camera_replaces_the_simulated_one_of_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let picture = folder.path().join("a.png");
        image::RgbImage::new(4, 4).save(&picture).unwrap();
        let spec = |name: &str| format!("{name}={}", picture.display()).parse().unwrap();
        let cameras = open_cameras(&[spec("front"), spec("side")], &Clock::real()).unwrap();
        let mut feeds = vec![
            Feed::new("front", "simulated"),
            Feed::new("wrist", "simulated"),
        ];
        join_feeds(&mut feeds, &cameras);
        let names: Vec<_> = feeds.iter().map(|feed| feed.name.as_str()).collect();
        assert_eq!(names, ["front", "wrist", "side"]);
        assert!(feeds[0].source.contains("a.png"), "{}", feeds[0].source);
    }
}
