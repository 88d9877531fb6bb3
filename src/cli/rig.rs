//! From the options of the window and of `run` to a rig that can be started.

use crate::app::wiring::{ArmChoice, FIRST_TASK, RigOptions, calibration_file};
use crate::arm::{Bounds, Clearance, Role};
use crate::camera;
use crate::cli::args::{ArmArgs, RigArgs, RunArgs};
use crate::cli::output::wrong_argument;
use crate::cli::policy;
use crate::cli::run::knobs;
use crate::gpu::Wish;
use crate::policy::LoadRequest;
use crate::runtime::{EXPERT, Knobs, ViewBinding, same_view};
use crate::sim::Task;

/// The cameras that the simulated rig has.
pub const RIG_CAMERAS: [&str; 2] = ["front", "wrist"];

/// Why the expert and a real arm do not go together.
const NO_EXPERT: &str = "--policy expert plans with where things truly are on the simulated table, which nobody knows of a real \
                         one; name another policy, or leave --follower out";

/// Refuses `--view VIEW=CAMERA` with a camera that is not there: another one would be guessed in its place, and a wrong
/// picture makes wrong actions without any error.
pub fn known_cameras(views: &[ViewBinding], cameras: &[String]) -> anyhow::Result<()> {
    let strange = views
        .iter()
        .filter_map(|binding| binding.camera.as_ref())
        .find(|camera| !cameras.contains(camera));
    match strange {
        None => Ok(()),
        Some(camera) if cameras.is_empty() => Err(wrong_argument(format!(
            "--view names camera `{camera}`, but no camera was given; add it with --camera {camera}=SOURCE"
        ))),
        Some(camera) => Err(wrong_argument(format!(
            "--view names camera `{camera}`, which is not there; the cameras are {}; add it with --camera {camera}=SOURCE",
            cameras.join(", ")
        ))),
    }
}

/// Refuses `--view VIEW=CAMERA` with a view that the checkpoint does not declare, for the same reason.
pub fn known_views(named: &[ViewBinding], declared: &[String]) -> anyhow::Result<()> {
    let known = |binding: &&ViewBinding| declared.iter().any(|view| same_view(view, &binding.view));
    match named.iter().find(|binding| !known(binding)) {
        None => Ok(()),
        Some(binding) => Err(wrong_argument(format!(
            "--view names `{}`, which the checkpoint does not look at; it declares {}",
            binding.view,
            declared.join(", ")
        ))),
    }
}

impl ArmArgs {
    /// What bounds the goals of the arm that works.
    pub fn bounds(&self) -> Bounds {
        let clearance = Clearance {
            table: self.table.0,
            ..Clearance::default()
        };
        Bounds {
            clearance: Some(clearance),
            max_relative_target: self.max_relative_target,
        }
    }

    /// The arm that works.
    ///
    /// # Errors
    /// No calibration for the arm that was named.
    pub fn follower(&self) -> anyhow::Result<ArmChoice> {
        let Some(port) = &self.follower else {
            return Ok(ArmChoice::Simulated);
        };
        let (file, id) = (self.calibration.as_deref(), self.id.as_deref());
        Ok(ArmChoice::Port {
            port: port.clone(),
            calibration: calibration_file(Role::Follower, file, id)?,
        })
    }

    /// The arm in a person's hand. The rig has one that waves by itself; a real arm never follows that.
    ///
    /// # Errors
    /// No calibration for the leader that was named, one port for both arms, or a real arm that is to follow a simulation.
    pub fn leader(&self) -> anyhow::Result<Option<ArmChoice>> {
        let is_rig = self.follower.is_none();
        let port = match self.leader.as_deref() {
            None => return Ok(is_rig.then_some(ArmChoice::Simulated)),
            Some("none") => return Ok(None),
            Some("simulated") if is_rig => return Ok(Some(ArmChoice::Simulated)),
            Some("simulated") => {
                return Err(wrong_argument(
                    "--leader simulated waves by itself, and a real follower would wave along: it leads the rig alone",
                ));
            }
            Some(port) => port,
        };
        if self.follower.as_deref() == Some(port) {
            return Err(wrong_argument(format!(
                "--follower and --leader both name {port}: each arm has its own adapter"
            )));
        }
        let (file, id) = (
            self.leader_calibration.as_deref(),
            self.leader_id.as_deref(),
        );
        Ok(Some(ArmChoice::Port {
            port: port.to_owned(),
            calibration: calibration_file(Role::Leader, file, id)?,
        }))
    }
}

