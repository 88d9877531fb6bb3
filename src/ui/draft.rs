//! What belongs to the window alone: text being typed, which page is open, where the 3D eye stands. Never the truth.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::joint::JointVec;
use crate::runtime::{Knobs, PolicyStatus, Snapshot};
use crate::ui::hand::HandDraft;
use crate::ui::inputs::Inputs;
use crate::ui::library::LibraryDraft;
use crate::ui::log_tail::LogLine;
use crate::ui::pictures::Pictures;
use crate::ui::preferences::Preferences;
use crate::ui::record::RecordDraft;
use crate::ui::rig_panel::RigDraft;
use crate::ui::scene_panel::SceneDraft;
use crate::ui::workshop::WorkshopDraft;

/// Log lines kept for the log page.
pub const LOG_LINES_KEPT: usize = 1000;
/// How long a notice stays, seconds of the window's clock.
const NOTICE_SECONDS: f64 = 5.0;

/// The pages of the window; the top bar with STOP is above all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Page {
    #[default]
    Cockpit,
    Setup,
    Data,
    Lab,
    Settings,
    Log,
    Help,
}

impl Page {
    /// All, in the order of the tabs.
    pub const ALL: [Self; 7] = [
        Self::Cockpit,
        Self::Setup,
        Self::Data,
        Self::Lab,
        Self::Settings,
        Self::Log,
        Self::Help,
    ];

    /// The word on the tab.
    pub fn label(self) -> &'static str {
        match self {
            Self::Cockpit => "Cockpit",
            Self::Setup => "Set-up",
            Self::Data => "Data",
            Self::Lab => "Lab",
            Self::Settings => "Settings",
            Self::Log => "Log",
            Self::Help => "Help",
        }
    }
}

/// Everything the window keeps for itself between two frames.
#[derive(Default)]
pub struct Draft {
    pub page: Page,
    pub preferences: Preferences,
    pub task: TaskDraft,
    pub policy: PolicyDraft,
    pub knobs: KnobDraft,
    pub scene: SceneDraft,
    pub rig: RigDraft,
    pub workshop: WorkshopDraft,
    pub record: RecordDraft,
    pub library: LibraryDraft,
    pub pictures: Pictures,
    /// The operator pressed "Release torque" and has not answered the warning yet.
    pub asks_to_release: bool,
    /// The panel with the health of the servos is open.
    pub shows_health: bool,
    /// A jog goal under the pointer, until the snapshot shows it.
    pub jog: Option<JogDraft>,
    /// What is held down that drives the arm.
    pub hand: HandDraft,
    /// The gamepad and the global keys, as the program that holds them says.
    pub inputs: Inputs,
    /// Seconds from now under the pointer in one of the plots; drawn in all of them.
    pub plot_hover: Hover,
    pub log: VecDeque<LogLine>,
    pub log_filter: String,
    notice: Option<(String, f64)>,
}

/// The task being typed.
#[derive(Default)]
pub struct TaskDraft {
    pub text: String,
    /// The task of the snapshot that `text` was last taken from; a change there replaces an unedited text.
    pub seen: String,
    /// The key "/" was pressed: the field takes the focus.
    pub wants_focus: bool,
}

/// The policy source being typed.
#[derive(Default)]
pub struct PolicyDraft {
    pub source: String,
    /// The load panel is open although a policy is there.
    pub is_open: bool,
    /// When loading was first seen, on the runtime's clock.
    pub loading_since: Option<Duration>,
    /// The source that was refused last: it stands in the field, to be corrected.
    refused: Option<String>,
}

/// The knobs while they are turned.
#[derive(Default)]
pub struct KnobDraft {
    /// A value that was sent and is not yet seen in the snapshot, and when it was sent.
    pub pending: BTreeMap<&'static str, (f64, f64)>,
    /// The value before the last turn of each knob, drawn as a tick, and when it was last turned.
    pub before: BTreeMap<&'static str, (f64, f64)>,
}

