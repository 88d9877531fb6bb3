//! Kills a recording program at seeded moments and looks at what is left: it opens, it holds every episode that was reported saved,
//! and the interrupted one is offered.
//!
//! A few times in the usual run; as often as `SMOLPILOT_KILLS` says where it says so, with the figures on the standard output.

use std::collections::BTreeSet;
use std::env;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use smolpilot::dataset::{Recorder, RecorderView};

use crate::child::{INTO, NAME, SEED, plan};
use crate::toll::{Toll, examine};

/// Kills in the usual run.
const FEW: usize = 12;
/// Kills of one data set, before the next is begun.
const A_SET: usize = 20;
/// The longest wait from what is heard to the kill.
const LATEST: Duration = Duration::from_millis(25);

/// What was heard of a program until it was killed.
#[derive(Debug, Default)]
pub struct Heard {
    pub open: bool,
    /// Episodes that were reported saved.
    pub saved: usize,
    /// Episodes that were about to be kept.
    pub keeping: usize,
    pub kept: usize,
    /// Rows of these.
    pub rows_kept: u64,
    /// Rows of the episode that was being discarded: it may still be offered.
    dropping: u64,
    /// Names of the episodes that were discarded for sure.
    pub discarded: Vec<u32>,
    /// The episode that ran, its rows, and as many of them as were seen to be in the files.
    pub running: Option<(u32, u64, u64)>,
}

impl Heard {
    fn hear(&mut self, line: &str) {
        let (word, number) = line.split_once(' ').unwrap_or((line, "0"));
        let number: u32 = number.parse().unwrap_or_default();
        match (word, &mut self.running) {
            ("open", _) => self.open = true,
            ("saved", _) => self.saved = number as usize,
            ("begin", running) => *running = Some((number, 0, 0)),
            ("row", Some((_, rows, _))) => *rows += 1,
            ("whole", Some((_, _, whole))) => *whole = u64::from(number),
            ("keep", running) => {
                self.keeping += 1;
                self.rows_kept += running.take().map_or(0, |(_, rows, _)| rows);
            }
            ("kept", _) => self.kept += 1,
            ("discard", running) => {
                self.dropping = running.take().map_or(0, |(_, rows, _)| rows);
            }
            ("discarded", _) => {
                self.dropping = 0;
                self.discarded.push(number);
            }
            _ => {}
        }
    }
}

impl Heard {
    /// Rows that were given and not discarded.
    pub fn rows(&self) -> u64 {
        self.rows_kept + self.running.map_or(0, |(_, rows, _)| rows)
    }
}

/// A recording program that is not left alone if the test stops.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        // It is gone already, as a rule.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Records into `root` and is killed a little after the `count`-th time that it said `word`.
fn record_and_kill(root: &Path, seed: u32, word: &str, count: usize, wait: Duration) -> Heard {
    let program = env::current_exe().unwrap();
    let started = Command::new(program)
        .args(["--exact", NAME, "--nocapture", "--test-threads=1"])
        .env(INTO, root)
        .env(SEED, seed.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut victim = Victim(started.unwrap());
    let lines = BufReader::new(victim.0.stdout.take().unwrap()).lines();
    let mut heard = Heard::default();
    let mut times = 0;
    for line in lines.map_while(Result::ok) {
        heard.hear(&line);
        times += usize::from(line.starts_with(word) && !line[word.len()..].starts_with('e'));
        if times == count {
            thread::sleep(wait);
            victim.0.kill().unwrap();
            // What it had said before is still heard.
            times += 1;
        }
    }
    assert!(
        times > count,
        "it ended by itself: {}",
        complaint(&mut victim)
    );
    heard
}

fn complaint(victim: &mut Victim) -> String {
    let lines = victim
        .0
        .stderr
        .take()
        .map(|said| BufReader::new(said).lines());
    let lines: Vec<_> = lines.into_iter().flatten().map_while(Result::ok).collect();
    lines.join("\n")
}

/// Opens what was left and waits until what had been kept is saved.
fn open(root: &Path) -> (Recorder, RecorderView) {
    let recorder = Recorder::open(plan(root)).unwrap();
    while !recorder.view().saving.is_empty() {
        thread::sleep(Duration::from_millis(1));
    }
    let view = recorder.view();
    assert_eq!(view.trouble, None);
    (recorder, view)
}

/// Kills once, and checks what is left. `before` is how many episodes there were.
fn kill_once(root: &Path, seed: u32, before: (usize, u64), toll: &mut Toll) -> (usize, u64) {
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(seed));
    let (word, most) = [
        ("opening", 1),
        ("row", 150),
        ("keep", 4),
        ("kept", 4),
        ("discard", 2),
    ][random.random_range(0..5)];
    let count = random.random_range(1..=most);
    let wait = LATEST.mul_f64(random.random_range(0.0..1.0));
    let heard = record_and_kill(root, seed, word, count, wait);
    let (mut recorder, view) = open(root);
    let when = format!("seed {seed}: {heard:?}: {view:?}");
    assert!(
        view.episodes >= before.0 + heard.saved,
        "a saved episode is lost: {when}"
    );
    assert!(
        view.episodes <= before.0 + heard.keeping,
        "an episode nobody kept: {when}"
    );
    let offered: u64 = view.interrupted.iter().map(|left| left.frames).sum();
    let whole = heard.running.map_or(0, |(_, _, whole)| whole);
    assert!(offered >= whole, "rows are lost: {when}");
    // One may have been taken and not been told of.
    let found = view.frames - before.1 + offered;
    assert!(
        found <= heard.rows() + heard.dropping + 1,
        "rows nobody took: {when}"
    );
    toll.count(&heard, &view, before);
    let mut wanted = view.episodes;
    for left in &view.interrupted {
        assert!(left.frames > 0 && left.task == "hold still", "{when}");
        if random.random_bool(0.5) {
            recorder.recover(&left.id).unwrap();
            wanted += 1;
            toll.recovered += 1;
        } else {
            recorder.forget(&left.id).unwrap();
        }
    }
    let closed = recorder.close().unwrap();
    assert_eq!(
        (closed.episodes, closed.interrupted.len()),
        (wanted, 0),
        "{when}"
    );
    assert!(!root.join(".recording").exists(), "{when}");
    toll.discarded.extend(heard.discarded);
    (closed.episodes, closed.frames)
}

#[test]
fn nothing_that_was_reported_saved_is_lost_whenever_the_program_is_killed() {
    let asked = env::var("SMOLPILOT_KILLS").ok();
    let kills = asked.and_then(|kills| kills.parse().ok()).unwrap_or(FEW);
    let mut toll = Toll::default();
    let mut seeds = 1..=kills as u32;
    while !seeds.is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("set");
        let mut held = (0, 0);
        for seed in seeds.by_ref().take(A_SET) {
            held = kill_once(&root, seed, held, &mut toll);
        }
        toll.episodes += examine(&root, held.0, &toll.discarded);
        toll.discarded = BTreeSet::new();
    }
    toll.print();
    assert_eq!(toll.kills(), kills);
}
