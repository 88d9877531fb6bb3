//! Recording as the operator sees it: the plan of a session, the episode that runs, and what is to be done next, in words.

mod bar;
mod form;
pub mod interrupted;
mod next;
mod plan_panel;
pub mod saving;
mod session_panel;

use std::path::Path;

use crate::runtime::{SessionPhase, Snapshot};

pub use bar::record_mark_ui;
pub use form::{PlanForm, folder_from_text};
pub use next::{RecordKey, begin, ordered_by_key};
pub use session_panel::session_ui;

/// The data set that is being recorded into: its journals are those of the session, and nobody's to recover.
pub fn recorded_root(snapshot: &Snapshot) -> Option<&Path> {
    let session = snapshot.session.as_deref()?;
    let root = session.recorder.root.as_deref();
    root.filter(|_| session.phase != SessionPhase::Off)
}

/// What the window keeps of a recording.
#[derive(Debug, Default)]
pub struct RecordDraft {
    /// The plan is open for editing.
    pub plans: bool,
    /// The task being added to the plan.
    task: String,
    /// The interrupted episode that is to be dropped for good, if the operator says so again.
    forgets: Option<String>,
}
