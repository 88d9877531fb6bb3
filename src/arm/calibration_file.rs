//! Where LeRobot keeps the calibrations of arms, and how one is kept there so that neither a crash nor a full disk loses it.
//!
//! LeRobot renamed its folders with 0.4.3 (`so101_follower` became `so_follower`). Both names are read, newest first, and
//! both are written, so that whichever LeRobot comes next finds the same arm.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::arm::calibration::{Calibration, CalibrationError};
use crate::arm::role::Role;

/// Folder names by role, newest first.
const FOLLOWERS: [&str; 3] = ["so_follower", "so101_follower", "so100_follower"];
const LEADERS: [&str; 3] = ["so_leader", "so101_leader", "so100_leader"];
/// So many of them are written for an SO-101; the rest only where a file of that arm lies there already.
const WRITTEN: usize = 2;
/// The longest id: file systems have their limits, and so has a label.
const LONGEST_ID: usize = 64;

/// All calibrations on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibrations {
    root: PathBuf,
}

/// An arm that was calibrated here.
#[derive(Debug)]
pub struct KnownArm {
    pub role: Role,
    /// LeRobot's `--robot.id` or `--teleop.id`.
    pub id: String,
    pub path: PathBuf,
    /// What the file says, or why it cannot be used.
    pub calibration: Result<Calibration, CalibrationError>,
}

impl Calibrations {
    /// Where LeRobot keeps them for this user. `$HF_LEROBOT_CALIBRATION` and `$HF_LEROBOT_HOME` move the place, as they do
    /// for LeRobot. `None` on a system that names no home.
    pub fn of_user() -> Option<Self> {
        let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let home = || directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned());
        variable("HF_LEROBOT_CALIBRATION")
            .or_else(|| variable("HF_LEROBOT_HOME").map(|base| base.join("calibration")))
            .or_else(|| home().map(|home| home.join(".cache/huggingface/lerobot/calibration")))
            .map(Self::below)
    }

    /// Those below another folder.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folders of a role, newest naming first.
    pub fn folders(&self, role: Role) -> [PathBuf; 3] {
        let (kind, names) = match role {
            Role::Follower => ("robots", FOLLOWERS),
            Role::Leader => ("teleoperators", LEADERS),
        };
        names.map(|name| self.root.join(kind).join(name))
    }

    /// Where the calibration of an arm may be, newest naming first.
    pub fn paths(&self, role: Role, id: &str) -> [PathBuf; 3] {
        self.folders(role)
            .map(|folder| folder.join(format!("{id}.json")))
    }

    /// The file of an arm, if there is one.
    pub fn find(&self, role: Role, id: &str) -> Option<PathBuf> {
        let mut paths = self.paths(role, id).into_iter();
        paths.find(|path| path.is_file())
    }

    /// The calibration of an arm.
    ///
    /// # Errors
    /// There is no file, or it cannot be used; names it and the way out.
    pub fn read(&self, role: Role, id: &str) -> Result<Calibration, CalibrationError> {
        let found = self
            .find(role, id)
            .ok_or_else(|| CalibrationError::Absent {
                role,
                id: id.to_owned(),
                tried: self.paths(role, id)[0].clone(),
            })?;
        Calibration::read(&found)
    }

    /// Every arm that was calibrated here, followers first, by id; each once, in its newest file.
    pub fn list(&self) -> Vec<KnownArm> {
        let mut known: Vec<KnownArm> = Vec::new();
        for role in Role::ALL {
            let mut arms: Vec<(String, PathBuf)> = Vec::new();
            for folder in self.folders(role) {
                let fresh = files_in(&folder);
                arms.extend(
                    fresh
                        .into_iter()
                        .filter(|(id, _)| {
                            // An arm in two folders is one arm.
                            !arms.iter().any(|(known, _)| known == id)
                        })
                        .collect::<Vec<_>>(),
                );
            }
            arms.sort();
            known.extend(arms.into_iter().map(|(id, path)| KnownArm {
                role,
                id,
                calibration: Calibration::read(&path),
                path,
            }));
        }
        known
    }

    /// Writes the calibration of an arm beside its places, complete and flushed, so that all that is left to do is a
    /// rename. Nothing that is there is touched.
    ///
    /// # Errors
    /// An id that cannot name a file, or a folder that cannot be made or written; names it.
    pub fn stage(
        &self,
        role: Role,
        id: &str,
        calibration: &Calibration,
    ) -> Result<Staged, CalibrationError> {
        check_id(id)?;
        let text = calibration.to_json();
        let mut staged = Staged { files: Vec::new() };
        for (place, path) in self.paths(role, id).into_iter().enumerate() {
            if place < WRITTEN || path.is_file() {
                let fresh = beside(&path, "new");
                staged.files.push((fresh.clone(), path.clone()));
                write_flushed(&fresh, &text).map_err(|source| CalibrationError::Write {
                    path: path.clone(),
                    source,
                })?;
            }
        }
        Ok(staged)
    }
}

