//! Where results go: words for people or JSON for machines, on stdout or in a file, and how a command ends.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use anyhow::Context as _;
use serde::Serialize;

use crate::cli::parse::JsonTo;

/// How a command ended; its number is the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done = 0,
    /// A fault that was named on stderr.
    Fault = 1,
    /// The arguments were wrong.
    Usage = 2,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(outcome as u8)
    }
}

/// An argument that turned out wrong only after the checkpoint or a file had been read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WrongArgument(pub String);

/// Builds the error of a wrong argument.
pub fn wrong_argument(why: impl Display) -> anyhow::Error {
    WrongArgument(why.to_string()).into()
}

/// Hands a result over: text to `out`; with `--json` JSON to `out` instead; with `--json FILE` both.
pub fn deliver(
    out: &mut dyn Write,
    json: Option<&JsonTo>,
    report: &impl Serialize,
    words: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> anyhow::Result<()> {
    match json {
        None => words(out)?,
        Some(JsonTo::Stdout) => {
            serde_json::to_writer(&mut *out, report)?;
            writeln!(out)?;
        }
        Some(JsonTo::File(file)) => {
            let mut text = serde_json::to_string_pretty(report)?;
            text.push('\n');
            std::fs::write(file, text)
                .with_context(|| format!("cannot write the JSON to {}", file.display()))?;
            words(out)?;
        }
    }
    Ok(out.flush()?)
}

/// Whether JSON could be written where it is asked for, so that a long run does not end without its result.
///
/// # Errors
/// The file cannot be opened; what is in it stays.
pub fn claim(json: Option<&JsonTo>) -> anyhow::Result<()> {
    let Some(JsonTo::File(file)) = json else {
        return Ok(());
    };
    let opened = OpenOptions::new().append(true).create(true).open(file);
    opened.with_context(|| format!("cannot write the JSON to {}", file.display()))?;
    Ok(())
}

/// Shows the error of a command once and says how the program ends.
///
/// A reader that went away (`smolpilot predict … | head`) is not a fault.
pub fn conclude(result: anyhow::Result<Outcome>, err: &mut dyn Write) -> Outcome {
    let error = match result {
        Ok(outcome) => return outcome,
        Err(error) => error,
    };
    let closed = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe);
    if closed {
        return Outcome::Done;
    }
    // There is nowhere left to report a stderr that cannot be written.
    writeln!(err, "smolpilot: {}", in_full(&error)).ok();
    match error.downcast_ref::<WrongArgument>() {
        Some(_) => Outcome::Usage,
        None => Outcome::Fault,
    }
}

/// An error with its causes, each said once: many errors already quote the cause that they carry.
pub fn in_full(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_replaces_the_words_or_lies_beside_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.json");
        let print = |json: Option<&JsonTo>| {
            let mut out = Vec::new();
            deliver(&mut out, json, &[1, 2], |out| writeln!(out, "words")).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(print(None), "words\n");
        assert_eq!(print(Some(&JsonTo::Stdout)), "[1,2]\n");
        assert_eq!(print(Some(&JsonTo::File(file.clone()))), "words\n");
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(serde_json::from_str::<Vec<u32>>(&text).unwrap(), [1, 2]);
    }

    #[test]
    fn an_error_is_shown_once_and_sets_the_exit_status() {
        let mut err = Vec::new();
        let error = anyhow::anyhow!("port gone").context("cannot read the arm");
        assert_eq!(conclude(Err(error), &mut err), Outcome::Fault);
        assert_eq!(err, b"smolpilot: cannot read the arm: port gone\n");
        assert_eq!(
            conclude(Err(wrong_argument("no such view")), &mut err),
            Outcome::Usage
        );
        err.clear();
        let pipe = io::Error::from(ErrorKind::BrokenPipe);
        assert_eq!(conclude(Err(pipe.into()), &mut err), Outcome::Done);
        assert!(err.is_empty());
    }

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read arm.json: {source}. Calibrate the arm")]
    struct Quoting {
        source: io::Error,
    }

    #[test]
    fn a_cause_that_is_quoted_already_is_not_said_again() {
        let source = io::Error::from(ErrorKind::NotFound);
        let cause = source.to_string();
        let error = anyhow::Error::from(Quoting { source }).context("no arm");
        let text = in_full(&error);
        assert!(text.starts_with("no arm: cannot read arm.json"), "{text}");
        assert_eq!(text.matches(&cause).count(), 1, "{text}");
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let file = JsonTo::File("/nonexistent/report.json".into());
        let late = deliver(&mut Vec::new(), Some(&file), &1, |_| Ok(())).unwrap_err();
        for why in [late, claim(Some(&file)).unwrap_err()] {
            assert!(format!("{why:#}").contains("/nonexistent/report.json"));
        }
    }

    #[test]
    fn a_file_that_is_claimed_keeps_what_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("report.json");
        std::fs::write(&file, "old").unwrap();
        claim(Some(&JsonTo::File(file.clone()))).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "old");
        assert!(claim(Some(&JsonTo::File(folder.path().into()))).is_err());
        assert!(claim(Some(&JsonTo::Stdout)).is_ok() && claim(None).is_ok());
    }
}
