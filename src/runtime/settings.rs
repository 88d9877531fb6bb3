//! What the operator chose, kept between sessions as one small JSON file in the user's configuration directory.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use directories::ProjectDirs;
use serde::{Deserialize, Serialize};

use crate::arm::{PortInfo, path_of};
use crate::runtime::binding::{bind, camera_of};
use crate::runtime::salvage::salvage;
use crate::runtime::{ArmSource, Knobs, Snapshot, ViewBinding};

/// What is kept of a run. Policy and cameras are named at each start, so that none drives unexpectedly; an arm that was chosen
/// is connected again, limp; how the window looks is kept beside it. A file that lacks a field gets its default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub knobs: Knobs,
    /// The task in force.
    pub task: String,
    /// Cameras by view of the checkpoint.
    pub views: Vec<ViewBinding>,
    /// The arms that were chosen in the window.
    pub arms: KeptArms,
}

/// The chosen arms, by role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptArms {
    pub follower: Option<KeptArm>,
    pub leader: Option<KeptArm>,
}

/// A real arm that was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptArm {
    /// Where it was.
    pub path: String,
    /// The id of its calibration.
    pub id: String,
    /// The number of its adapter, by which it is found again wherever it is plugged in.
    pub serial: Option<String>,
}

impl KeptArm {
    /// Where it is now, among these ports.
    pub fn source(&self, ports: &[PortInfo]) -> ArmSource {
        ArmSource::Port {
            path: path_of(self.serial.as_deref(), &self.path, ports),
            id: self.id.clone(),
        }
    }

    /// What is to be kept of an arm in use; nothing of the pretend one. `before` is what was kept.
    fn of(source: Option<&ArmSource>, before: Option<&Self>, seen: &Snapshot) -> Option<Self> {
        let ArmSource::Port { path, id } = source? else {
            return None;
        };
        let listed = seen
            .workshop
            .port(path)
            .map(|port| port.info.serial.clone());
        let known = before.filter(|kept| kept.path == *path);
        Some(Self {
            path: path.clone(),
            id: id.clone(),
            serial: listed.unwrap_or_else(|| known.and_then(|kept| kept.serial.clone())),
        })
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            knobs: Knobs::untouched(),
            task: String::new(),
            views: vec![],
            arms: KeptArms::default(),
        }
    }
}

/// Why settings could not be read or written; the text says what is done instead.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("this system names no configuration directory for the user, so settings are not kept")]
    NoPlace,
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "{path} is not readable as settings ({source}); it was kept as {kept} and the defaults are used"
    )]
    Unreadable {
        path: PathBuf,
        kept: PathBuf,
        source: serde_json::Error,
    },
    #[error(
        "{path}: {} cannot be read; the defaults are used for it, and the file was copied to {kept}", unread.join(", ")
    )]
    Partly {
        path: PathBuf,
        kept: PathBuf,
        unread: Vec<String>,
    },
}

impl Settings {
    /// Where this user's settings are.
    ///
    /// # Errors
    /// The system names no place.
    pub fn path() -> Result<PathBuf, SettingsError> {
        let places = ProjectDirs::from("", "", "smolpilot").ok_or(SettingsError::NoPlace)?;
        Ok(places.config_dir().join("settings.json"))
    }

