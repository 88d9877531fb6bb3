//! Sees a recording session through without a window: begins it, tells how it goes, passes on what is typed, and waits until the
//! last episode is on the disk.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use serde::Serialize;

use crate::app::ending;
use crate::cli::workshop::keyboard::{Keyboard, Said};
use crate::dataset::{Dataset, Outcome};
use crate::runtime::{
    Command, Runtime, SessionOrder, SessionPhase, SessionPlan, SessionView, Snapshot,
};

/// How often the session is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// What can be typed while it runs.
const WORDS: &str = "Enter keeps, d drops, r records it again, y and n mark success and failure, s waits no longer, e ends";

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Recorded {
    pub root: PathBuf,
    /// Episodes of this session that are saved.
    pub episodes: u32,
    /// Whole episodes and rows in the data set.
    pub episodes_in_all: usize,
    pub frames_in_all: u64,
    /// Rows of this session that were filled, and pictures that were shown again.
    pub missed: u64,
    pub repeated: u64,
    /// Why it ended before it was done.
    pub trouble: Option<String>,
    /// An episode was neither kept nor dropped; it can be recovered.
    pub interrupted: bool,
}

impl Recorded {
    /// Takes in what the session shows; counts of an episode that ran are by its number.
    fn follow(&mut self, seen: &SessionView, episodes: &mut BTreeMap<usize, (u64, u64)>) {
        let recorder = &seen.recorder;
        // Saves go on to the end; a data set that is closed again tells what it came to.
        self.episodes_in_all = self.episodes_in_all.max(recorder.episodes);
        self.frames_in_all = self.frames_in_all.max(recorder.frames);
        if let Some(running) = &recorder.running {
            let repeated = running.repeated.iter().map(|(_, count)| count).sum();
            episodes.insert(running.episode, (running.missed, repeated));
        }
        self.episodes = seen.kept;
        self.missed = episodes.values().map(|it| it.0).sum();
        self.repeated = episodes.values().map(|it| it.1).sum();
    }

    /// With the counts of the data set as it is on disk, once the recorder has gone: a run that was interrupted saves until then.
    #[must_use]
    pub fn counted(mut self) -> Self {
        // One in which nothing was saved cannot be opened, and has the counts that were seen.
        if let Ok(set) = Dataset::open(&self.root) {
            (self.episodes_in_all, self.frames_in_all) = (set.episodes().len(), set.frames());
        }
        self
    }

    /// In words.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "recorded       {} into {}, which has {} ({} rows) now",
            match self.episodes {
                1 => "1 episode".to_owned(),
                many => format!("{many} episodes"),
            },
            self.root.display(),
            self.episodes_in_all,
            self.frames_in_all
        )?;
        if self.missed + self.repeated > 0 {
            writeln!(
                out,
                "gaps           {} rows filled, {} pictures shown again",
                self.missed, self.repeated
            )?;
        }
        if self.interrupted {
            writeln!(
                out,
                "interrupted    one episode was neither kept nor dropped: smolpilot data recover {}",
                self.root.display()
            )?;
        }
        Ok(())
    }
}

