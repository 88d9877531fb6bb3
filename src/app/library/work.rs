//! What takes long: from an order to the job that does it, with words for what it does and for what came of it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crossbeam_channel::Sender;

use crate::app::library::desk::Event;
use crate::app::library::edits;
use crate::app::library::job::{self, CANCELLED, Outcome, Voice};
use crate::app::library::places::Places;
use crate::dataset::check::{self, Depth, Severity};
use crate::dataset::export::export;
use crate::dataset::hub::{Upload, download, upload, usual_place};
use crate::dataset::video::Ffmpeg;
use crate::dataset::{self, Dataset, Interrupted, Recorder, left_in};
use crate::hub::{Hub, HubId};
use crate::lab::{CompareError, Question, compare};
use crate::policy::LoadRequest;
use crate::runtime::{Finding, LibraryOrder, PolicyLoader};

/// Of a policy's noise: the same record and policy give the same picture.
const SEED: u64 = 0;

type Work = Box<dyn FnOnce(&mut Voice) -> Result<Outcome, String> + Send>;

/// A job that is ready to be started.
pub struct Task {
    what: String,
    edits: bool,
    work: Work,
}

impl Task {
    /// The job that an order asks for, on the data set that is `open`.
    ///
    /// # Errors
    /// Nothing is open to be worked on, or a name is none; words for the person.
    pub fn of(
        order: LibraryOrder,
        open: Option<PathBuf>,
        places: &Places,
        loader: &PolicyLoader,
    ) -> Result<Self, String> {
        if let LibraryOrder::Download(name) = order {
            return fetching(&name, places);
        }
        let root = open.ok_or("Open a data set first.")?;
        match order {
            LibraryOrder::Check => Ok(Self::looking("checking", move |voice| {
                Ok(Outcome::Checked(checked(&root, voice)?))
            })),
            LibraryOrder::Export { episode, file } => {
                let what = format!("exporting episode {episode}");
                Ok(Self::looking(what, move |voice| {
                    exported(&root, episode, &file, voice)
                }))
            }
            LibraryOrder::Upload(name) => sending(&name, root),
            LibraryOrder::Compare {
                episode,
                policy,
                every,
            } => {
                let loader = Arc::clone(loader);
                let what = format!("asking {policy} about episode {episode}");
                Ok(Self::looking(what, move |voice| {
                    compared(&root, episode, every, &policy, &loader, voice)
                }))
            }
            LibraryOrder::Recover(id) => Ok(Self::editing("recovering an episode", move |_| {
                recovered(&root, &id)
            })),
            LibraryOrder::Forget(id) => Ok(Self::editing("dropping an episode", move |_| {
                forgotten(&root, &id)
            })),
            order => edits::task(order, root),
        }
    }

    /// A job that leaves the open data set as it is.
    pub fn looking(
        what: impl Into<String>,
        work: impl FnOnce(&mut Voice) -> Result<Outcome, String> + Send + 'static,
    ) -> Self {
        Self {
            what: what.into(),
            edits: false,
            work: Box::new(work),
        }
    }

    /// A job that changes it.
    pub fn editing(
        what: impl Into<String>,
        work: impl FnOnce(&mut Voice) -> Result<Outcome, String> + Send + 'static,
    ) -> Self {
        Self {
            edits: true,
            ..Self::looking(what, work)
        }
    }

    /// What it does, in words.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// It changes the open data set.
    pub fn edits(&self) -> bool {
        self.edits
    }

    /// Starts it.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(self, reports: &Sender<Event>, cancel: &Arc<AtomicBool>) -> Result<(), String> {
        job::start(reports, cancel, self.work)
    }
}

/// What a data set's error says; a job that was cancelled has none.
pub fn said(error: &dataset::Error) -> String {
    match error {
        dataset::Error::Cancelled => CANCELLED.to_owned(),
        error => error.to_string(),
    }
}