/// A calibration that lies ready. Dropped without [`Staged::commit`] it leaves no trace.
#[derive(Debug)]
pub struct Staged {
    /// The complete file, and where it belongs.
    files: Vec<(PathBuf, PathBuf)>,
}

impl Staged {
    /// Puts the files into their places; each one's predecessor is kept as `.bak`. A crash leaves the old file or the new
    /// one, never half of one. Returns where they are.
    ///
    /// # Errors
    /// The first place could not be changed: then nothing was. Where only an older naming fails, the log says so.
    pub fn commit(mut self) -> Result<Vec<PathBuf>, CalibrationError> {
        let mut kept = Vec::new();
        for (fresh, path) in std::mem::take(&mut self.files) {
            match replace(&fresh, &path) {
                Ok(()) => kept.push(path),
                Err(source) if kept.is_empty() => {
                    // Those that are left are removed by the drop.
                    self.files.push((fresh, path.clone()));
                    return Err(CalibrationError::Write { path, source });
                }
                Err(error) => {
                    log::warn!("the calibration is not in {}: {error}", path.display());
                    self.files.push((fresh, path));
                }
            }
        }
        Ok(kept)
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        for (fresh, _) in &self.files {
            // It may never have been made.
            fs::remove_file(fresh).ok();
        }
    }
}

/// Whether an id can name a file on every system.
///
/// # Errors
/// What is wrong with it.
pub fn check_id(id: &str) -> Result<(), CalibrationError> {
    let strange = |c: char| c.is_control() || "/\\:*?\"<>|".contains(c);
    let problem = if id.is_empty() {
        "it is empty"
    } else if id.len() > LONGEST_ID {
        "it is longer than 64 letters"
    } else if id.starts_with('.') || id.ends_with(['.', ' ']) || id.starts_with(' ') {
        "it begins or ends with a dot or a space"
    } else if id.contains(strange) {
        "it holds a character that no file name may hold"
    } else {
        return Ok(());
    };
    Err(CalibrationError::Id {
        id: id.to_owned(),
        problem,
    })
}

/// Ids and files of the calibrations in a folder; none where there is no folder.
fn files_in(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path()).filter_map(|path| {
        let is_json = path.extension().is_some_and(|kind| kind == "json");
        let id = path.file_stem()?.to_str()?.to_owned();
        (is_json && path.is_file()).then_some((id, path))
    });
    files.collect()
}

/// The path with another ending behind the whole name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn write_flushed(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Keeps what is at `path` as `kept` too. By a second name where the file system has such: the servos may hold the new
/// calibration already, and a disk that filled up since must not be what parts them from their file.
fn keep(path: &Path, kept: &Path) -> io::Result<()> {
    match fs::remove_file(kept) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    fs::hard_link(path, kept).or_else(|_| fs::copy(path, kept).map(drop))
}

