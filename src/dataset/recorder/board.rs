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
    /// Saves that were asked for, by the ids of their journals, oldest first.
    saving: Vec<(String, Saving)>,
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
            let waiting = Saving {
                episode,
                stage: "waiting".to_owned(),
                share: 0.0,
            };
            state.saving.push((id.to_owned(), waiting));
            episode
        })
    }

    /// How far a save is.
    pub fn progress(&self, id: &str, stage: &str, share: f32) {
        self.with(|state| {
            let found = state.saving.iter_mut().find(|(known, _)| known == id);
            if let Some((_, saving)) = found {
                stage.clone_into(&mut saving.stage);
                saving.share = share.clamp(0.0, 1.0);
            }
        });
    }

    /// A save is done.
    pub fn saved(&self, id: &str, episodes: usize, frames: u64) {
        self.with(|state| {
            (state.episodes, state.frames) = (episodes, frames);
            state.saved += 1;
            state.drop_save(id);
            state.failed.retain(|failed| failed != id);
            state.trouble = None;
        });
    }

    /// A save failed; `left` is what can be recovered of it.
    pub fn failed(&self, id: &str, left: Option<Interrupted>, error: &Error) {
        self.with(|state| {
            state.drop_save(id);
            state.failed.push(id.to_owned());
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

    pub fn is_saving(&self, id: &str) -> bool {
        self.saving.iter().any(|(known, _)| known == id)
    }

    /// Saves under way, oldest first.
    pub fn saving(&self) -> Vec<Saving> {
        self.saving
            .iter()
            .map(|(_, saving)| saving.clone())
            .collect()
    }

    /// Takes a save off; those behind it move up if it failed.
    fn drop_save(&mut self, id: &str) {
        self.saving.retain(|(known, _)| known != id);
        for (place, (_, saving)) in self.saving.iter_mut().enumerate() {
            saving.episode = self.episodes + place;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn numbers(board: &Board) -> Vec<usize> {
        let saving = board.state().saving();
        saving.iter().map(|saving| saving.episode).collect()
    }

    #[test]
    fn numbers_move_up_when_a_save_fails_and_stay_when_it_is_done() {
        let board = Board::default();
        board.with(|state| state.episodes = 4);
        let asked = ["a", "b", "c", "d"].map(|id| board.queue(id));
        assert_eq!(asked, [4, 5, 6, 7]);
        board.progress("b", "encoding", 0.5);
        assert_eq!(board.state().saving()[1].stage, "encoding");
        board.saved("a", 5, 100);
        assert_eq!(numbers(&board), [5, 6, 7]);
        let error = Error::Io {
            path: PathBuf::from("data"),
            error: std::io::ErrorKind::StorageFull.into(),
        };
        let left = Interrupted {
            id: "c".to_owned(),
            ..Interrupted::default()
        };
        board.failed("c", Some(left), &error);
        let state = board.state();
        assert_eq!((numbers(&board), state.next_episode()), (vec![5, 6], 7));
        assert!(state.is_saving("d") && !state.is_saving("c"));
        assert_eq!((state.failed, state.saved), (vec!["c".to_owned()], 1));
        let trouble = state.trouble.unwrap();
        assert!(trouble.starts_with("data: "), "{trouble}");
        // It is tried again.
        assert_eq!(board.queue("c"), 7);
        assert!(board.state().interrupted.is_empty());
        for (id, episodes) in [("b", 6), ("d", 7), ("c", 8)] {
            board.saved(id, episodes, 100);
        }
        let state = board.state();
        assert!(
            state.failed.is_empty() && state.trouble.is_none(),
            "{state:?}"
        );
        assert!(state.saving().is_empty());
    }
}