    /// Reads `path`. No file means the defaults. One that is unreadable, or partly, is kept aside as `.bad`; what could be read of
    /// it and the defaults for the rest are there beside the error.
    pub fn load(path: &Path) -> (Self, Option<SettingsError>) {
        let text = match fs::read(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return (Self::default(), None);
            }
            Err(source) => return (Self::default(), Some(at(path, source))),
        };
        let (path, kept) = (path.to_owned(), path.with_extension("json.bad"));
        match salvage(&text) {
            Ok((settings, unread)) if unread.is_empty() => (settings, None),
            Ok((settings, unread)) => {
                // A copy: what is good must be there at the next start, too, even if nothing is saved until then.
                let error = match fs::copy(&path, &kept) {
                    Ok(_) => SettingsError::Partly { path, kept, unread },
                    Err(source) => at(&kept, source),
                };
                (settings, Some(error))
            }
            Err(source) => {
                let error = match fs::rename(&path, &kept) {
                    Ok(()) => SettingsError::Unreadable { path, kept, source },
                    Err(source) => at(&path, source),
                };
                (Self::default(), Some(error))
            }
        }
    }

    /// Writes `path` so that a crash leaves either the old or the new file, never half of one.
    ///
    /// # Errors
    /// The directory cannot be made or written; names the file.
    pub fn save(&self, path: &Path) -> Result<(), SettingsError> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| at(path, error.into()))?;
        let fresh = path.with_extension("json.new");
        let write = || -> io::Result<()> {
            if let Some(directory) = path.parent() {
                fs::create_dir_all(directory)?;
            }
            let mut file = File::create(&fresh)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&fresh, path)
        };
        write().map_err(|source| at(path, source))
    }

    /// Takes over what a snapshot shows; true when that changed something worth saving.
    ///
    /// With auto g the measured g is not a choice, and a view whose camera is missing is not one either: it may come back.
    pub fn follow(&mut self, seen: &Snapshot) -> bool {
        let before = self.clone();
        let chosen_g = self.knobs.chunk_size_threshold;
        self.knobs = seen.wanted;
        if seen.wanted.auto_threshold {
            self.knobs.chunk_size_threshold = chosen_g;
        }
        self.task.clone_from(&seen.task);
        for binding in &seen.views {
            if binding.camera.is_some() || self.unbound(binding, seen) {
                bind(&mut self.views, &binding.view, binding.camera.clone());
            }
        }
        if seen.arms_chosen {
            let kept = |source: &Option<ArmSource>, before: &Option<KeptArm>| {
                KeptArm::of(source.as_ref(), before.as_ref(), seen)
            };
            self.arms = KeptArms {
                follower: kept(&seen.sources.follower, &before.arms.follower),
                leader: kept(&seen.sources.leader, &before.arms.leader),
            };
        }
        *self != before
    }

    /// Whether the operator took a camera away from a view: the one that is kept for it is still there.
    fn unbound(&self, binding: &ViewBinding, seen: &Snapshot) -> bool {
        let mut kept = self.views.iter().filter(|kept| kept.view == binding.view);
        kept.any(|kept| camera_of(kept, &seen.cameras).is_some())
    }
}

