//! The plan of a recording session as it is typed and remembered, and how it becomes the one that is sent.

use std::path::{Path, PathBuf};
use std::time::Duration;

use directories::UserDirs;
use serde::{Deserialize, Serialize};

use crate::dataset::Codec;
use crate::runtime::{Mode, SessionPlan, Snapshot};

/// Bounds of the fields: episodes, and seconds.
pub const EPISODES: std::ops::RangeInclusive<u32> = 0..=10_000;
pub const EPISODE_SECONDS: std::ops::RangeInclusive<u32> =
    1..=SessionPlan::LONGEST.as_secs() as u32;
pub const PAUSE_SECONDS: std::ops::RangeInclusive<u32> = 0..=600;
pub const FPS: std::ops::RangeInclusive<u32> = 1..=60;
/// What a data set is called where neither it nor a task was named.
const NAMELESS: &str = "recordings";

/// The plan as it stands in its form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlanForm {
    /// A name below the place of the user's data sets, or a folder; empty is named after the task.
    pub folder: String,
    /// Rows a second.
    pub fps: u32,
    /// 0 goes on until the session is ended.
    pub episodes: u32,
    pub episode_seconds: u32,
    /// 0 waits for the operator.
    pub reset_seconds: u32,
    pub warm_up_seconds: u32,
    /// In turn, an episode each; empty takes the task in force.
    pub tasks: Vec<String>,
    /// Cameras that are left out, by name.
    pub without: Vec<String>,
    pub provenance: bool,
    pub chunk: bool,
    /// An encoder of ffmpeg by its name there; empty is the one that is built in.
    pub encoder: String,
    /// The referee of the rig begins and ends the episodes.
    pub judged: bool,
}

impl Default for PlanForm {
    fn default() -> Self {
        Self {
            folder: String::new(),
            fps: 30,
            episodes: 50,
            episode_seconds: 60,
            reset_seconds: 10,
            warm_up_seconds: 5,
            tasks: Vec::new(),
            without: Vec::new(),
            provenance: true,
            chunk: false,
            encoder: String::new(),
            judged: true,
        }
    }
}

impl PlanForm {
    /// Brings values from a file into range.
    #[must_use]
    pub fn sane(mut self) -> Self {
        let fit = |value: u32, range: &std::ops::RangeInclusive<u32>| {
            value.clamp(*range.start(), *range.end())
        };
        self.fps = fit(self.fps, &FPS);
        self.episodes = fit(self.episodes, &EPISODES);
        self.episode_seconds = fit(self.episode_seconds, &EPISODE_SECONDS);
        self.reset_seconds = fit(self.reset_seconds, &PAUSE_SECONDS);
        self.warm_up_seconds = fit(self.warm_up_seconds, &PAUSE_SECONDS);
        self
    }

    /// What the data set is called if nothing is typed: after the first task.
    pub fn default_name(&self, snapshot: &Snapshot) -> String {
        let task = self.tasks.first().unwrap_or(&snapshot.task);
        name_from_task(task)
    }

    /// The data set's folder.
    pub fn root(&self, snapshot: &Snapshot) -> PathBuf {
        let typed = self.folder.trim();
        if typed.is_empty() {
            return home(snapshot).join(self.default_name(snapshot));
        }
        folder_from_text(typed, &home(snapshot))
    }

    /// The plan that is sent.
    pub fn plan(&self, snapshot: &Snapshot) -> SessionPlan {
        let seconds = |count: u32| Duration::from_secs(u64::from(count));
        let pause = |count: u32| match count {
            0 => SessionPlan::BY_HAND,
            count => seconds(count),
        };
        let names = snapshot.cameras.iter().map(|camera| &camera.name);
        let cameras = if self.without.is_empty() {
            Vec::new()
        } else {
            names
                .filter(|name| !self.without.contains(name))
                .cloned()
                .collect()
        };
        let judged = self.judged && snapshot.rig.is_some();
        // Nobody has to get ready, and the rig puts everything back by itself.
        let (warm_up, reset) = if judged && snapshot.mode == Mode::Policy {
            (Duration::ZERO, SessionPlan::RIG_RESET)
        } else {
            (pause(self.warm_up_seconds), pause(self.reset_seconds))
        };
        SessionPlan {
            root: self.root(snapshot),
            fps: self.fps,
            cameras,
            episodes: self.episodes,
            tasks: self.tasks.clone(),
            warm_up,
            episode_limit: seconds(self.episode_seconds),
            reset,
            provenance: self.provenance,
            chunk: self.provenance && self.chunk,
            codec: match self.encoder.as_str() {
                "" => Codec::H264,
                encoder => Codec::Ffmpeg(encoder.to_owned()),
            },
            judged,
        }
    }
}