/// Hears a share, and whether to go on.
pub fn told<'a>(voice: &'a mut Voice, what: &'a str) -> impl FnMut(f32) -> ControlFlow<()> + 'a {
    move |share| {
        if voice.say(what, Some(share)) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

/// Encoders of an installed ffmpeg.
pub fn encoders() -> Vec<String> {
    let found = Ffmpeg::find().map(|ffmpeg| ffmpeg.encoders());
    let names = found.unwrap_or_default().into_iter();
    names.map(str::to_owned).collect()
}

/// What was left unfinished in a data set. Journals that cannot be read are told of by its check.
pub fn interrupted(root: &Path) -> Vec<Interrupted> {
    let left = left_in(root).unwrap_or_default();
    left.into_iter().map(|(episode, _)| episode).collect()
}

fn checked(root: &Path, voice: &mut Voice) -> Result<Vec<Finding>, String> {
    let mut progress = |what: &str, share| {
        voice.say(&format!("checking: {what}"), Some(share));
    };
    let report = check::check(root, Depth::default(), &mut progress);
    if voice.is_cancelled() {
        return Err(CANCELLED.to_owned());
    }
    let findings = report.findings.iter().map(|found| {
        let file = found.file.as_ref();
        let file = file.map(|file| format!("{}: ", file.display()));
        let episode = found.episode.map(|index| format!("episode {index}: "));
        let advice = if found.advice.is_empty() { "" } else { " · " };
        Finding {
            is_error: found.severity == Severity::Error,
            text: format!(
                "{}{}{}{advice}{}",
                file.unwrap_or_default(),
                episode.unwrap_or_default(),
                found.what,
                found.advice
            ),
        }
    });
    Ok(findings.collect())
}

fn exported(
    root: &Path,
    episode: usize,
    file: &Path,
    voice: &mut Voice,
) -> Result<Outcome, String> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
    }
    let mut dataset = Dataset::open(root).map_err(|error| said(&error))?;
    let what = format!("exporting episode {episode}");
    let mut progress = told(voice, &what);
    export(&mut dataset, episode, file, &mut progress).map_err(|error| said(&error))?;
    Ok(Outcome::Done(format!(
        "Episode {episode} is in {}",
        file.display()
    )))
}

fn named(name: &str) -> Result<HubId, String> {
    HubId::dataset(name)
        .ok_or_else(|| format!("{name} is no name on the hub: those are owner/name"))
}

fn fetching(name: &str, places: &Places) -> Result<Task, String> {
    let id = named(name)?;
    let root = usual_place(&id).unwrap_or_else(|| places.home.join(&id.name));
    let what = format!("downloading {name}");
    Ok(Task::looking(what.clone(), move |voice| {
        let hub = Hub::from_env();
        let mut progress = told(voice, &what);
        download(&hub, &id, &root, &mut progress).map_err(|error| said(&error))?;
        Ok(Outcome::Made(root))
    }))
}

fn sending(name: &str, root: PathBuf) -> Result<Task, String> {
    let id = named(name)?;
    let what = format!("uploading to {name}");
    Ok(Task::looking(what.clone(), move |voice| {
        let how = Upload {
            private: true,
            replace: false,
        };
        let hub = Hub::from_env();
        let mut progress = told(voice, &what);
        let sent = upload(&hub, &id, &root, how, &mut progress).map_err(|error| said(&error))?;
        Ok(Outcome::Done(format!("It is at {}", sent.url)))
    }))
}

fn compared(
    root: &Path,
    episode: usize,
    every: usize,
    policy: &str,
    loader: &PolicyLoader,
    voice: &mut Voice,
) -> Result<Outcome, String> {
    let request = LoadRequest {
        source: policy.to_owned(),
        stats: None,
    };
    let mut loading = |progress: crate::policy::LoadProgress| {
        let what = format!("loading {policy}: {}", progress.stage);
        voice.say(&what, progress.fraction);
    };
    // Loaded, asked and dropped on this thread: its tensors never hop.
    let mut network = loader(&request, &mut loading).map_err(|refusal| refusal.why)?;
    if voice.is_cancelled() {
        return Err(CANCELLED.to_owned());
    }
    let mut dataset = Dataset::open(root).map_err(|error| said(&error))?;
    let question = Question {
        episode,
        every,
        views: vec![],
        seed: SEED,
    };
    let what = format!("asking {policy} about episode {episode}");
    let mut progress = told(voice, &what);
    let found = compare(&mut dataset, network.as_mut(), &question, &mut progress);
    let found = found.map_err(|error| match error {
        CompareError::Cancelled => CANCELLED.to_owned(),
        error => error.to_string(),
    })?;
    let predictions = found.predictions().into_iter();
    Ok(Outcome::Compared {
        episode,
        predictions: predictions
            .map(|(row, actions)| (row, Arc::from(actions)))
            .collect(),
        error: found.error(),
    })
}

/// The recorder of the plan by which an unfinished episode was recorded.
fn recorder_for(root: &Path, id: &str) -> Result<Recorder, String> {
    let left = left_in(root).map_err(|error| said(&error))?;
    let plan = left.into_iter().find(|(episode, _)| episode.id == id);
    let (_, plan) = plan.ok_or("It is there no more: another session has seen to it.")?;
    Recorder::open(plan).map_err(|error| said(&error))
}

fn recovered(root: &Path, id: &str) -> Result<Outcome, String> {
    let mut recorder = recorder_for(root, id)?;
    recorder.recover(id).map_err(|error| said(&error))?;
    let view = recorder.close().map_err(|error| said(&error))?;
    let words = format!("Recovered; the data set has {} episodes now", view.episodes);
    Ok(Outcome::Done(words))
}

fn forgotten(root: &Path, id: &str) -> Result<Outcome, String> {
    let mut recorder = recorder_for(root, id)?;
    recorder.forget(id).map_err(|error| said(&error))?;
    recorder.close().map_err(|error| said(&error))?;
    Ok(Outcome::Done("Dropped".to_owned()))
}