fn at(path: &Path, source: io::Error) -> SettingsError {
    let path = path.to_owned();
    SettingsError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::workshop::{Line, PortView, WorkshopView};
    use crate::runtime::{CameraStatus, CameraView, Scheduling, WHOLE_CHUNK};

    #[test]
    fn settings_survive_and_old_files_get_defaults_for_what_they_lack() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("deep/settings.json");
        assert_eq!(Settings::load(&path).0, Settings::default());
        let mut settings = Settings {
            task: "stack".to_owned(),
            ..Settings::default()
        };
        settings.knobs.scheduling = Scheduling::Rtc;
        settings.save(&path).unwrap();
        settings.save(&path).unwrap();
        let (read, trouble) = Settings::load(&path);
        assert!(trouble.is_none() && read == settings);
        assert_eq!(fs::read_dir(place.path().join("deep")).unwrap().count(), 1);
        fs::write(&path, r#"{"task": "wave", "of": "the future"}"#).unwrap();
        assert_eq!(Settings::load(&path).0.task, "wave");
    }

    #[test]
    fn one_bad_value_costs_only_itself() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("settings.json");
        let text = r#"{"task": "wave", "knobs": {"fps": "fast", "num_steps": 7}, "arms": {"leader": {"path": 3}}}"#;
        fs::write(&path, text).unwrap();
        let (read, trouble) = Settings::load(&path);
        assert_eq!((read.task.as_str(), read.knobs.num_steps), ("wave", 7));
        assert_eq!(read.knobs.fps, Knobs::untouched().fps);
        let words = trouble.map(|trouble| trouble.to_string()).unwrap();
        for named in ["knobs.fps", "arms.leader", "settings.json.bad"] {
            assert!(words.contains(named), "{words}");
        }
        assert_eq!(Settings::load(&path).0, read, "it stays for the next start");
    }

    #[test]
    fn an_unreadable_file_is_kept_aside() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("settings.json");
        fs::write(&path, "{ half a fi").unwrap();
        let (read, trouble) = Settings::load(&path);
        assert_eq!(read, Settings::default());
        let words = trouble.map(|trouble| trouble.to_string()).unwrap();
        assert!(words.contains("settings.json.bad"), "{words}");
        let kept = fs::read_to_string(place.path().join("settings.json.bad")).unwrap();
        assert_eq!(kept, "{ half a fi");
        assert!(!path.exists() && Settings::load(&path).1.is_none());
    }

    #[test]
    fn arms_are_kept_once_they_were_chosen_by_the_number_of_their_board() {
        let mut settings = Settings::default();
        let real = ArmSource::Port {
            path: "/dev/ttyACM1".to_owned(),
            id: "blue".to_owned(),
        };
        let mut seen = Snapshot::default();
        seen.sources.follower = Some(real);
        settings.follow(&seen);
        assert_eq!(
            settings.arms,
            KeptArms::default(),
            "named at the start, not chosen"
        );
        let listed = PortView {
            info: PortInfo {
                path: "/dev/ttyACM1".to_owned(),
                serial: Some("A1".to_owned()),
                ..PortInfo::default()
            },
            line: Line::Unknown,
        };
        seen.workshop = std::sync::Arc::new(WorkshopView {
            ports: vec![listed],
            ..WorkshopView::default()
        });
        seen.arms_chosen = true;
        assert!(settings.follow(&seen));
        let kept = settings.arms.follower.clone().unwrap();
        assert_eq!(
            (kept.id.as_str(), kept.serial.as_deref()),
            ("blue", Some("A1"))
        );
        // Unplugged: it is remembered all the same.
        seen.workshop = std::sync::Arc::default();
        assert!(!settings.follow(&seen));
        seen.sources.follower = Some(ArmSource::Simulated);
        assert!(settings.follow(&seen) && settings.arms.follower.is_none());
        let text = serde_json::to_string(&settings).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), settings);
    }

    #[test]
    fn a_snapshot_is_followed_where_the_operator_chose() {
        let mut settings = Settings::default();
        let mut seen = Snapshot {
            task: "wave".to_owned(),
            ..Snapshot::default()
        };
        seen.wanted = Knobs {
            auto_threshold: true,
            chunk_size_threshold: 0.31,
            ..Knobs::untouched()
        };
        for camera in [Some("front".to_owned()), None] {
            let view = "observation.images.front".to_owned();
            seen.views = vec![ViewBinding { view, camera }];
            settings.follow(&seen);
        }
        assert_eq!(settings.knobs.chunk_size_threshold, 0.7);
        assert_eq!(settings.knobs.actions_per_chunk, WHOLE_CHUNK);
        assert_eq!(settings.views[0].camera.as_deref(), Some("front"));
        assert_eq!(settings.task, "wave");
        seen.wanted.chunk_size_threshold = 0.32;
        assert!(!settings.follow(&seen), "nothing was chosen");
        seen.cameras = vec![CameraView {
            name: "front".to_owned(),
            source: String::new(),
            frame: None,
            age: None,
            rate_hz: 0.0,
            status: CameraStatus::Live,
        }];
        assert!(settings.follow(&seen), "taken away while it is there");
        assert_eq!(settings.views[0].camera, None);
    }
}
