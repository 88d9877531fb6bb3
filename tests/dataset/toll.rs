//! What the kills cost: where they hit, what was said to be saved and what was found, and whether it is what was recorded.

use std::collections::BTreeSet;
use std::path::Path;

use smolpilot::dataset::RecorderView;
use smolpilot::dataset::check::{Depth, check};
use smolpilot::dataset::read::Dataset;

use crate::child::brightness;
use crate::kill::Heard;

/// Levels that encoding may change an even picture by.
const CODEC_LOSS: f64 = 4.0;

/// Figures over all kills.
#[derive(Debug, Default)]
pub struct Toll {
    pub kills: u32,
    /// Of these while the data set was being opened, while an episode ran, and while one was being saved; one can run while another
    /// is saved.
    opening: u32,
    recording: u32,
    saving: u32,
    both: u32,
    reported: usize,
    found: usize,
    offered: usize,
    pub recovered: usize,
    /// Rows that were taken, and found or offered.
    given: u64,
    whole: u64,
    /// Most rows that were lost between two looks.
    most: u64,
    pub episodes: usize,
    /// Names of episodes that must not be found.
    pub discarded: BTreeSet<u32>,
}

impl Toll {
    /// Counts kills between which nobody looked.
    pub fn count(&mut self, heard: &[Heard], view: &RecorderView, before: (usize, u64)) {
        for heard in heard {
            let (runs, saves) = (heard.running.is_some(), heard.keeping > heard.saved);
            self.kills += 1;
            self.opening += u32::from(!heard.open);
            self.recording += u32::from(runs);
            self.saving += u32::from(saves);
            self.both += u32::from(runs && saves);
            self.reported += heard.saved;
        }
        self.found += view.episodes - before.0;
        self.offered += view.interrupted.len();
        let offered: u64 = view.interrupted.iter().map(|left| left.frames).sum();
        let whole = view.frames - before.1 + offered;
        let given = heard.iter().map(Heard::rows).sum::<u64>();
        self.given += given;
        self.whole += whole;
        self.most = self.most.max(given.saturating_sub(whole));
    }

    #[expect(
        clippy::print_stdout,
        reason = "the figures of a long run are what it is run for"
    )]
    pub fn print(&self) {
        println!(
            "{} kills: {} while opening, {} while recording, {} while saving, {} of them while both",
            self.kills, self.opening, self.recording, self.saving, self.both
        );
        println!(
            "episodes: {} reported saved, {} found; {} interrupted were offered, {} of them recovered; {} read back and right",
            self.reported, self.found, self.offered, self.recovered, self.episodes
        );
        println!(
            "rows: {} taken, {} found or offered; between two looks {} were lost at most",
            self.given, self.whole, self.most
        );
    }
}

/// Reads every row, and pictures of every episode; returns how many episodes there are.
pub fn examine(root: &Path, episodes: usize, discarded: &BTreeSet<u32>) -> usize {
    if episodes == 0 && !root.join("meta").exists() {
        return 0;
    }
    let report = check(root, Depth::default(), &mut |_, _| {});
    assert!(report.is_sound(), "{report:#?}");
    let mut set = Dataset::open(root).unwrap();
    assert_eq!(set.episodes().len(), episodes);
    let mut names = BTreeSet::new();
    for episode in 0..episodes {
        let rows = set.rows(episode).unwrap();
        let states: Vec<_> = rows.states().iter().map(|state| state.0[0]).collect();
        let wanted: Vec<_> = (0..rows.len()).map(|k| k as f32).collect();
        assert_eq!(states, wanted, "episode {episode}");
        let actions = rows.actions();
        let name = actions[0].0[0] as u32;
        assert!(
            actions.iter().all(|action| action.0 == [name as f32; 6]),
            "episode {episode}"
        );
        assert!(names.insert(name), "episode {episode} is there twice");
        assert!(
            !discarded.contains(&name),
            "episode {episode} was discarded"
        );
        for row in [0, rows.len() / 2, rows.len() - 1] {
            for camera in ["front", "wrist"] {
                let frame = set.frame(episode, camera, row).unwrap();
                let sum: u64 = frame.rgb.iter().map(|&level| u64::from(level)).sum();
                let mean = sum as f64 / frame.rgb.len() as f64;
                let wanted = f64::from(brightness(row as u64));
                assert!(
                    (mean - wanted).abs() <= CODEC_LOSS,
                    "episode {episode}, {camera} {row}: {mean} for {wanted}"
                );
            }
        }
    }
    episodes
}