/// Runs the session to its end: all its episodes, `seconds` of time, or whoever ends the program.
///
/// # Errors
/// The data set cannot be opened, or the control thread has ended.
pub fn see_through(
    runtime: &Runtime,
    plan: SessionPlan,
    seconds: Option<f64>,
) -> anyhow::Result<Recorded> {
    let mut recorded = Recorded {
        root: plan.root.clone(),
        ..Recorded::default()
    };
    let mut keyboard = Keyboard::of_stdin(false)?;
    let (mut counts, mut told) = (BTreeMap::new(), (SessionPhase::Off, 0));
    let began = runtime.snapshot.get().unwrap_or_default().now;
    let mut is_ending = false;
    runtime
        .commands
        .send(Command::Session(SessionOrder::Begin(Box::new(plan))))?;
    let begun = |seen: &Snapshot| {
        let session = seen.session.as_ref();
        session.is_some_and(|it| it.phase != SessionPhase::Off || it.trouble.is_some())
    };
    if runtime.wait_for(LOOK * 20, begun).is_none() {
        bail!(refusal(runtime));
    }
    loop {
        let news = runtime.wait_for(LOOK, |_| ending::interrupted());
        let Some(seen) = news.or_else(|| runtime.snapshot.get()) else {
            continue;
        };
        let Some(session) = &seen.session else {
            bail!("nothing is recorded any more");
        };
        recorded.follow(session, &mut counts);
        tell(session, &mut told);
        if ending::interrupted() || !runtime.is_running() {
            recorded.interrupted = holds_episode(session);
            return Ok(recorded);
        }
        if session.phase == SessionPhase::Off {
            recorded.trouble = trouble_of(session);
            // What was kept and then not saved is not recorded.
            let saved = u32::try_from(session.recorder.saved).unwrap_or(u32::MAX);
            recorded.episodes = session.kept.min(saved);
            if let (Some(why), 0) = (&recorded.trouble, recorded.episodes_in_all) {
                bail!("{why}");
            }
            return Ok(recorded);
        }
        let time = seen.now.saturating_sub(began).as_secs_f64();
        if !is_ending && seconds.is_some_and(|seconds| time >= seconds) {
            is_ending = true;
            // Time was said, so that what was recorded in it is wanted.
            if session.phase == SessionPhase::Recording {
                order(runtime, SessionOrder::Keep)?;
            }
            order(runtime, SessionOrder::End)?;
        }
        if !is_ending || session.phase == SessionPhase::Verdict {
            hear(runtime, &mut keyboard, session)?;
        }
        let is_broken = session.phase == SessionPhase::Verdict;
        let is_waiting = session.phase == SessionPhase::Ready && session.trouble.is_some();
        if (is_broken || is_waiting) && keyboard.is_over() {
            // Nobody is there to say what becomes of it, or to begin the next.
            recorded.interrupted |= is_broken;
            order(runtime, SessionOrder::End)?;
        }
    }
}

fn order(runtime: &Runtime, order: SessionOrder) -> anyhow::Result<()> {
    Ok(runtime.commands.send(Command::Session(order))?)
}

/// Why nothing began.
fn refusal(runtime: &Runtime) -> String {
    let seen = runtime.snapshot.get().unwrap_or_default();
    let fault = seen.faults.last();
    fault.map_or_else(
        || "the session did not begin".to_owned(),
        |fault| fault.what.clone(),
    )
}

/// Why it ended before it was done, or why not all that was kept is saved.
fn trouble_of(session: &SessionView) -> Option<String> {
    let trouble = session.trouble.as_ref();
    trouble.or(session.recorder.trouble.as_ref()).cloned()
}

fn holds_episode(session: &SessionView) -> bool {
    matches!(
        session.phase,
        SessionPhase::Recording | SessionPhase::Verdict
    )
}

/// Tells a change of phase on the log.
fn tell(session: &SessionView, told: &mut (SessionPhase, u32)) {
    let news = (session.phase, session.kept);
    let before = std::mem::replace(told, news);
    if before == news {
        return;
    }
    let number = session.kept + 1;
    if let (SessionPhase::Opening, Some(left)) = (before.0, session.recorder.interrupted.first()) {
        let (seconds, task) = (left.length.as_secs_f64(), &left.task);
        log::warn!(
            "an earlier session left an episode of {seconds:.1} s unfinished ({task}): `smolpilot data recover` saves it"
        );
    }
    let of = match session.wanted {
        0 => number.to_string(),
        wanted => format!("{number} of {wanted}"),
    };
    let seconds = session.limit.unwrap_or_default().as_secs_f64();
    match session.phase {
        SessionPhase::Off => log::info!("recording has ended"),
        SessionPhase::Opening => log::info!("opening the data set. {WORDS}"),
        SessionPhase::Ready => {
            let why = session.trouble.clone().unwrap_or_default();
            log::info!("ready for episode {of}: Enter records it. {why}");
        }
        SessionPhase::WarmUp => log::info!("episode {of} begins in {seconds:.1} s"),
        SessionPhase::Recording => log::info!("recording episode {of}"),
        SessionPhase::Verdict => {
            let why = session.trouble.clone().unwrap_or_default();
            log::warn!("episode {of} was broken off: {why}. Enter keeps it, d drops it");
        }
        SessionPhase::Reset => log::info!("put things back: episode {of} begins in {seconds:.1} s"),
        SessionPhase::Finishing => log::info!("saving what is left"),
    }
}

