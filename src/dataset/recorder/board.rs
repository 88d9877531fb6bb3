//! What the recorder's threads tell of themselves: counts, saves under way, what is left to be recovered, and the last trouble.

use std::sync::{Arc, Mutex, PoisonError};

use crate::dataset::{Error, Interrupted, Saving};

/// What is known at a moment.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Whole episodes and rows in the data set.
    pub episodes: usize,
    pub frames: u64,
    /// Of these, saved since it was opened.
    pub saved: usize,
    /// Oldest first.
    pub saving: Vec<Saving>,
    /// Ids of the journals that are being saved, in the same order.
    pub ids: Vec<String>,
    pub interrupted: Vec<Interrupted>,
    /// Ids of journals whose save failed and has not been done since.
    pub failed: Vec<String>,
    /// Why the last save failed; gone with the next that is done.
    pub trouble: Option<String>,
}

/// The state, shared by the threads. Locked for moments only.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<State>>);

impl Board {
    /// Reads or changes it.
    pub fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        // Every change leaves it whole, so that a panic elsewhere spoils nothing.
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        act(&mut state)
    }

    pub fn state(&self) -> State {
        self.with(|state| state.clone())
    }

    /// A save is asked for; returns the number that its episode will have.
    pub fn queue(&self, id: &str) -> usize {
        self.with(|state| {
            let episode = state.next_episode();
            state.interrupted.retain(|left| left.id != id);
            state.ids.push(id.to_owned());
            state.saving.push(Saving {
                episode,
                stage: "waiting".to_owned(),
                share: 0.0,
            });
            episode
        })
    }

    /// How far the oldest save is.
    pub fn progress(&self, stage: &str, share: f32) {
        self.with(|state| {
            if let Some(first) = state.saving.first_mut() {
                stage.clone_into(&mut first.stage);
                first.share = share.clamp(0.0, 1.0);
            }
        });
    }

    /// The oldest save is done.
    pub fn saved(&self, episodes: usize, frames: u64) {
        self.with(|state| {
            (state.episodes, state.frames) = (episodes, frames);
            state.saved += 1;
            if let Some(id) = state.drop_first() {
                state.failed.retain(|failed| *failed != id);
            }
            state.trouble = None;
        });
    }

    /// The oldest save failed; `left` is what can be recovered of it.
    pub fn failed(&self, left: Option<Interrupted>, error: &Error) {
        self.with(|state| {
            let id = state.drop_first();
            state.failed.extend(id);
            state.interrupted.extend(left);
            state.trouble = Some(error.to_string());
        });
    }
}

impl State {
    /// The number of the next episode that is kept.
    pub fn next_episode(&self) -> usize {
        self.episodes + self.saving.len()
    }

    /// Takes the oldest save off; those behind it move up if it failed. Returns its journal's id.
    fn drop_first(&mut self) -> Option<String> {
        if self.saving.is_empty() {
            return None;
        }
        self.saving.remove(0);
        let episodes = self.episodes;
        for (place, saving) in self.saving.iter_mut().enumerate() {
            saving.episode = episodes + place;
        }
        Some(self.ids.remove(0))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn numbers_move_up_when_a_save_fails_and_stay_when_it_is_done() {
        let board = Board::default();
        board.with(|state| state.episodes = 4);
        let numbers = ["a", "b", "c"].map(|id| board.queue(id));
        assert_eq!(numbers, [4, 5, 6]);
        board.progress("video", 0.5);
        assert_eq!(board.state().saving[0].stage, "video");
        board.saved(5, 100);
        let numbers = |board: &Board| {
            let saving = board.state().saving;
            saving
                .iter()
                .map(|saving| saving.episode)
                .collect::<Vec<_>>()
        };
        assert_eq!(numbers(&board), [5, 6]);
        let error = Error::Io {
            path: PathBuf::from("data"),
            error: std::io::ErrorKind::StorageFull.into(),
        };
        board.failed(
            Some(Interrupted {
                id: "b".to_owned(),
                ..Interrupted::default()
            }),
            &error,
        );
        let state = board.state();
        assert_eq!((numbers(&board), state.next_episode()), (vec![5], 6));
        assert_eq!((state.ids, state.saved), (vec!["c".to_owned()], 1));
        assert!(
            state
                .trouble
                .is_some_and(|trouble| trouble.starts_with("data: "))
        );
        assert_eq!(board.state().failed, ["b"]);
        // It is tried again.
        board.queue("b");
        assert!(board.state().interrupted.is_empty());
        board.saved(6, 120);
        board.saved(7, 140);
        let state = board.state();
        assert!(
            state.failed.is_empty() && state.trouble.is_none(),
            "{state:?}"
        );
    }
}
