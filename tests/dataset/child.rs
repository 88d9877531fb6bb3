//! A program that records until it is killed, and says each step of it on its standard output.
//!
//! It is this test binary, started again: the test below records only where it is told to.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use smolpilot::dataset::{CameraShape, Outcome, Plan, Provenance, Recorder, Step, left_in};
use smolpilot::joint::JointVec;
use smolpilot::observation::Frame;

/// Names the data set to record into, and the seed.
pub const INTO: &str = "SMOLPILOT_TEST_RECORD_INTO";
pub const SEED: &str = "SMOLPILOT_TEST_SEED";
/// This test, by its name.
pub const NAME: &str = "child::a_child_records_until_it_is_killed";

/// Pixels.
const WIDTH: u32 = 48;
const HEIGHT: u32 = 32;
/// Between rows, so that an episode lasts long enough to be killed in.
const PACE: Duration = Duration::from_millis(1);

/// Two small cameras.
pub fn plan(root: &Path) -> Plan {
    let camera = |name: &str| CameraShape {
        name: name.to_owned(),
        width: WIDTH,
        height: HEIGHT,
    };
    Plan {
        cameras: vec![camera("front"), camera("wrist")],
        ..Plan::new(root)
    }
}

/// How bright the picture of row `k` is; a decoder gives it back within a few levels.
pub fn brightness(k: u64) -> u8 {
    20 + (k * 23 % 200) as u8
}

/// Row `k` of the episode that is called `tag`: state and action name both, the pictures the row.
fn step(tag: u32, k: u64) -> Step {
    let rgb = vec![brightness(k); (WIDTH * HEIGHT * 3) as usize];
    let frame = Frame::new(WIDTH, HEIGHT, rgb, k + 1, PACE);
    Step {
        at: Duration::from_millis(33 * k),
        state: JointVec([k as f32; 6]),
        action: JointVec([tag as f32; 6]),
        frames: vec![frame.clone(), frame],
        task: Arc::from("hold still"),
        provenance: Provenance::default(),
        missed: 0,
    }
}

/// Says something to whoever kills this program. It is heard even if the program ends right after.
fn say(words: impl fmt::Display) {
    let mut out = io::stdout().lock();
    // Nobody listens any more only when it is about to end anyway.
    writeln!(out, "\n{words}").and_then(|()| out.flush()).ok();
}

#[test]
fn a_child_records_until_it_is_killed() {
    let (Some(root), Ok(seed)) = (env::var_os(INTO), env::var(SEED)) else {
        return;
    };
    record(Path::new(&root), seed.parse().unwrap());
}

fn record(root: &Path, seed: u32) {
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(seed));
    say("opening");
    let mut recorder = Recorder::open(plan(root)).unwrap();
    say("open");
    let mut saved = 0;
    for tag in seed * 1000.. {
        say(format!("begin {tag}"));
        recorder.begin().unwrap();
        let rows = random.random_range(5..60);
        for k in 0..rows {
            recorder.push(step(tag, k)).unwrap();
            tell_saved(&recorder, &mut saved);
            say("row");
            if k % 16 == 15 {
                // What is in the files now is there whatever happens to this program.
                let whole = left_in(root).unwrap();
                let rows: BTreeMap<_, _> = whole
                    .iter()
                    .map(|(left, _)| (&left.id, left.frames))
                    .collect();
                rows.last_key_value()
                    .into_iter()
                    .for_each(|(_, rows)| say(format!("whole {rows}")));
            }
            thread::sleep(PACE);
        }
        if random.random_bool(0.8) {
            say("keep");
            recorder.keep(Outcome::Success).unwrap();
            say("kept");
        } else {
            say("discard");
            recorder.discard().unwrap();
            say(format!("discarded {tag}"));
        }
        tell_saved(&recorder, &mut saved);
    }
}

fn tell_saved(recorder: &Recorder, saved: &mut usize) {
    let view = recorder.view();
    assert_eq!(view.trouble, None);
    if view.saved > *saved {
        *saved = view.saved;
        say(format!("saved {saved}"));
    }
}