/// Moves `fresh` to `path`, keeping what was there as `.bak`, unless it is the same.
fn replace(fresh: &Path, path: &Path) -> io::Result<()> {
    match fs::read(path) {
        Ok(before) if before == fs::read(fresh)? => return fs::remove_file(fresh),
        Ok(_) => keep(path, &beside(path, "bak"))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    fs::rename(fresh, path)?;
    // The rename itself must reach the disk too; where folders cannot be opened, the system sees to it.
    if let Some(folder) = path.parent().and_then(|folder| File::open(folder).ok()) {
        folder.sync_all().ok();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joint::Joint;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn other() -> Calibration {
        let mut motors = Joint::ALL.map(|joint| Calibration::simulated().motor(joint));
        motors[2].range_max = 3000;
        Calibration::new(motors).unwrap()
    }

    #[test]
    fn both_namings_of_both_roles_are_written_and_the_predecessor_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let kept = Calibrations::below(place.path());
        for (role, new, old) in [
            (
                Role::Follower,
                "robots/so_follower",
                "robots/so101_follower",
            ),
            (
                Role::Leader,
                "teleoperators/so_leader",
                "teleoperators/so101_leader",
            ),
        ] {
            let first = kept.stage(role, "blue", &Calibration::simulated()).unwrap();
            assert!(
                kept.find(role, "blue").is_none(),
                "nothing before the commit"
            );
            let paths = first.commit().unwrap();
            let folders = [new, old].map(|folder| place.path().join(folder));
            assert_eq!(
                paths,
                folders.each_ref().map(|folder| folder.join("blue.json"))
            );
            kept.stage(role, "blue", &other())
                .unwrap()
                .commit()
                .unwrap();
            for folder in &folders {
                assert_eq!(names(folder), ["blue.json", "blue.json.bak"]);
                let before = Calibration::from_json(
                    &fs::read_to_string(folder.join("blue.json.bak")).unwrap(),
                    folder,
                );
                assert_eq!(before.unwrap(), Calibration::simulated());
            }
            assert_eq!(kept.read(role, "blue").unwrap(), other());
        }
        assert!(!place.path().join("robots/so100_follower").exists());
    }

    #[test]
    fn the_same_calibration_again_keeps_the_older_predecessor() {
        let place = tempfile::tempdir().unwrap();
        let kept = Calibrations::below(place.path());
        for calibration in [Calibration::simulated(), other(), other()] {
            let staged = kept.stage(Role::Follower, "blue", &calibration).unwrap();
            staged.commit().unwrap();
        }
        let bak = kept.paths(Role::Follower, "blue")[0].with_extension("json.bak");
        assert_eq!(
            fs::read_to_string(bak).unwrap(),
            Calibration::simulated().to_json()
        );
    }

    /// The servos are written between the staging and the commit; a disk that is full by then must not be what fails.
    #[cfg(unix)]
    #[test]
    fn the_commit_needs_no_room_on_the_disk() {
        use std::os::unix::fs::MetadataExt as _;
        let place = tempfile::tempdir().unwrap();
        let kept = Calibrations::below(place.path());
        let stage =
            |calibration: &Calibration| kept.stage(Role::Follower, "blue", calibration).unwrap();
        let first = Calibration::simulated();
        let path = stage(&first).commit().unwrap().remove(0);
        let node = |path: &Path| fs::metadata(path).unwrap().ino();
        let before = node(&path);
        let second = other();
        let staged = stage(&second);
        let fresh = node(&beside(&path, "new"));
        staged.commit().unwrap();
        assert_eq!((node(&path), node(&beside(&path, "bak"))), (fresh, before));
    }

    #[test]
    fn what_is_not_committed_leaves_no_trace() {
        let place = tempfile::tempdir().unwrap();
        let kept = Calibrations::below(place.path());
        drop(kept.stage(Role::Leader, "red", &other()).unwrap());
        assert!(names(&kept.folders(Role::Leader)[0]).is_empty());
    }

    #[test]
    fn a_place_that_cannot_be_changed_is_named_and_nothing_is_left_over() {
        let place = tempfile::tempdir().unwrap();
        let kept = Calibrations::below(place.path());
        let staged = kept.stage(Role::Follower, "blue", &other()).unwrap();
        // A folder in the way of the file.
        let path = kept.paths(Role::Follower, "blue")[0].clone();
        fs::create_dir(&path).unwrap();
        let error = staged.commit().unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
        assert_eq!(names(&kept.folders(Role::Follower)[0]), ["blue.json"]);
    }

    #[test]
    fn arms_are_listed_once_in_their_newest_file() {
        let place = tempfile::tempdir().unwrap();
        let kept = Calibrations::below(place.path());
        assert!(kept.list().is_empty());
        let [new, old, oldest] = kept.folders(Role::Follower);
        for folder in [&new, &old, &oldest] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(oldest.join("grey.json"), Calibration::simulated().to_json()).unwrap();
        fs::write(old.join("blue.json"), "{}").unwrap();
        fs::write(new.join("blue.json"), Calibration::simulated().to_json()).unwrap();
        fs::write(new.join("blue.json.bak"), "{}").unwrap();
        kept.stage(Role::Leader, "amber", &other())
            .unwrap()
            .commit()
            .unwrap();
        let list = kept.list();
        let ids: Vec<_> = list.iter().map(|arm| (arm.role, arm.id.as_str())).collect();
        assert_eq!(
            ids,
            [
                (Role::Follower, "blue"),
                (Role::Follower, "grey"),
                (Role::Leader, "amber")
            ]
        );
        assert!(list.iter().all(|arm| arm.calibration.is_ok()));
        // An arm of the old naming that is calibrated anew is the same in all of them.
        kept.stage(Role::Follower, "grey", &other())
            .unwrap()
            .commit()
            .unwrap();
        assert_eq!(
            fs::read_to_string(oldest.join("grey.json")).unwrap(),
            other().to_json()
        );
    }

    #[test]
    fn an_id_must_be_able_to_name_a_file() {
        for id in ["blue", "my arm 2", "so101-left", "None", "Größe"] {
            check_id(id).unwrap();
        }
        for id in [
            "",
            ".hidden",
            "../up",
            "a/b",
            "C:\\x",
            "end.",
            " x",
            "a\nb",
            &"x".repeat(65),
        ] {
            assert!(check_id(id).is_err(), "{id:?}");
        }
        let place = tempfile::tempdir().unwrap();
        let kept = Calibrations::below(place.path());
        assert!(kept.stage(Role::Follower, "../up", &other()).is_err());
        let absent = kept.read(Role::Leader, "blue").unwrap_err().to_string();
        assert!(
            absent.contains("leader") && absent.contains("blue"),
            "{absent}"
        );
    }
}
