//! Where a session is and what is to be done next, in words; and what the keys for it do.

use std::time::Duration;

use crate::dataset::Outcome;
use crate::runtime::{Command, SessionOrder, SessionPhase, SessionPlan, SessionView, Snapshot};
use crate::ui::draft::Draft;
use crate::ui::words;

/// What the operator reads of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Next {
    /// Two to five words.
    pub headline: String,
    /// What to do now.
    pub advice: String,
    /// What has passed of the phase.
    pub elapsed: Duration,
    /// How long it lasts, if that is known.
    pub limit: Option<Duration>,
}

impl Next {
    /// Reads it off a session.
    pub fn of(session: &SessionView, now: Duration) -> Self {
        let elapsed = now.saturating_sub(session.since);
        let left = session
            .limit
            .map(|limit| limit.saturating_sub(elapsed))
            .map(|left| format!("{} s", left.as_secs_f32().ceil()));
        let is_judged = session.plan.as_ref().is_some_and(|plan| plan.judged);
        let in_time = |words: &str| match &left {
            Some(left) => format!("{words}: {left}"),
            None => words.to_owned(),
        };
        let (headline, advice) = match session.phase {
            SessionPhase::Off => (
                "Not recording".to_owned(),
                "R records with this plan.".to_owned(),
            ),
            SessionPhase::Opening => (
                "Opening the data set".to_owned(),
                "It begins as soon as the folder is ready.".to_owned(),
            ),
            SessionPhase::Ready => (
                format!("Ready for {}", episode(session)),
                "R records an episode.".to_owned(),
            ),
            SessionPhase::WarmUp => (
                in_time("Get ready"),
                "Recording begins by itself; R begins now.".to_owned(),
            ),
            SessionPhase::Recording => (
                format!("Recording {}", episode(session)),
                recording_advice(session, is_judged),
            ),
            SessionPhase::Verdict => (
                "Broken off: keep it or drop it?".to_owned(),
                "Enter keeps what was recorded of it, Backspace drops it.".to_owned(),
            ),
            SessionPhase::Reset => (
                in_time("Put things back"),
                format!(
                    "{} begins by itself; R begins now.",
                    upper_first(&episode(session))
                ),
            ),
            SessionPhase::Finishing => (
                "Saving the last episodes".to_owned(),
                "All is recorded. Let the program run until they are saved.".to_owned(),
            ),
        };
        Self {
            headline,
            advice,
            elapsed,
            limit: session.limit,
        }
    }

    /// The share of the phase that has passed, 0 to 1.
    pub fn share(&self) -> Option<f32> {
        let limit = self.limit.filter(|limit| !limit.is_zero())?;
        Some((self.elapsed.as_secs_f32() / limit.as_secs_f32()).min(1.0))
    }
}

/// "episode 7 of 50", of those of this session.
pub fn episode(session: &SessionView) -> String {
    let number = session.kept + 1;
    match session.wanted {
        0 => format!("episode {number}"),
        wanted => format!("episode {} of {wanted}", number.min(wanted)),
    }
}

fn upper_first(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.collect::<String>() + letters.as_str()
}

fn recording_advice(session: &SessionView, is_judged: bool) -> String {
    let by_itself = match (is_judged, session.limit) {
        (true, _) => "kept by itself when the task is done".to_owned(),
        (false, Some(limit)) if limit < SessionPlan::LONGEST => {
            format!("kept by itself after {}", words::long(limit))
        }
        (false, _) => "it goes on until then".to_owned(),
    };
    format!("Enter keeps it, Backspace drops it; {by_itself}.")
}

/// Begins a session with the plan as it was left last, and remembers where it records to.
pub fn begin(snapshot: &Snapshot, draft: &mut Draft, commands: &mut Vec<Command>) {
    let form = &mut draft.preferences.recording;
    if form.folder.trim().is_empty() {
        // The next session goes on in the same folder, whatever the task is then.
        form.folder = form.default_name(snapshot);
    }
    let plan = Box::new(form.plan(snapshot));
    commands.push(Command::Session(SessionOrder::Begin(plan)));
    draft.record.plans = false;
}

/// What a key asks of the session in this phase: the order, or why there is none.
pub fn ordered_by_key(session: &SessionView, key: RecordKey) -> Result<SessionOrder, &'static str> {
    let is_there = matches!(
        session.phase,
        SessionPhase::Recording | SessionPhase::Verdict
    );
    match key {
        RecordKey::Record => match session.phase {
            SessionPhase::Ready | SessionPhase::WarmUp | SessionPhase::Reset => {
                Ok(SessionOrder::Record)
            }
            SessionPhase::Recording => {
                Err("An episode is being recorded: Enter keeps it, Backspace drops it.")
            }
            SessionPhase::Verdict => {
                Err("First say of the last episode: Enter keeps it, Backspace drops it.")
            }
            SessionPhase::Opening => Err("The data set is being opened."),
            SessionPhase::Finishing => Err("The last episodes are being saved."),
            SessionPhase::Off => Err("There is no session."),
        },
        _ if !is_there => Err("No episode is being recorded."),
        RecordKey::Keep => Ok(SessionOrder::Keep),
        RecordKey::Discard => Ok(SessionOrder::Discard),
        RecordKey::Redo => Ok(SessionOrder::Redo),
        RecordKey::Mark(outcome) if session.outcome == outcome => {
            Ok(SessionOrder::Mark(Outcome::Unmarked))
        }
        RecordKey::Mark(outcome) => Ok(SessionOrder::Mark(outcome)),
    }
}

/// The keys of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKey {
    Record,
    Keep,
    Discard,
    Redo,
    Mark(Outcome),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(phase: SessionPhase) -> SessionView {
        SessionView {
            phase,
            since: Duration::from_secs(10),
            limit: Some(Duration::from_mins(1)),
            kept: 6,
            wanted: 50,
            ..SessionView::default()
        }
    }

    #[test]
    fn each_phase_says_what_is_next() {
        let now = Duration::from_millis(22_300);
        let next = |phase| Next::of(&session(phase), now);
        let recording = next(SessionPhase::Recording);
        assert_eq!(recording.headline, "Recording episode 7 of 50");
        assert!(recording.advice.contains("kept by itself after 60 s"));
        assert!((recording.share().unwrap() - 0.205).abs() < 1e-3);
        assert_eq!(next(SessionPhase::Reset).headline, "Put things back: 48 s");
        assert!(
            next(SessionPhase::Reset)
                .advice
                .starts_with("Episode 7 of 50")
        );
        assert_eq!(next(SessionPhase::WarmUp).headline, "Get ready: 48 s");
    }

    #[test]
    fn the_keys_mean_what_the_phase_allows() {
        let ask = |phase, key| ordered_by_key(&session(phase), key);
        assert_eq!(
            ask(SessionPhase::Reset, RecordKey::Record),
            Ok(SessionOrder::Record)
        );
        assert!(ask(SessionPhase::Recording, RecordKey::Record).is_err());
        assert!(ask(SessionPhase::Reset, RecordKey::Discard).is_err());
        assert_eq!(
            ask(SessionPhase::Recording, RecordKey::Keep),
            Ok(SessionOrder::Keep)
        );
        let success = RecordKey::Mark(Outcome::Success);
        let mut marked = session(SessionPhase::Recording);
        assert_eq!(
            ordered_by_key(&marked, success),
            Ok(SessionOrder::Mark(Outcome::Success))
        );
        marked.outcome = Outcome::Success;
        assert_eq!(
            ordered_by_key(&marked, success),
            Ok(SessionOrder::Mark(Outcome::Unmarked)),
            "said again, it is taken back"
        );
    }
}