impl RigArgs {
    /// What the window opens over. An empty task means that of the last session.
    ///
    /// # Errors
    /// No calibration for the arm that was named, or a view from a camera that will not be there.
    pub fn options(&self) -> anyhow::Result<RigOptions> {
        let simulated = if self.arms.follower.is_none() {
            &RIG_CAMERAS[..]
        } else {
            &[]
        };
        let simulated = simulated.iter().map(|name| (*name).to_owned());
        let named = self.cameras.iter().map(|camera| camera.name.clone());
        known_cameras(&self.views, &simulated.chain(named).collect::<Vec<_>>())?;
        let request = policy::request(&self.policy);
        // Before its port and calibration are looked for: neither would help.
        if request.source == EXPERT && self.arms.follower.is_some() {
            return Err(wrong_argument(NO_EXPERT));
        }
        let arm = self.arms.follower()?;
        Ok(RigOptions {
            policy: request,
            policy_named: self.policy.policy.is_some(),
            device: self.device.wish(),
            // A simulation starts by itself; a real arm waits for the operator's command.
            takeoff: arm == ArmChoice::Simulated,
            leader: self.arms.leader()?,
            leader_named: self.arms.leader.is_some(),
            arm,
            bounds: self.arms.bounds(),
            arm_named: self.arms.rig || self.arms.follower.is_some(),
            cameras: self.cameras.clone(),
            views: self.views.clone(),
            task: self.task.clone().unwrap_or_default(),
            knobs: Knobs::untouched(),
            seed: self.seed,
            is_shown: false,
            records: false,
            faults: Vec::new(),
        })
    }
}

impl RunArgs {
    /// What `run` flies; nothing of an earlier session is used, so that a run can be repeated.
    ///
    /// # Errors
    /// Those of [`RigArgs::options`].
    pub fn options(&self) -> anyhow::Result<RigOptions> {
        let rig = self.rig.options()?;
        let first = || FIRST_TASK.to_owned();
        let task = self.rig.task.clone().unwrap_or_else(first);
        // It would stand still to the end, and nobody is there to be told why.
        if rig.policy.source == EXPERT {
            task.parse::<Task>().map_err(wrong_argument)?;
        }
        Ok(RigOptions {
            takeoff: rig.takeoff || self.arm,
            task,
            knobs: knobs::knobs(&self.knobs),
            records: self.record.record.is_some(),
            ..rig
        })
    }
}

