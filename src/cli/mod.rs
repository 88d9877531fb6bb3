//! The command line: everything that the window does to devices and policies, without a window.

mod args;
mod bench;
mod check;
mod cost;
mod dataset;
mod emulate;
mod lab;
mod memory;
mod output;
mod parse;
mod policy;
mod predict;
mod record;
mod replay;
mod rig;
mod run;
mod teleop;
mod workshop;

use std::ffi::OsString;
use std::io::Write;

use clap::Parser as _;

pub use args::{Cli, RigArgs, Verb, WindowArgs};
pub use output::Outcome;

use emulate::SimVerb;

/// Runs the program as if started with `words`, the first of which is the program's name.
///
/// Results go to `out`, errors to `err`; the exit status is what comes back. With no command it opens the window and
/// returns when that is closed.
pub fn run<I, T>(words: I, out: &mut dyn Write, err: &mut dyn Write) -> Outcome
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    match Cli::try_parse_from(words) {
        Ok(cli) => output::conclude(dispatch(&cli, out, err), err),
        Err(error) => refuse(&error, out, err),
    }
}

fn dispatch(cli: &Cli, out: &mut dyn Write, err: &mut dyn Write) -> anyhow::Result<Outcome> {
    match &cli.verb {
        Some(Verb::Run(args)) => run::run(args, out),
        Some(Verb::Teleop(args)) => teleop::run(args, out),
        Some(Verb::Replay(args)) => replay::run(args, out),
        Some(Verb::Predict(args)) => predict::run(args, out),
        Some(Verb::Bench(args)) => bench::run(args, out),
        Some(Verb::Check(args)) => check::run(args, out),
        Some(Verb::Setup(args)) => workshop::setup(args, out),
        Some(Verb::Calibrate(args)) => workshop::calibrate(args, out),
        Some(Verb::Emulate(args)) => emulate::run(args, out, err),
        Some(Verb::Sim(args)) => match &args.verb {
            SimVerb::Emulate(args) => emulate::run(args, out, err),
            SimVerb::Eval(args) => lab::eval(args, out),
            SimVerb::Record(args) => record::sim(args, out),
        },
        Some(Verb::Lab(args)) => lab::run(args, out),
        Some(Verb::Data(args)) => dataset::run(args, out),
        None => window(&cli.window, err),
    }
}

/// Shows what clap has to say: help and version are results, anything else is a wrong argument.
fn refuse(error: &clap::Error, out: &mut dyn Write, err: &mut dyn Write) -> Outcome {
    let text = error.render();
    // A reader that went away needs no help text.
    if error.use_stderr() {
        write!(err, "{text}").ok();
        Outcome::Usage
    } else {
        write!(out, "{text}").ok();
        Outcome::Done
    }
}

/// Opens the window.
#[cfg(feature = "gui")]
fn window(args: &WindowArgs, _err: &mut dyn Write) -> anyhow::Result<Outcome> {
    let drawing = crate::app::session::Drawing {
        report: args.frame_report.clone(),
        one_device: args.one_device,
    };
    crate::app::session::open(args.rig.options()?, &drawing)?;
    Ok(Outcome::Done)
}

/// A build without a window says what it can do instead.
#[cfg(not(feature = "gui"))]
fn window(_args: &WindowArgs, err: &mut dyn Write) -> anyhow::Result<Outcome> {
    use clap::CommandFactory as _;
    write!(err, "{}", Cli::command().render_help())?;
    writeln!(err, "\nThis build has no window; name a command.")?;
    Ok(Outcome::Usage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::parse::JsonTo;
    use clap::CommandFactory as _;

    fn smolpilot(words: &str) -> (Outcome, String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let outcome = run(
            format!("smolpilot {words}")
                .split_whitespace()
                .map(str::to_owned),
            &mut out,
            &mut err,
        );
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (outcome, text(out), text(err))
    }

    /// What `debug_assert` of clap's looks at, it looks at in builds with debug assertions only; the tests run without.
    #[test]
    fn no_command_knows_a_word_twice() {
        fn look(command: &clap::Command, path: &str, twice: &mut Vec<String>) {
            let mut seen = std::collections::BTreeSet::new();
            for argument in command.get_arguments() {
                let long = argument.get_long_and_visible_aliases().unwrap_or_default();
                let short = argument.get_short_and_visible_aliases().unwrap_or_default();
                let words = long.iter().map(|word| format!("--{word}"));
                let words = words.chain(short.iter().map(|letter| format!("-{letter}")));
                for word in words.chain([argument.get_id().to_string()]) {
                    if !seen.insert(word.clone()) {
                        twice.push(format!("{path} {word}"));
                    }
                }
            }
            for inner in command.get_subcommands() {
                look(inner, &format!("{path} {}", inner.get_name()), twice);
            }
        }
        let (mut command, mut twice) = (Cli::command(), Vec::new());
        command.build();
        look(&command, "smolpilot", &mut twice);
        assert_eq!(twice, Vec::<String>::new());
    }

    #[test]
    fn help_and_version_are_results() {
        let (outcome, out, err) = smolpilot("--help");
        assert_eq!((outcome, err.as_str()), (Outcome::Done, ""));
        for verb in [
            "run",
            "teleop",
            "predict",
            "bench",
            "check",
            "setup",
            "calibrate",
            "emulate",
            "sim",
            "lab",
        ] {
            assert!(out.contains(verb), "{verb}");
        }
        assert_eq!(
            smolpilot("--version").1.trim(),
            concat!("smolpilot ", env!("CARGO_PKG_VERSION"))
        );
    }

    #[test]
    fn wrong_arguments_end_with_two_and_say_what_was_expected() {
        let cases = [
            ("predict --state 1,x", "finite number"),
            ("predict", "--state"),
            ("run --g 3", "0 to 1"),
            ("run --rig --follower COM3", "cannot be used"),
            ("run --aggregate mean", "linear_ramp"),
            ("bench --device cuda", "gpu:N"),
            ("bench --runs 0", "--runs"),
            ("check --camera front", "NAME=SOURCE"),
            ("calibrate --port COM3 --id blue", "--role"),
            (
                "calibrate --port COM3 --role boss --id blue",
                "follower or leader",
            ),
            ("emulate --role chief", "follower or leader"),
            ("emulate --hand fly", "sweep"),
            ("sim emulate --fresh --boxed", "cannot be used"),
            ("sim eval --task dance", "put the … cube in the box"),
            ("lab --jobs 0", "--jobs"),
            ("fly", "fly"),
        ];
        for (words, expected) in cases {
            let (outcome, out, err) = smolpilot(words);
            assert_eq!((outcome, out.as_str()), (Outcome::Usage, ""), "{words}");
            assert!(err.contains(expected), "{words}: {err}");
        }
    }

    #[test]
    fn json_takes_a_file_or_none() {
        let json = |words: &str| match Cli::try_parse_from(words.split_whitespace()).unwrap().verb {
            Some(Verb::Bench(args)) => args.json.json,
            _ => panic!("{words} is no bench"),
        };
        assert_eq!(json("smolpilot bench"), None);
        assert_eq!(json("smolpilot bench --json"), Some(JsonTo::Stdout));
        assert_eq!(json("smolpilot bench --json --naive"), Some(JsonTo::Stdout));
        assert_eq!(
            json("smolpilot bench --json a.json"),
            Some(JsonTo::File("a.json".into()))
        );
    }
}
