//! Kills a recording program at seeded moments and looks at what is left: it opens, it holds every episode that was reported saved,
//! and the interrupted one is offered.
//!
//! A few times in the usual run; as often as `SMOLPILOT_KILLS` says where it says so, with the figures on the standard output.

use std::collections::BTreeSet;
use std::env;
use std::io::{BufRead as _, BufReader};
use std::ops::RangeInclusive;
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
const FEW: u32 = 12;
/// Kills of one data set, before the next is begun.
const A_SET: u32 = 20;
/// The longest wait from what is heard to the kill, and from the beginning of an opening.
const LATEST: Duration = Duration::from_millis(25);
const OPENING: Duration = Duration::from_millis(4);

/// What was heard of a program until it was killed.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    pub open: bool,
    /// Episodes that were reported saved.
    pub saved: usize,
    /// Episodes that were about to be kept, and their rows.
    pub keeping: usize,
    rows_kept: u64,
    /// Rows of the episode that was being discarded: it may still be offered.
    dropping: u64,
    /// Names of the episodes that were discarded for sure.
    discarded: Vec<u32>,
    /// Rows of the episode that ran, and as many of them as were seen to be in the files.
    pub running: Option<(u64, u64)>,
}

impl Heard {
    fn hear(&mut self, line: &str) {
        let (word, number) = line.split_once(' ').unwrap_or((line, "0"));
        let number: u32 = number.parse().unwrap_or_default();
        match (word, &mut self.running) {
            ("open", _) => self.open = true,
            ("saved", _) => self.saved = number as usize,
            ("begin", running) => *running = Some((0, 0)),
            ("row", Some((rows, _))) => *rows += 1,
            ("whole", Some((_, whole))) => *whole = u64::from(number),
            ("keep", running) => {
                self.keeping += 1;
                self.rows_kept += running.take().map_or(0, |(rows, _)| rows);
            }
            ("discard", running) => {
                self.dropping = running.take().map_or(0, |(rows, _)| rows);
            }
            ("discarded", _) => {
                self.dropping = 0;
                self.discarded.push(number);
            }
            _ => {}
        }
    }

    /// Rows that were given and not discarded.
    pub fn rows(&self) -> u64 {
        self.rows_kept + self.running.map_or(0, |(rows, _)| rows)
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

/// Records, and is killed at a moment that is drawn.
fn kill_once(root: &Path, seed: u32, random: &mut ChaCha8Rng) -> Heard {
    let (word, most, latest) = [
        ("opening", 1, OPENING),
        ("row", 150, LATEST),
        ("keep", 4, LATEST),
        ("kept", 4, LATEST),
        ("discard", 2, LATEST),
    ][random.random_range(0..5)];
    let count = random.random_range(1..=most);
    let wait = latest.mul_f64(random.random_range(0.0..1.0));
    record_and_kill(root, seed, word, count, wait)
}

/// Kills once, or twice without anybody having looked in between, and checks what is left.
///
/// `before` is how many episodes and rows there were; returns how many there are.
fn kill_and_look(
    root: &Path,
    seeds: &mut RangeInclusive<u32>,
    before: (usize, u64),
    toll: &mut Toll,
) -> (usize, u64) {
    let seed = *seeds.start();
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(seed));
    let kills = random.random_range(1..=2);
    let kill = |seed| kill_once(root, seed, &mut random);
    let heard: Vec<_> = seeds.by_ref().take(kills).map(kill).collect();
    let (mut recorder, view) = open(root);
    let when = format!("seed {seed}: {heard:?}: {view:?}");
    let sum = |of: &dyn Fn(&Heard) -> u64| heard.iter().map(of).sum::<u64>();
    let gained = (view.episodes - before.0) as u64;
    let (saved, kept) = (sum(&|it| it.saved as u64), sum(&|it| it.keeping as u64));
    assert!(gained >= saved, "a saved episode is lost: {when}");
    assert!(gained <= kept, "an episode nobody kept: {when}");
    let offered: u64 = view.interrupted.iter().map(|left| left.frames).sum();
    let whole = sum(&|it| it.running.map_or(0, |(_, whole)| whole));
    assert!(offered >= whole, "rows are lost: {when}");
    let found = view.frames - before.1 + offered;
    // One of each program may have been taken and not been told of.
    let taken = sum(&|it| it.rows() + it.dropping + 1);
    assert!(found <= taken, "rows nobody took: {when}");
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
    assert_eq!(closed.episodes, wanted, "{when}");
    assert!(closed.interrupted.is_empty(), "{when}");
    assert!(!root.join(".recording").exists(), "{when}");
    let discarded = heard.into_iter().flat_map(|it| it.discarded);
    toll.discarded.extend(discarded);
    (closed.episodes, closed.frames)
}

#[test]
fn nothing_that_was_reported_saved_is_lost_whenever_the_program_is_killed() {
    let asked = env::var("SMOLPILOT_KILLS").ok();
    let kills = asked.map_or(FEW, |kills| kills.parse().unwrap());
    let mut toll = Toll::default();
    let mut seeds = 1..=kills;
    while !seeds.is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("set");
        let mut held = (0, 0);
        let last = (*seeds.end()).min(*seeds.start() + A_SET - 1);
        let mut these = *seeds.start()..=last;
        seeds = last + 1..=*seeds.end();
        while !these.is_empty() {
            held = kill_and_look(&root, &mut these, held, &mut toll);
        }
        toll.episodes += examine(&root, held.0, &toll.discarded);
        toll.discarded = BTreeSet::new();
    }
    toll.print();
    assert_eq!(toll.kills, kills);
}