/// Passes on what was typed.
fn hear(runtime: &Runtime, keyboard: &mut Keyboard, session: &SessionView) -> anyhow::Result<()> {
    // A run without a terminal is not asked anything.
    let Ok(Said::Line(line)) = keyboard.said() else {
        return Ok(());
    };
    if let Some(said) = meaning(&line, session.phase) {
        return order(runtime, said);
    }
    log::warn!("`{line}` is no word here. {WORDS}");
    Ok(())
}

/// What a typed line asks for.
fn meaning(line: &str, phase: SessionPhase) -> Option<SessionOrder> {
    let is_kept = matches!(phase, SessionPhase::Recording | SessionPhase::Verdict);
    Some(match line {
        "" | "k" if is_kept => SessionOrder::Keep,
        "" => SessionOrder::Record,
        "d" => SessionOrder::Discard,
        "r" => SessionOrder::Redo,
        "y" => SessionOrder::Mark(Outcome::Success),
        "n" => SessionOrder::Mark(Outcome::Failure),
        "s" => SessionOrder::Skip,
        "e" => SessionOrder::End,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{RecorderView, Running};

    #[test]
    fn a_line_means_what_the_moment_makes_of_it() {
        let recording = |line| meaning(line, SessionPhase::Recording);
        assert_eq!(recording(""), Some(SessionOrder::Keep));
        assert_eq!(meaning("", SessionPhase::Reset), Some(SessionOrder::Record));
        assert_eq!(recording("y"), Some(SessionOrder::Mark(Outcome::Success)));
        assert_eq!(recording("keep it"), None);
    }

    #[test]
    fn what_the_recorder_could_not_save_is_told() {
        let mut seen = SessionView::default();
        assert_eq!(trouble_of(&seen), None);
        seen.recorder.trouble = Some("the disk is full".to_owned());
        assert_eq!(trouble_of(&seen).as_deref(), Some("the disk is full"));
        seen.trouble = Some("the arm was lost".to_owned());
        assert_eq!(trouble_of(&seen).as_deref(), Some("the arm was lost"));
    }

    #[test]
    fn counts_outlive_their_episode_and_the_data_set() {
        let mut recorded = Recorded::default();
        let mut counts = BTreeMap::new();
        let running = |episode, missed| {
            Some(Running {
                episode,
                missed,
                repeated: vec![("front".to_owned(), 2), ("wrist".to_owned(), 1)],
                ..Running::default()
            })
        };
        let seen = |running, root: Option<&str>, kept| SessionView {
            kept,
            recorder: RecorderView {
                root: root.map(PathBuf::from),
                episodes: 7,
                frames: 900,
                running,
                ..RecorderView::default()
            },
            ..SessionView::default()
        };
        for view in [
            seen(running(5, 1), Some("d"), 0),
            seen(running(5, 4), Some("d"), 0),
            seen(running(6, 0), Some("d"), 1),
            seen(None, None, 2),
        ] {
            recorded.follow(&view, &mut counts);
        }
        assert_eq!((recorded.episodes, recorded.frames_in_all), (2, 900));
        assert_eq!((recorded.missed, recorded.repeated), (4, 6));
        let mut out = vec![];
        recorded.print(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains("2 episodes") && text.contains("4 rows filled"),
            "{text}"
        );
    }
}
