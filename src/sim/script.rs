//! Fault scripts: what goes wrong with a pretend arm, and when, in a text file that a person can write.
//!
//! One line an event. In front stands when (`at 2.5s`, `on 120` for the 120th transaction, or nothing for at once), behind
//! it what: faults in their short forms, `heal`, a random plague (`every 1/500 seed 7 drop|flip|mute:ID*3`), what the hand
//! does (`hand:sweep`), and which motors are plugged in (`only:gripper`). `#` begins a comment.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use crate::arm::read_text;
use crate::joint::Joint;
use crate::sim::faults::{Chance, Fault, UnknownFault};
use crate::sim::hand::Gesture;

/// Events of a pretend arm, each with its moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    timed: Vec<(Duration, Act)>,
    counted: Vec<(u64, Act)>,
}

/// Something that happens to a pretend arm.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    Fault(Fault),
    Hand(Gesture),
    Plug(Plug),
}

/// The cables between the motors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plug {
    In(Joint),
    Out(Joint),
    /// This motor alone is plugged in.
    Only(Joint),
    /// The whole chain.
    All,
}

impl From<Fault> for Act {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Gesture> for Act {
    fn from(gesture: Gesture) -> Self {
        Self::Hand(gesture)
    }
}

impl From<Plug> for Act {
    fn from(plug: Plug) -> Self {
        Self::Plug(plug)
    }
}

/// Why a script cannot be played: which file, which line, which word.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("cannot read the fault script {}: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{} line {line}: `{word}`: {why}", path.display())]
    Word {
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        word: String,
        why: String,
    },
}

impl Script {
    /// Adds what happens so long after the script has begun.
    #[must_use]
    pub fn at(mut self, when: Duration, what: impl Into<Act>) -> Self {
        self.timed.push((when, what.into()));
        self
    }

    /// Adds what happens just before the `nth` transaction, counted from 1.
    #[must_use]
    pub fn on(mut self, nth: u64, what: impl Into<Act>) -> Self {
        self.counted.push((nth, what.into()));
        self
    }

    /// Reads a script file.
    ///
    /// # Errors
    /// The file cannot be read, or the first word that means nothing, with its line.
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        let text = read_text(path).map_err(|source| ScriptError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, path)
    }

    /// Reads the text of a script; `path` is only named in errors.
    ///
    /// # Errors
    /// The first word that means nothing, with its line.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ScriptError> {
        let mut script = Self::default();
        for (index, line) in text.lines().enumerate() {
            let told = line.split_once('#').map_or(line, |(told, _)| told);
            script.line(told).map_err(|(word, why)| ScriptError::Word {
                path: path.to_owned(),
                line: index + 1,
                word,
                why,
            })?;
        }
        Ok(script)
    }

    /// Takes one line without its comment; or the word that is wrong, and why.
    fn line(&mut self, text: &str) -> Result<(), Wrong> {
        let mut words = text.split_whitespace().peekable();
        let when =
            match words.peek() {
                None => return Ok(()),
                Some(&"at") => {
                    let word = after("at", &mut words)?;
                    When::At(duration(word).ok_or_else(|| {
                        wrong(word, "expected a time such as 2.5s, 300ms or 2min")
                    })?)
                }
                Some(&"on") => {
                    let word = after("on", &mut words)?;
                    let nth = word.parse().ok().filter(|nth| *nth > 0);
                    When::On(nth.ok_or_else(|| {
                        wrong(word, "expected the number of a transaction, from 1")
                    })?)
                }
                Some(_) => When::At(Duration::ZERO),
            };
        if words.peek().is_none() {
            return Err(wrong(
                text.trim(),
                "says when, but not what: name a fault, or `heal`",
            ));
        }
        while let Some(word) = words.next() {
            let act = match word {
                "every" => Act::Fault(Fault::Random(chance(&mut words)?)),
                word => act(word)?,
            };
            match when {
                When::At(time) => self.timed.push((time, act)),
                When::On(nth) => self.counted.push((nth, act)),
            }
        }
        Ok(())
    }
}

impl FromStr for Script {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Self, ScriptError> {
        Self::parse(text, Path::new("script"))
    }
}

/// A word and what is wrong with it.
type Wrong = (String, String);