/// A rig that no policy flies: an arm, perhaps a leader, and cameras.
///
/// # Errors
/// No calibration for an arm that was named.
pub fn unflown(
    arms: &ArmArgs,
    cameras: &[camera::Spec],
    task: String,
    seed: u64,
) -> anyhow::Result<RigOptions> {
    let arm = arms.follower()?;
    Ok(RigOptions {
        policy: LoadRequest::default(),
        policy_named: true,
        device: Wish::default(),
        takeoff: false,
        leader: arms.leader()?,
        leader_named: arms.leader.is_some(),
        arm,
        bounds: arms.bounds(),
        arm_named: true,
        cameras: cameras.to_vec(),
        views: vec![],
        task,
        knobs: Knobs::untouched(),
        seed,
        is_shown: false,
        records: true,
        faults: vec![],
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::args::{Cli, Verb};
    use crate::gpu::DeviceChoice;

    fn window(words: &str) -> RigArgs {
        Cli::try_parse_from(words.split_whitespace())
            .unwrap()
            .window
            .rig
    }

    fn run(words: &str) -> Box<RunArgs> {
        match Cli::try_parse_from(words.split_whitespace()).unwrap().verb {
            Some(Verb::Run(args)) => args,
            other => panic!("{words} is {other:?}"),
        }
    }

    #[test]
    fn the_bare_program_flies_the_rig_by_itself() {
        let options = window("smolpilot").options().unwrap();
        // What the window makes of it is its own matter.
        assert_eq!(
            (options.policy.source.as_str(), options.policy_named),
            ("demo", false)
        );
        let named = window("smolpilot --policy expert").options().unwrap();
        assert_eq!(
            (named.policy.source.as_str(), named.policy_named),
            ("expert", true)
        );
        assert_eq!(options.arm, ArmChoice::Simulated);
        assert_eq!(options.device, DeviceChoice::Auto.into());
        assert!(options.takeoff && options.task.is_empty());
    }

    #[test]
    fn the_expert_is_refused_a_real_arm_whether_or_not_that_is_calibrated() {
        for words in ["", " --calibration arm.json"] {
            let words = format!("smolpilot --policy expert --follower /dev/ttyX{words}");
            let why = window(&words).options().unwrap_err().to_string();
            assert!(why.contains("simulated table"), "{why}");
        }
    }

    #[test]
    fn an_expert_that_nobody_watches_is_not_given_a_task_that_it_would_not_begin() {
        let expert = "smolpilot run --policy expert";
        assert!(run(expert).options().is_ok());
        let unknown = format!("{expert} --task coffee");
        let why = run(&unknown).options().unwrap_err().to_string();
        assert!(why.contains("in the box"), "{why}");
        assert!(run("smolpilot run --task coffee").options().is_ok());
    }

    #[test]
    fn a_real_arm_is_armed_only_when_told() {
        let arm = "--follower /dev/ttyACM0 --calibration arm.json";
        assert!(
            !window(&format!("smolpilot {arm}"))
                .options()
                .unwrap()
                .takeoff
        );
        assert!(
            !run(&format!("smolpilot run {arm}"))
                .options()
                .unwrap()
                .takeoff
        );
        let told = run(&format!("smolpilot run {arm} --arm"))
            .options()
            .unwrap();
        assert!(told.takeoff);
        let follower = ArmChoice::Port {
            port: "/dev/ttyACM0".into(),
            calibration: "arm.json".into(),
        };
        assert_eq!(told.arm, follower);
    }

    #[test]
    fn the_rig_has_a_leader_and_a_real_arm_follows_none_that_waves() {
        let leader = |words: &str| window(words).arms.leader();
        let simulated = Some(ArmChoice::Simulated);
        assert_eq!(leader("smolpilot").unwrap(), simulated);
        assert_eq!(leader("smolpilot --leader none").unwrap(), None);
        let arm = "smolpilot --follower COM5";
        assert_eq!(leader(arm).unwrap(), None);
        let real = leader(&format!("{arm} --leader COM6 --leader-calibration l.json"));
        let port = "COM6".to_owned();
        let calibration = "l.json".into();
        assert_eq!(real.unwrap(), Some(ArmChoice::Port { port, calibration }));
        for (words, why) in [("simulated", "wave along"), ("COM5", "its own adapter")] {
            let refused = leader(&format!("{arm} --leader {words}"));
            assert!(refused.unwrap_err().to_string().contains(why), "{words}");
        }
    }

    #[test]
    fn the_place_of_the_table_and_the_reach_of_goals_are_told() {
        let bounds = |words: &str| window(words).arms.bounds();
        assert_eq!(bounds("smolpilot"), Bounds::default());
        let told = bounds("smolpilot --table -20 --max-relative-target 15");
        let table = told.clearance.and_then(|clearance| clearance.table);
        assert_eq!((table, told.max_relative_target), (Some(-0.02), Some(15.0)));
        let edge = bounds("smolpilot --table none");
        assert!(
            edge.clearance
                .is_some_and(|clearance| clearance.table.is_none())
        );
    }

    #[test]
    fn a_view_from_nowhere_is_refused_with_what_there_is() {
        let refused = |words: &str| window(words).options().unwrap_err().to_string();
        let rig = refused("smolpilot --view camera1=side");
        assert!(
            rig.contains("`side`") && rig.contains("front, wrist"),
            "{rig}"
        );
        let arm = "smolpilot --follower COM5 --calibration arm.json --view camera1=front";
        assert!(refused(arm).contains("--camera front=SOURCE"));
        let views = window("smolpilot --view camera1=front --view top=wrist").views;
        let declared = ["observation.images.camera1", "observation.top"].map(str::to_owned);
        known_views(&views, &declared).unwrap();
        let why = known_views(&views, &declared[..1]).unwrap_err().to_string();
        assert!(why.contains("top") && why.contains("camera1"), "{why}");
    }

    #[test]
    fn a_run_takes_its_knobs_and_task_from_the_words() {
        let options = run("smolpilot run --g 0.4 --fps 20 --task stack --device flex")
            .options()
            .unwrap();
        assert_eq!(
            (options.knobs.chunk_size_threshold, options.knobs.fps),
            (0.4, 20.0)
        );
        assert_eq!(
            (options.task.as_str(), options.device),
            ("stack", DeviceChoice::Flex.into())
        );
        assert_eq!(run("smolpilot run").options().unwrap().task, FIRST_TASK);
    }
}
