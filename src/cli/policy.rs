//! Gets the policy that a command names onto the device that it names, with progress on the log.

use anyhow::{Context as _, anyhow};

use crate::cli::args::PolicyArgs;
use crate::gpu::{OpenedDevice, Wish};
use crate::policy::self_test::{self, Verdicts};
use crate::policy::{self, DEMO, Inspected};
use crate::policy::{LoadProgress, LoadRequest, LoadStage, Policy, Refusal};

/// Opens the device and says which it is and why.
pub fn device(wish: Wish) -> anyhow::Result<OpenedDevice> {
    let device = self_test::open(wish, &Verdicts::of_user()).context("no device to compute on")?;
    log::info!("device: {} ({})", device.summary(), device.why);
    Ok(device)
}

/// Loads the policy.
pub fn load(args: &PolicyArgs, wish: Wish) -> anyhow::Result<Box<dyn Policy>> {
    let device = device(wish)?;
    policy::load(&request(args), &device, &mut Progress::default().told()).map_err(in_words)
}

/// Checks the policy without reading its weights.
pub fn inspect(args: &PolicyArgs) -> anyhow::Result<Inspected> {
    policy::inspect(&request(args), &mut Progress::default().told()).map_err(in_words)
}

/// What the loader is asked for.
pub fn request(args: &PolicyArgs) -> LoadRequest {
    LoadRequest {
        source: args.policy.clone().unwrap_or_else(|| DEMO.to_owned()),
        stats: args.stats.clone(),
    }
}

/// A refusal with the choices that the operator has.
pub fn in_words(refusal: Refusal) -> anyhow::Error {
    anyhow!(choices(refusal.why, &refusal.stats))
}

/// Appends how to choose between data sets, where there is a choice.
pub fn choices(why: String, stats: &[String]) -> String {
    match stats {
        [] => why,
        names => format!("{why}; choose with --stats: {}", names.join(", ")),
    }
}

/// Logs how far a load is: each stage once, and every quarter of it.
#[derive(Default)]
pub struct Progress {
    last: Option<(LoadStage, u32)>,
}

impl Progress {
    /// The callback for the loader.
    pub fn told(mut self) -> impl FnMut(LoadProgress) {
        move |progress| {
            if let Some(line) = self.line(&progress) {
                log::info!("{line}");
            }
        }
    }

    /// The line that a report is worth, if it is worth one.
    pub fn line(&mut self, progress: &LoadProgress) -> Option<String> {
        let quarter = progress.fraction.map_or(0, |part| (part * 4.0) as u32);
        let news = (progress.stage, quarter);
        if self.last.replace(news) == Some(news) {
            return None;
        }
        Some(match progress.fraction {
            Some(part) => format!("{}: {:.0} %", progress.stage, part * 100.0),
            None => progress.stage.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_in_quarters() {
        let mut progress = Progress::default();
        let mut told = |fraction| {
            progress.line(&LoadProgress {
                stage: LoadStage::Loading,
                fraction,
            })
        };
        assert_eq!(told(Some(0.31)).as_deref(), Some("loading weights: 31 %"));
        assert_eq!(told(Some(0.49)), None);
        assert_eq!(told(Some(0.5)).as_deref(), Some("loading weights: 50 %"));
        assert_eq!(told(None).as_deref(), Some("loading weights"));
    }

    #[test]
    fn a_refusal_lists_the_choices() {
        let refusal = Refusal {
            why: "statistics of two data sets".into(),
            stats: vec!["so100".into(), "so100-red".into()],
        };
        let words = in_words(refusal).to_string();
        assert!(
            words.ends_with("choose with --stats: so100, so100-red"),
            "{words}"
        );
    }
}