/// Where data sets of this user go, as the library says; without one, below their home.
fn home(snapshot: &Snapshot) -> PathBuf {
    let library = snapshot.library.as_deref().map(|library| &library.home);
    if let Some(home) = library.filter(|home| !home.as_os_str().is_empty()) {
        return home.clone();
    }
    UserDirs::new().map_or_else(std::env::temp_dir, |user| user.home_dir().join("smolpilot"))
}

/// A folder as it is typed: absolute, from the user's home with a tilde, or below `home`.
pub fn folder_from_text(typed: &str, home: &Path) -> PathBuf {
    match typed.strip_prefix("~/") {
        Some(rest) => match UserDirs::new() {
            Some(user) => user.home_dir().join(rest),
            None => home.join(rest),
        },
        None => home.join(typed),
    }
}

/// A folder's name from a task: "Put the red cube in the box" is `put_the_red_cube_in_the_box`.
fn name_from_task(task: &str) -> String {
    let words: Vec<String> = task
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(8)
        .map(str::to_lowercase)
        .collect();
    if words.is_empty() {
        return NAMELESS.to_owned();
    }
    words.join("_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{LibraryView, RigView};
    use std::sync::Arc;

    fn snapshot() -> Snapshot {
        Snapshot {
            task: "Put the red cube, in the box!".to_owned(),
            library: Some(Arc::new(LibraryView {
                home: PathBuf::from("/there/smolpilot"),
                ..LibraryView::default()
            })),
            ..Snapshot::default()
        }
    }

    #[test]
    fn a_data_set_is_named_after_its_task_unless_it_has_a_name() {
        let mut form = PlanForm::default();
        let snapshot = snapshot();
        let root = form.root(&snapshot);
        assert_eq!(
            root,
            Path::new("/there/smolpilot/put_the_red_cube_in_the_box")
        );
        form.folder = " me/cubes ".to_owned();
        assert_eq!(form.root(&snapshot), Path::new("/there/smolpilot/me/cubes"));
        form.folder = "/elsewhere/cubes".to_owned();
        assert_eq!(form.root(&snapshot), Path::new("/elsewhere/cubes"));
        assert_eq!(name_from_task("?!"), NAMELESS);
    }

    #[test]
    fn a_tilde_is_the_users_home() {
        let user = UserDirs::new().unwrap();
        let folder = folder_from_text("~/cubes", Path::new("/there"));
        assert_eq!(folder, user.home_dir().join("cubes"));
    }

    #[test]
    fn the_rig_needs_no_pause_while_the_policy_drives() {
        let mut snapshot = Snapshot {
            rig: Some(RigView::default().into()),
            ..snapshot()
        };
        let form = PlanForm::default();
        let by_hand = form.plan(&snapshot);
        assert!(by_hand.judged);
        assert_eq!(by_hand.reset, Duration::from_secs(10));
        snapshot.mode = Mode::Policy;
        let plan = form.plan(&snapshot);
        assert_eq!(
            (plan.warm_up, plan.reset),
            (Duration::ZERO, SessionPlan::RIG_RESET)
        );
        let unjudged = PlanForm {
            judged: false,
            ..form
        };
        assert_eq!(unjudged.plan(&snapshot).reset, Duration::from_secs(10));
    }

    #[test]
    fn the_plan_says_what_the_form_says() {
        let form = PlanForm {
            episodes: 3,
            encoder: "libsvtav1".to_owned(),
            chunk: true,
            ..PlanForm::default()
        };
        let plan = form.plan(&snapshot());
        assert_eq!((plan.episodes, plan.fps), (3, 30));
        assert_eq!(plan.codec, Codec::Ffmpeg("libsvtav1".to_owned()));
        assert!(plan.chunk && plan.provenance);
        assert!(!plan.judged, "there is no referee without a rig");
        assert!(plan.cameras.is_empty(), "all of them");
        let spoilt = PlanForm {
            episode_seconds: 90_000,
            fps: 0,
            ..PlanForm::default()
        };
        let sane = spoilt.sane();
        assert_eq!((sane.episode_seconds, sane.fps), (1_000, 1));
    }
}