fn wrong(word: &str, why: impl Into<String>) -> Wrong {
    (word.to_owned(), why.into())
}

#[derive(Clone, Copy)]
enum When {
    At(Duration),
    On(u64),
}

/// The word behind `word`, which is next.
fn after<'a>(word: &str, words: &mut impl Iterator<Item = &'a str>) -> Result<&'a str, Wrong> {
    words
        .nth(1)
        .ok_or_else(|| wrong(word, "the line ends here"))
}

/// `2.5s`, `300ms`, `2min`.
fn duration(word: &str) -> Option<Duration> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &word[digits.len()..] {
        "s" => 1.0,
        "ms" => 0.001,
        "min" => 60.0,
        _ => return None,
    };
    let number: f64 = digits.parse().ok()?;
    Duration::try_from_secs_f64(number * unit).ok()
}

/// What stands behind `every`: `1/500 [seed 7] drop|flip`.
fn chance<'a>(
    words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Result<Chance, Wrong> {
    let one_in = words
        .next()
        .ok_or_else(|| wrong("every", "expected how often: every 1/500"))?;
    // The number first, so that a wrong one is named and not what stands behind it.
    if Chance::one_in(one_in).is_none() {
        return Err(wrong(one_in, "expected how often, from 1/1: 1/500"));
    }
    let seed = if words.next_if_eq(&"seed").is_some() {
        let word = words
            .next()
            .ok_or_else(|| wrong("seed", "the line ends here"))?;
        let seed = word.parse().ok();
        seed.ok_or_else(|| wrong(word, "expected a whole number as the seed"))?
    } else {
        0
    };
    let of = words
        .next()
        .ok_or_else(|| wrong(one_in, "says how often, but not what: drop|flip|late:20"))?;
    Chance::from_words(one_in, seed, of).map_err(|why| wrong(of, why.to_string()))
}

fn act(word: &str) -> Result<Act, Wrong> {
    let (name, argument) = word.split_once(':').unwrap_or((word, ""));
    let plug = |plug: fn(Joint) -> Plug| {
        let found = Joint::ALL
            .into_iter()
            .find(|joint| joint.name() == argument);
        found
            .map(plug)
            .ok_or_else(|| wrong(word, "expected a joint, for example gripper"))
    };
    Ok(match name {
        "hand" => Act::Hand(argument.parse().map_err(|why| wrong(word, why))?),
        "plug" if argument == "all" => Act::Plug(Plug::All),
        "plug" => Act::Plug(plug(Plug::In)?),
        "unplug" => Act::Plug(plug(Plug::Out)?),
        "only" => Act::Plug(plug(Plug::Only)?),
        _ => {
            let unknown = |why: UnknownFault| wrong(word, why.to_string());
            Act::Fault(word.parse().map_err(unknown)?)
        }
    })
}

/// A script that is being played.
#[derive(Clone, Debug, Default)]
pub(super) struct Playing {
    /// In order of their moments, on the rig's clock.
    timed: VecDeque<(Duration, Act)>,
    counted: VecDeque<(u64, Act)>,
    transactions: u64,
}

impl Playing {
    /// Begins at `now`.
    pub fn new(script: Script, now: Duration) -> Self {
        let Script {
            mut timed,
            mut counted,
        } = script;
        timed.sort_by_key(|(when, _)| *when);
        counted.sort_by_key(|(nth, _)| *nth);
        Self {
            timed: timed
                .into_iter()
                .map(|(when, act)| (now.saturating_add(when), act))
                .collect(),
            counted: counted.into(),
            transactions: 0,
        }
    }

    /// What has come due by `now`.
    pub fn due(&mut self, now: Duration) -> Vec<Act> {
        let due = self.timed.partition_point(|(when, _)| *when <= now);
        self.timed.drain(..due).map(|(_, act)| act).collect()
    }

    /// Whether nothing more will happen.
    pub fn is_over(&self) -> bool {
        self.timed.is_empty() && self.counted.is_empty()
    }

