//! Keeps what the operator chose on disk, on a thread of its own, so that neither the window nor the control loop waits
//! for a disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};

use crate::latest::Latest;
use crate::runtime::{Settings, Snapshot, salvage};
use crate::ui::Preferences;

/// How often choices are compared with what is on disk.
const LOOK: Duration = Duration::from_secs(1);

/// Name of the window's own file, beside the settings.
const WINDOW_FILE: &str = "window.json";

/// The thread that saves. Dropping it saves a last time.
#[derive(Debug)]
pub struct Keeper {
    /// Dropped to say stop.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What is kept, and where.
struct Kept {
    path: PathBuf,
    settings: Settings,
    snapshot: Latest<Snapshot>,
    preferences: Latest<Preferences>,
    saved: Option<Preferences>,
}

impl Keeper {
    /// Starts the thread; it follows `snapshot` and `preferences`.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(
        path: PathBuf,
        settings: Settings,
        snapshot: Latest<Snapshot>,
        preferences: Latest<Preferences>,
    ) -> io::Result<Self> {
        let (stop, stopped) = bounded(0);
        let mut kept = Kept {
            path,
            settings,
            snapshot,
            saved: preferences.get().map(|now| Preferences::clone(&now)),
            preferences,
        };
        let thread = thread::Builder::new()
            .name("settings".to_owned())
            .spawn(move || kept.follow(&stopped))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.stop = None;
        if self
            .thread
            .take()
            .is_some_and(|thread| thread.join().is_err())
        {
            log::error!("the thread that keeps the settings had panicked");
        }
    }
}

impl Kept {
    fn follow(&mut self, stopped: &Receiver<()>) {
        while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            self.save();
        }
        self.save();
    }

    fn save(&mut self) {
        let seen = self.snapshot.get();
        if seen.is_some_and(|seen| self.settings.follow(&seen))
            && let Err(error) = self.settings.save(&self.path)
        {
            log::warn!("the settings are not kept: {error}");
        }
        let Some(now) = self.preferences.get() else {
            return;
        };
        if self.saved.as_ref() != Some(&*now) {
            let file = self.path.with_file_name(WINDOW_FILE);
            if let Err(error) = write_preferences(&file, &now) {
                log::warn!(
                    "the window's settings are not kept in {}: {error}",
                    file.display()
                );
            }
            self.saved = Some(Preferences::clone(&now));
        }
    }
}

/// What the window remembered beside the settings at `path`; the defaults where there is nothing readable.
pub fn read_preferences(path: &Path) -> Preferences {
    let file = path.with_file_name(WINDOW_FILE);
    match fs::read(&file).map(|text| salvage::<Preferences>(&text)) {
        Ok(Ok((preferences, unread))) => {
            if !unread.is_empty() {
                let (file, unread) = (file.display(), unread.join(", "));
                log::warn!("{file}: {unread} cannot be read, the window has the defaults for it");
            }
            preferences.sane()
        }
        Ok(Err(error)) => {
            log::warn!(
                "{} is not readable, the window starts with defaults: {error}",
                file.display()
            );
            Preferences::default()
        }
        Err(_) => Preferences::default(),
    }
}

fn write_preferences(file: &Path, preferences: &Preferences) -> io::Result<()> {
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
    }
    let fresh = file.with_extension("json.new");
    fs::write(&fresh, serde_json::to_vec_pretty(preferences)?)?;
    fs::rename(&fresh, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_on_disk_when_the_keeper_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("smolpilot/settings.json");
        let (snapshot, preferences) = (Latest::new(), Latest::new());
        let start = Settings::default();
        let keeper = Keeper::start(path.clone(), start, snapshot.clone(), preferences.clone());
        snapshot.set(Snapshot {
            task: "stack the cubes".into(),
            ..Snapshot::default()
        });
        preferences.set(Preferences {
            plot_seconds: 20,
            ..Preferences::default()
        });
        drop(keeper.unwrap());
        assert_eq!(Settings::load(&path).0.task, "stack the cubes");
        assert_eq!(read_preferences(&path).plot_seconds, 20);
    }

    #[test]
    fn a_spoilt_file_costs_the_window_only_its_looks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        assert_eq!(read_preferences(&path), Preferences::default());
        fs::write(folder.path().join(WINDOW_FILE), "{ half").unwrap();
        assert_eq!(read_preferences(&path), Preferences::default());
        let text =
            r#"{"theme": "pink", "plot_seconds": 20, "recording": {"fps": -1, "folder": "cubes"}}"#;
        fs::write(folder.path().join(WINDOW_FILE), text).unwrap();
        let kept = read_preferences(&path);
        assert_eq!(
            (kept.plot_seconds, kept.recording.folder.as_str()),
            (20, "cubes")
        );
    }
}
