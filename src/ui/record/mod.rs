//! Recording as the operator sees it: the plan of a session, the episode that runs, and what is to be done next, in words.

mod bar;
mod form;
pub mod interrupted;
mod next;
mod plan_panel;
pub mod saving;
mod session_panel;

pub use bar::record_mark_ui;
pub use form::{PlanForm, folder_from_text};
pub use next::{RecordKey, begin, ordered_by_key};
pub use session_panel::session_ui;

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
