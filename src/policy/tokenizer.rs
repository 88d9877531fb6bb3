//! The task in words becomes token ids exactly as in training; a changed newline or a lost space makes a weaker policy.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tokenizers::Tokenizer;

/// Turns a task into the ids that the VLM was trained with.
#[derive(Clone, Debug)]
pub struct TaskTokenizer {
    inner: Tokenizer,
    max_length: usize,
    cut: Side,
}

/// The ids of one task, without padding: the network skips padded positions, so they are never made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskTokens {
    pub ids: Vec<u32>,
    /// How many ids were cut off because the task is too long.
    pub cut: usize,
}

/// The end at which a text that is too long loses its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Why there is no tokenizer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{} cannot be read as a tokenizer: {why}", path.display())]
    Read { path: PathBuf, why: String },
    #[error("the task cannot be tokenized: {0}")]
    Encode(String),
    #[error("the tokenizer {} knows {tokens} tokens but the network has only {rows} embeddings; it belongs to another model", path.display())]
    TooLarge {
        path: PathBuf,
        tokens: usize,
        rows: usize,
    },
}

/// What matters in `tokenizer_config.json`.
#[derive(Default, Deserialize)]
struct Settings {
    truncation_side: Option<String>,
}

impl TaskTokenizer {
    /// Reads `tokenizer.json`, and the side of truncation from a `tokenizer_config.json` beside it.
    ///
    /// # Errors
    /// The file is absent or no tokenizer, or has more tokens than the network has embeddings (`vocab_size`).
    pub fn read(path: &Path, max_length: usize, vocab_size: usize) -> Result<Self, Error> {
        let mut inner = Tokenizer::from_file(path).map_err(|err| Error::Read {
            path: path.to_owned(),
            why: err.to_string(),
        })?;
        let tokens = inner.get_vocab_size(true);
        if tokens > vocab_size {
            return Err(Error::TooLarge {
                path: path.to_owned(),
                tokens,
                rows: vocab_size,
            });
        }
        // A file may carry its own; the rule is ours: cut here, never pad.
        inner.with_padding(None);
        inner
            .with_truncation(None)
            .map_err(|err| Error::Encode(err.to_string()))?;
        Ok(Self {
            inner,
            max_length,
            cut: side(path),
        })
    }

    /// Ids of a task: a newline is added unless it ends with one, and at most `max_length` ids are kept.
    ///
    /// # Errors
    /// The tokenizer's own rules fail on this text.
    pub fn encode(&self, task: &str) -> Result<TaskTokens, Error> {
        let mut text = task.to_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let encoding = self
            .inner
            .encode_fast(text, true)
            .map_err(|err| Error::Encode(err.to_string()))?;
        let mut ids = encoding.get_ids().to_vec();
        let cut = ids.len().saturating_sub(self.max_length);
        match self.cut {
            // The end of the sentence and its newline survive.
            Side::Left => drop(ids.drain(..cut)),
            Side::Right => ids.truncate(self.max_length),
        }
        Ok(TaskTokens { ids, cut })
    }

    /// The id of a special token.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }
}

/// SmolVLM2 cuts on the left, so that is the rule where no file says otherwise.
fn side(tokenizer: &Path) -> Side {
    let settings = std::fs::read_to_string(tokenizer.with_file_name("tokenizer_config.json"));
    let settings: Settings = settings
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    match settings.truncation_side.as_deref() {
        Some("right") => Side::Right,
        _ => Side::Left,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::processor::golden;

    #[derive(Deserialize)]
    struct Case {
        task: String,
        ids: Vec<u32>,
    }

    fn tiny(max_length: usize) -> TaskTokenizer {
        TaskTokenizer::read(&golden::path("tiny_a/vlm/tokenizer.json"), max_length, 512).unwrap()
    }

    /// Case a07. The ids are those of Python's `tokenizers` 0.22 with LeRobot's newline rule and left truncation to 48.
    #[test]
    fn ids_equal_the_reference_for_every_task() {
        let text = std::fs::read_to_string(golden::path("tokenizer.json")).unwrap();
        let cases: Vec<Case> = serde_json::from_str(&text).unwrap();
        assert!(cases.len() >= 40, "{}", cases.len());
        let tokenizer = tiny(48);
        for case in cases {
            let tokens = tokenizer.encode(&case.task).unwrap();
            assert_eq!(tokens.ids, case.ids, "{:?}", case.task);
        }
    }

    #[test]
    fn one_newline_is_added_and_never_a_second() {
        let tokenizer = tiny(48);
        let plain = tokenizer.encode("pick up the cube").unwrap();
        assert_eq!(plain, tokenizer.encode("pick up the cube\n").unwrap());
        assert_ne!(plain, tokenizer.encode("pick up the cube\n\n").unwrap());
        assert_eq!(
            tokenizer.encode("").unwrap().ids,
            tokenizer.encode("\n").unwrap().ids
        );
    }

    #[test]
    fn a_long_task_loses_its_beginning() {
        let whole = tiny(48).encode("put it on the red one").unwrap();
        let short = tiny(4).encode("put it on the red one").unwrap();
        assert_eq!(short.cut, whole.ids.len() - 4);
        assert_eq!(short.ids, whole.ids[whole.ids.len() - 4..]);
        assert_eq!(whole.cut, 0);
    }

    #[test]
    fn a_tokenizer_of_another_model_is_refused() {
        let path = golden::path("tiny_a/vlm/tokenizer.json");
        let err = TaskTokenizer::read(&path, 48, 500).unwrap_err().to_string();
        assert!(err.contains("512 tokens"), "{err}");
        let err = TaskTokenizer::read(&golden::path("tiny_a/vlm/config.json"), 48, 512);
        assert!(err.unwrap_err().to_string().contains("config.json"));
    }
}
