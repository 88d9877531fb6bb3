//! The demo network's words: a byte-level alphabet, so that any task in any script has tokens. Nothing is learnt.

use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::sequence::Sequence;
use tokenizers::{AddedToken, Tokenizer};

/// The first ids, as in SmolVLM2: id 2 pads.
const SPECIAL: [&str; 5] = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<fake_token_around_image>",
    "<global-img>",
];

/// Tokens of the demo network: the special ones and one a byte.
pub const VOCAB_SIZE: usize = SPECIAL.len() + 256;

/// The text of its `tokenizer.json`.
///
/// # Errors
/// In words; only if the tokenizer library changes its rules.
pub fn json() -> Result<String, String> {
    let mut bytes: Vec<char> = ByteLevel::alphabet().into_iter().collect();
    bytes.sort_unstable();
    let special = SPECIAL.iter().map(ToString::to_string);
    let tokens = special.chain(bytes.iter().map(ToString::to_string));
    let vocab: Vocab = tokens.zip(0..).collect();
    let model = BPE::builder()
        .vocab_and_merges(vocab, Vec::new())
        .build()
        .map_err(|err| err.to_string())?;
    let mut tokenizer = Tokenizer::new(model);
    let steps = Sequence::new(vec![
        PreTokenizerWrapper::Digits(Digits::new(true)),
        PreTokenizerWrapper::ByteLevel(ByteLevel::new(false, true, true)),
    ]);
    tokenizer.with_pre_tokenizer(Some(steps));
    let special: Vec<AddedToken> = SPECIAL.iter().map(|t| AddedToken::from(*t, true)).collect();
    tokenizer.add_special_tokens(&special);
    tokenizer.to_string(false).map_err(|err| err.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_has_tokens_and_comes_back_whole() {
        let text = json().unwrap();
        assert_eq!(text, json().unwrap(), "the same at every start");
        let tokenizer: Tokenizer = text.parse().unwrap();
        assert_eq!(tokenizer.get_vocab_size(true), VOCAB_SIZE);
        assert_eq!(tokenizer.token_to_id("<|im_end|>"), Some(2));
        for task in ["pick up the cube\n", "拿起 🧊 12\r\n", "\0"] {
            let encoding = tokenizer.encode(task, true).unwrap();
            assert_eq!(encoding.get_ids().len(), task.len(), "{task:?}");
        }
    }
}
