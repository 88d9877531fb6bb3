//! One thing that is wrong with a data set: how bad, in which file, and what to do.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// LeRobot reads it, but something will be slow, less safe or not as it was meant.
    Warning,
    /// LeRobot cannot read it, or reads something else than was recorded.
    Error,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub severity: Severity,
    /// What kind, for machines: `data.timestamp`.
    pub code: &'static str,
    /// Below the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub episode: Option<usize>,
    pub what: String,
    /// What to do.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub advice: String,
}

impl Finding {
    fn new(severity: Severity, code: &'static str, what: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            file: None,
            episode: None,
            what: what.into(),
            advice: String::new(),
        }
    }

    pub fn error(code: &'static str, what: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, what)
    }

    pub fn warning(code: &'static str, what: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, what)
    }

    pub fn note(code: &'static str, what: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, what)
    }

    /// In this file, below the root.
    #[must_use]
    pub fn file(self, file: impl AsRef<Path>) -> Self {
        let file = Some(file.as_ref().to_path_buf());
        Self { file, ..self }
    }

    /// In this episode.
    #[must_use]
    pub fn episode(self, episode: usize) -> Self {
        Self {
            episode: Some(episode),
            ..self
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(self, advice: impl Into<String>) -> Self {
        let advice = advice.into();
        Self { advice, ..self }
    }
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    pub root: PathBuf,
    /// Layout, `v3.0`; empty where it is not known.
    pub version: String,
    pub episodes: usize,
    pub rows: u64,
    pub films: Vec<FilmFacts>,
    /// Worst first.
    pub findings: Vec<Finding>,
}

/// What a film is.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FilmFacts {
    /// Below the root.
    pub file: PathBuf,
    pub codec: String,
    /// Pixels.
    pub width: u32,
    pub height: u32,
    pub frames: u64,
    pub key_frames: u64,
    pub bytes: u64,
}

impl Report {
    pub(super) fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    pub(super) fn has_errors(&self) -> bool {
        let mut findings = self.findings.iter();
        findings.any(|finding| finding.severity == Severity::Error)
    }

    pub(super) fn sort(&mut self) {
        let place = |it: &Finding| (it.code, it.file.clone(), it.episode);
        self.findings
            .sort_by_cached_key(|it| (Reverse(it.severity), place(it)));
    }

    /// How many findings are as bad as this.
    pub fn count(&self, severity: Severity) -> usize {
        let findings = self.findings.iter();
        findings.filter(|it| it.severity == severity).count()
    }

    /// Whether LeRobot reads it as it was recorded.
    pub fn is_sound(&self) -> bool {
        self.count(Severity::Error) == 0
    }

    /// Whether there is a finding of this kind.
    pub fn has(&self, code: &str) -> bool {
        self.findings.iter().any(|it| it.code == code)
    }
}