    /// A transaction begins; what comes with it.
    pub fn transaction(&mut self) -> Vec<Act> {
        self.transactions += 1;
        let due = self
            .counted
            .partition_point(|(nth, _)| *nth <= self.transactions);
        self.counted.drain(..due).map(|(_, act)| act).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sim::faults::Distortion;

    fn next(distortion: Distortion) -> Fault {
        Fault::Next {
            skip: 0,
            distortion,
        }
    }

    #[test]
    fn a_script_is_read_line_by_line() {
        let text = "
            # a bad day
            echo                      # from the start
            at 2.5s mute:3
            at 300ms stuck:6 alarms:6=32
            on 120 drop
            at 1min heal
            every 1/500 seed 7 drop|flip|late:20|mute:ID*3
            at 3s hand:sweep
            only:gripper
        ";
        let script: Script = text.parse().unwrap();
        let ms = Duration::from_millis;
        let chance = Chance::from_words("1/500", 7, "drop|flip|late:20|mute:ID*3").unwrap();
        let same = Script::default()
            .at(ms(0), Fault::Echo)
            .at(ms(2500), Fault::Mute(3))
            .at(ms(300), Fault::Stuck(6))
            .at(ms(300), Fault::Alarms(6, 32))
            .on(120, next(Distortion::Drop(0)))
            .at(ms(60_000), Fault::Heal)
            .at(ms(0), Fault::Random(chance))
            .at(ms(3000), Gesture::Sweep)
            .at(ms(0), Plug::Only(Joint::Gripper));
        assert_eq!(script, same);
        assert_eq!("".parse::<Script>().unwrap(), Script::default());
    }

    #[test]
    fn a_wrong_word_is_named_with_file_and_line() {
        let cases = [
            ("at", "at", "ends"),
            ("at 2 mute:3", "2", "2.5s"),
            ("at -1s mute:3", "-1s", "2.5s"),
            ("at 1s", "at 1s", "not what"),
            ("on 0 drop", "0", "from 1"),
            ("on first drop", "first", "from 1"),
            ("at 1s mut:3", "mut:3", "no fault"),
            ("every", "every", "how often"),
            ("every 1/500", "1/500", "not what"),
            ("every 1/500 seed x drop", "x", "whole number"),
            ("every 1/500 drop|bang", "drop|bang", "`bang` is no fault"),
            ("every often drop", "often", "how often"),
            ("every 1/0 seed 7 drop", "1/0", "how often"),
            ("hand:fly", "hand:fly", "sweep"),
            ("only:elbow", "only:elbow", "a joint"),
        ];
        for (line, word, why) in cases {
            let text = format!("# one\n\n{line} # here\n");
            let error = Script::parse(&text, Path::new("bad.faults"))
                .unwrap_err()
                .to_string();
            let place = format!("bad.faults line 3: `{word}`: ");
            assert!(error.starts_with(&place) && error.contains(why), "{error}");
        }
        let gone = Script::read(Path::new("/nowhere/a.faults"))
            .unwrap_err()
            .to_string();
        assert!(gone.contains("/nowhere/a.faults"), "{gone}");
    }

    proptest! {
        #[test]
        fn no_text_is_worse_than_an_error_that_names_its_line(
            lines in proptest::collection::vec("(at |on |every |hand:|poke:|before:)?[ -~é]{0,24}", 0..6)
        ) {
            let text = lines.join("\n");
            if let Err(error) = text.parse::<Script>() {
                let told = error.to_string();
                let place = (1..=lines.len()).any(|line| told.contains(&format!("script line {line}: ")));
                prop_assert!(place, "{}", told);
            }
        }
    }

    #[test]
    fn what_is_due_comes_in_order_and_once() {
        let script: Script = "at 2s mute:2\nat 1s mute:1\non 2 mute:3\non 2 mute:4"
            .parse()
            .unwrap();
        let mut playing = Playing::new(script, Duration::from_secs(10));
        let secs = Duration::from_secs;
        assert!(playing.due(secs(10)).is_empty());
        let both = [Fault::Mute(1).into(), Fault::Mute(2).into()];
        assert_eq!(playing.due(secs(12)), both);
        assert!(playing.due(secs(99)).is_empty() && !playing.is_over());
        assert!(playing.transaction().is_empty());
        assert_eq!(
            playing.transaction(),
            [Fault::Mute(3).into(), Fault::Mute(4).into()]
        );
        assert!(playing.transaction().is_empty() && playing.is_over());
    }
}
