//! Reads a Rust file just well enough for the rules: what is code, what is comment, what is text, what is only for tests.

use std::ops::Range;

/// A Rust file with its comments and texts told apart from its code. All three views have the same length and lines.
#[derive(Debug)]
pub struct Code {
    /// As it is on disk.
    pub text: String,
    /// Comments blanked, texts kept.
    pub uncommented: String,
    /// Comments and texts blanked.
    pub bare: String,
    /// Items under `#[cfg(test)]`.
    tests: Vec<Range<usize>>,
}

impl Code {
    pub fn new(text: &str) -> Self {
        let (uncommented, bare) = blank(text);
        let tests = test_items(&bare);
        Self {
            text: text.to_owned(),
            uncommented,
            bare,
            tests,
        }
    }

    /// Line of a byte, counted from one.
    pub fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    /// Whether a byte lies in an item that only tests see.
    pub fn is_test(&self, at: usize) -> bool {
        self.tests.iter().any(|range| range.contains(&at))
    }

    /// Names of the modules in other files that only tests see, `#[cfg(test)] mod name;`.
    pub fn test_modules(&self) -> Vec<&str> {
        self.tests
            .iter()
            .filter_map(|range| {
                let item = self.bare[range.clone()].strip_suffix(';')?;
                match words(item).as_slice() {
                    [.., (_, "mod"), (_, name)] => Some(*name),
                    _ => None,
                }
            })
            .collect()
    }

    /// The identifiers of the code, with their places.
    pub fn words(&self) -> Vec<(usize, &str)> {
        words(&self.bare)
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// The identifiers and numbers of `text`, with their places.
pub fn words(text: &str) -> Vec<(usize, &str)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        if at > start {
            found.push((start, &text[start..at]));
        } else {
            at += 1;
        }
    }
    found
}

/// Where the bracket that opens at `open` is closed, or the end of the text.
pub fn closing(bare: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in bare.bytes().enumerate().skip(open) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    bare.len()
}

/// The end of the item that starts at `start`: after its block, or its semicolon.
pub fn item_end(bare: &str, start: usize) -> usize {
    let bytes = bare.as_bytes();
    let mut at = start;
    while at < bytes.len() {
        match bytes[at] {
            b'{' => return closing(bare, at) + 1,
            b';' => return at + 1,
            b'(' | b'[' => at = closing(bare, at) + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn test_items(bare: &str) -> Vec<Range<usize>> {
    bare.match_indices("#[cfg(")
        .filter_map(|(start, _)| {
            let end = (closing(bare, start + 1) + 1).min(bare.len());
            let condition = &bare[start..end];
            let only_tests = words(condition).iter().any(|(_, word)| *word == "test")
                && !condition.contains("not(test")
                && !condition.contains("any(");
            only_tests.then(|| start..item_end(bare, end).min(bare.len()))
        })
        .collect()
}

/// Blanks comments in the first copy, comments and texts in the second.
fn blank(text: &str) -> (String, String) {
    let mut uncommented = text.as_bytes().to_vec();
    let mut bare = uncommented.clone();
    let mut at = 0;
    while at < text.len() {
        let (end, kind) = token(text.as_bytes(), at);
        if kind == Kind::Comment {
            fill(&mut uncommented[at..end]);
        }
        if kind != Kind::Code {
            fill(&mut bare[at..end]);
        }
        at = end;
    }
    let text_from = |bytes| String::from_utf8(bytes).expect("whole characters are blanked");
    (text_from(uncommented), text_from(bare))
}

fn fill(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
        *byte = b' ';
    }
}

#[derive(PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Text,
}

/// The end of what begins at `at`, and what it is.
fn token(bytes: &[u8], at: usize) -> (usize, Kind) {
    let rest = &bytes[at..];
    let end = bytes.len();
    if rest.starts_with(b"//") {
        let length = rest.iter().position(|&byte| byte == b'\n');
        return (length.map_or(end, |length| at + length), Kind::Comment);
    }
    if rest.starts_with(b"/*") {
        return (block_comment_end(bytes, at), Kind::Comment);
    }
    let starts_word = at == 0 || !is_word(bytes[at - 1]);
    if starts_word && let Some(end) = raw_text_end(bytes, at) {
        return (end, Kind::Text);
    }
    match rest[0] {
        b'"' => (text_end(bytes, at, b'"'), Kind::Text),
        b'\'' if is_character(rest) => (text_end(bytes, at, b'\''), Kind::Text),
        _ => (at + 1, Kind::Code),
    }
}

/// Tells a character from a lifetime: an escape, or one character and a quote.
fn is_character(rest: &[u8]) -> bool {
    let width = match rest.get(1) {
        Some(b'\\') => return true,
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        Some(0xc0..) => 2,
        _ => 1,
    };
    rest.get(1 + width) == Some(&b'\'')
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn text_end(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn raw_text_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    let prefix = [b"r".as_slice(), b"br", b"cr"]
        .into_iter()
        .find(|prefix| rest.starts_with(prefix))?
        .len();
    let hashes = rest[prefix..].iter().take_while(|&&b| b == b'#').count();
    let open = prefix + hashes;
    if rest.get(open) != Some(&b'"') {
        return None;
    }
    let close = [b"\"".as_slice(), &b"#".repeat(hashes)].concat();
    let length = rest[open + 1..]
        .windows(close.len())
        .position(|window| window == close);
    Some(length.map_or(bytes.len(), |length| at + open + 1 + length + close.len()))
}

#[test]
fn comments_and_texts_are_told_apart_from_code() {
    let source = "let a = \"x // y\"; // z\nlet b = 'q'; /* m /* n */ o */ fn f<'a>(v: &'a str) {}";
    let code = Code::new(source);
    assert_eq!(code.bare.len(), source.len());
    for gone in ["x", "y", "z", "'q'", "m", "n", "o"] {
        assert!(!words(&code.bare).iter().any(|(_, w)| *w == gone), "{gone}");
    }
    assert!(code.uncommented.contains("x // y") && !code.uncommented.contains(" z"));
    assert!(code.bare.contains("fn f<'a>(v: &'a str) {}"));
}

#[test]
fn raw_texts_and_escapes_end_where_they_end() {
    let source = "f(r#\"a \" b\"#, br\"c\\\", '\\'', \"d\\\"e\", 'ä', bar)";
    let code = Code::new(source);
    assert_eq!(
        code.bare.split_whitespace().collect::<String>(),
        "f(,,,,,bar)"
    );
}

#[test]
fn items_for_tests_are_known() {
    let source = "fn a() {}\n#[cfg(test)]\n#[path = \"x\"]\nmod tests { fn b() { {} } }\nfn c() {}\n#[cfg(test)]\npub(crate) mod far;\n\
                  #[cfg(not(test))]\nfn d() {}";
    let code = Code::new(source);
    let test = |word: &str| code.is_test(code.bare.find(word).expect("present"));
    assert!(!test("fn a") && test("fn b") && !test("fn c") && !test("fn d"));
    assert_eq!(code.test_modules(), ["far"]);
    assert_eq!(code.line(source.find("fn c").expect("present")), 5);
}