/// The goals while the operator jogs.
pub struct JogDraft {
    pub goal: JointVec,
    /// When the last goal was sent, seconds of the window's clock.
    pub sent_at: f64,
}

/// The time under the pointer, shared by all plots: what one panel sees, the others draw in the next frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Hover {
    /// To draw in this frame, seconds from now.
    pub shown: Option<f32>,
    /// Seen in this frame.
    pub seen: Option<f32>,
}

impl Draft {
    /// A draft that begins with remembered preferences.
    pub fn new(preferences: Preferences) -> Self {
        Self {
            preferences: preferences.sane(),
            ..Self::default()
        }
    }

    /// Follows what the snapshot says, before the panels are drawn.
    pub fn follow(&mut self, snapshot: &Snapshot, now: f64) {
        if self.task.seen != snapshot.task {
            if self.task.text == self.task.seen {
                self.task.text.clone_from(&snapshot.task);
            }
            self.task.seen.clone_from(&snapshot.task);
        }
        self.policy.loading_since = match snapshot.policy {
            PolicyStatus::Loading(_) => self.policy.loading_since.or(Some(snapshot.now)),
            _ => None,
        };
        let refused = matches!(snapshot.policy, PolicyStatus::Refused { .. })
            .then(|| snapshot.policy_source.clone());
        if refused.is_some() && refused != self.policy.refused {
            self.policy.source.clone_from(&snapshot.policy_source);
        }
        self.policy.refused = refused;
        self.plot_hover.shown = self.plot_hover.seen.take();
        if let Some((_, until)) = self.notice
            && now > until
        {
            self.notice = None;
        }
    }

    /// Says something in the status bar for a few seconds; `now` is the window's clock.
    pub fn notify(&mut self, text: impl Into<String>, now: f64) {
        self.notice = Some((text.into(), now + NOTICE_SECONDS));
    }

    /// What is to be said in the status bar.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_ref().map(|(text, _)| text.as_str())
    }

    /// Takes a log line, dropping the oldest when there are too many.
    pub fn push_log(&mut self, line: LogLine) {
        if self.log.len() >= LOG_LINES_KEPT {
            self.log.pop_front();
        }
        self.log.push_back(line);
    }

    /// The values to which a double click returns the knobs: the checkpoint's own where it has a say.
    pub fn default_knobs(snapshot: &Snapshot) -> Knobs {
        let mut knobs = Knobs::default();
        if let Some(spec) = &snapshot.spec {
            knobs.actions_per_chunk = spec.chunk_size.max(1);
            knobs.num_steps = spec.num_steps.max(1);
            return knobs.clamped_to(spec.chunk_size);
        }
        knobs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_is_being_typed_is_not_overwritten() {
        let mut draft = Draft::default();
        let mut snapshot = Snapshot {
            task: "put the cube in the box".to_owned(),
            ..Snapshot::default()
        };
        draft.follow(&snapshot, 0.0);
        assert_eq!(draft.task.text, "put the cube in the box");
        draft.task.text.push_str(" on the left");
        snapshot.task = "wave".to_owned();
        draft.follow(&snapshot, 0.1);
        assert_eq!(draft.task.text, "put the cube in the box on the left");
    }

    #[test]
    fn a_notice_goes_away() {
        let mut draft = Draft::default();
        draft.notify("the runtime is busy", 10.0);
        draft.follow(&Snapshot::default(), 12.0);
        assert_eq!(draft.notice(), Some("the runtime is busy"));
        draft.follow(&Snapshot::default(), 16.0);
        assert_eq!(draft.notice(), None);
    }

    #[test]
    fn the_log_is_bounded() {
        let mut draft = Draft::default();
        for i in 0..LOG_LINES_KEPT + 5 {
            draft.push_log(LogLine {
                level: log::Level::Info,
                at: std::time::Duration::ZERO,
                target: String::new(),
                text: i.to_string(),
            });
        }
        assert_eq!(draft.log.len(), LOG_LINES_KEPT);
        assert_eq!(draft.log.front().map(|line| line.text.as_str()), Some("5"));
    }
}
