//! Where data sets are looked for, and where new ones go.

use std::fs;
use std::path::{Path, PathBuf};

use directories::UserDirs;

/// Folders below a place that are looked into: `name`, and `owner/name` as LeRobot lays them.
const DEPTH: usize = 2;
/// Data sets listed at most; a place with more is not what it was taken for.
const MOST: usize = 1000;
/// What makes a folder a data set, and what a crash before the first save leaves of one.
pub const INFO: &str = "meta/info.json";
pub const JOURNALS: &str = ".recording";

/// The places of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// New data sets go below it.
    pub home: PathBuf,
    /// Where others are looked for.
    pub others: Vec<PathBuf>,
    /// Data sets elsewhere that were opened in this session.
    pub visited: Vec<PathBuf>,
}

impl Places {
    /// `~/smolpilot`, and the place where LeRobot keeps its data sets.
    pub fn of_user() -> Self {
        let user = UserDirs::new();
        let home = user.map_or_else(std::env::temp_dir, |user| user.home_dir().to_owned());
        Self {
            others: crate::dataset::hub::home().into_iter().collect(),
            home: home.join("smolpilot"),
            visited: Vec::new(),
        }
    }

    /// The folders of all data sets, in the order of the places, by name.
    pub fn roots(&self) -> Vec<PathBuf> {
        let mut roots = Vec::new();
        for place in std::iter::once(&self.home).chain(&self.others) {
            find(place, DEPTH, &mut roots);
        }
        for root in &self.visited {
            if !roots.contains(root) && is_dataset(root) {
                roots.push(root.clone());
            }
        }
        roots.truncate(MOST);
        roots
    }

    /// Remembers a data set that lies elsewhere.
    pub fn visit(&mut self, root: &Path) {
        if !self.visited.iter().any(|known| known == root) {
            self.visited.push(root.to_owned());
        }
    }

    /// What people call a data set: its path below the place where it lies.
    pub fn name(&self, root: &Path) -> String {
        let below = std::iter::once(&self.home)
            .chain(&self.others)
            .find_map(|place| root.strip_prefix(place).ok());
        let name = match below {
            Some(below) => below,
            None => Path::new(root.file_name().unwrap_or(root.as_os_str())),
        };
        name.to_string_lossy().replace('\\', "/")
    }
}

fn is_dataset(folder: &Path) -> bool {
    folder.join(INFO).is_file() || folder.join(JOURNALS).is_dir()
}

fn find(place: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    // A place that is not there has no data sets; one that may not be read is as good as empty.
    let Ok(entries) = fs::read_dir(place) else {
        return;
    };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && !is_hidden(path))
        .collect();
    folders.sort();
    for folder in folders {
        if is_dataset(&folder) {
            if !found.contains(&folder) {
                found.push(folder);
            }
        } else if depth > 1 {
            find(&folder, depth - 1, found);
        }
    }
}

fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_sets_are_found_two_folders_deep_and_named_after_their_place() {
        let place = tempfile::tempdir().unwrap();
        let make = |below: &str| {
            let root = place.path().join(below);
            fs::create_dir_all(root.join("meta")).unwrap();
            fs::write(root.join(INFO), "{}").unwrap();
            root
        };
        let cube = make("home/cube");
        let pusht = make("lerobot/them/pusht");
        make("lerobot/a/b/c");
        make("home/.hidden");
        let elsewhere = make("elsewhere/old");
        fs::create_dir_all(place.path().join("home/killed").join(JOURNALS)).unwrap();
        let mut places = Places {
            home: place.path().join("home"),
            others: vec![place.path().join("lerobot"), place.path().join("none")],
            visited: Vec::new(),
        };
        let killed = place.path().join("home/killed");
        assert_eq!(places.roots(), [&cube, &killed, &pusht].map(Clone::clone));
        places.visit(&elsewhere);
        places.visit(&elsewhere);
        assert_eq!(places.roots().len(), 4);
        assert_eq!(places.name(&pusht), "them/pusht");
        assert_eq!(places.name(&elsewhere), "old");
    }
}
