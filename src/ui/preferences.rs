//! What the window remembers between sessions: how it looks, and the tasks that were typed.

use serde::{Deserialize, Serialize};

use crate::ui::record::PlanForm;

/// How many tasks are remembered; the first nine have a key.
pub const TASKS_KEPT: usize = 20;
/// Bounds of the scale.
pub const SCALE: std::ops::RangeInclusive<f32> = 0.75..=3.0;

/// Dark, light, or what the desktop says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThemeChoice {
    #[default]
    Dark,
    Light,
    System,
}

impl ThemeChoice {
    /// All, in the order they are offered.
    pub const ALL: [Self; 3] = [Self::Dark, Self::Light, Self::System];

    /// A word for a button.
    pub fn label(self) -> &'static str {
        match self {
            Self::Dark => "Dark",
            Self::Light => "Light",
            Self::System => "As the desktop",
        }
    }
}

impl From<ThemeChoice> for egui::ThemePreference {
    fn from(choice: ThemeChoice) -> Self {
        match choice {
            ThemeChoice::Dark => Self::Dark,
            ThemeChoice::Light => Self::Light,
            ThemeChoice::System => Self::System,
        }
    }
}

/// The window's own settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Preferences {
    pub theme: ThemeChoice,
    /// Zoom on top of the display's own scale, 0.75 to 3.
    pub scale: f32,
    /// Upper bound of the drawing rate while something moves, Hz.
    pub frame_rate: u32,
    /// Width of the time axis of the plots, seconds into the past.
    pub plot_seconds: u32,
    /// Tasks, newest first, without repeats.
    pub tasks: Vec<String>,
    /// The keys that stop and take over while another window has the focus, by name as the settings page lists them; empty is off.
    pub stop_key: String,
    pub takeover_key: String,
    /// The recording session as it was planned last.
    pub recording: PlanForm,
}

/// Keys on offer that nothing else wants; foot pedals send those beyond F12.
pub const GLOBAL_KEYS: [&str; 16] = [
    "Pause",
    "ScrollLock",
    "F7",
    "F8",
    "F9",
    "F10",
    "F12",
    "F13",
    "F14",
    "F15",
    "F16",
    "F17",
    "F18",
    "F19",
    "F20",
    "F24",
];

/// A stop that always works is on from the start, by a key that types nothing; keyboards of a Mac have no Pause.
const STOP_KEY: &str = if cfg!(target_os = "macos") {
    "F13"
} else {
    "Pause"
};

impl Default for Preferences {
    fn default() -> Self {
        Self {
            theme: ThemeChoice::default(),
            scale: 1.0,
            frame_rate: 60,
            plot_seconds: 10,
            tasks: Vec::new(),
            stop_key: STOP_KEY.to_owned(),
            takeover_key: String::new(),
            recording: PlanForm::default(),
        }
    }
}

impl Preferences {
    /// Drawing rates on offer, Hz.
    pub const FRAME_RATES: [u32; 3] = [15, 30, 60];
    /// Time axes on offer, seconds.
    pub const PLOT_SECONDS: [u32; 3] = [5, 10, 20];

    /// Brings values from a file into range.
    #[must_use]
    pub fn sane(mut self) -> Self {
        let scale = if self.scale.is_finite() {
            self.scale
        } else {
            1.0
        };
        self.scale = scale.clamp(*SCALE.start(), *SCALE.end());
        self.frame_rate = self.frame_rate.clamp(5, 60);
        self.plot_seconds = self.plot_seconds.clamp(2, 20);
        self.tasks.truncate(TASKS_KEPT);
        self.recording = self.recording.sane();
        for key in [&mut self.stop_key, &mut self.takeover_key] {
            if !GLOBAL_KEYS.contains(&key.as_str()) {
                key.clear();
            }
        }
        if self.takeover_key == self.stop_key {
            self.takeover_key.clear();
        }
        self
    }

    /// Puts a task in front of the list.
    pub fn remember_task(&mut self, task: &str) {
        if task.is_empty() || self.tasks.first().is_some_and(|first| first == task) {
            return;
        }
        self.tasks.retain(|other| other != task);
        self.tasks.insert(0, task.to_owned());
        self.tasks.truncate(TASKS_KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_task_is_first_and_only_once() {
        let mut preferences = Preferences::default();
        for task in ["a", "b", "a", "", "a"] {
            preferences.remember_task(task);
        }
        assert_eq!(preferences.tasks, ["a", "b"]);
        for i in 0..50 {
            preferences.remember_task(&format!("task {i}"));
        }
        assert_eq!(preferences.tasks.len(), TASKS_KEPT);
    }

    #[test]
    fn a_spoilt_file_is_brought_into_range() {
        let spoilt = Preferences {
            scale: f32::NAN,
            frame_rate: 0,
            plot_seconds: 900,
            ..Preferences::default()
        };
        let sane = spoilt.sane();
        assert_eq!(
            (sane.scale, sane.frame_rate, sane.plot_seconds),
            (1.0, 5, 20)
        );
    }
}
