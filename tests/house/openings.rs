//! The first line of each file says, to a roboticist, why the file exists.

use crate::files::House;
use crate::report::Violation;

const RULE: &str = "opening";
/// Fewer words repeat the file's name and give no reason.
const FEWEST_WORDS: usize = 4;

pub fn check(house: &House) -> Vec<Violation> {
    let rust = house
        .rust
        .iter()
        .map(|file| (file.path.as_str(), file.code.text.as_str(), "//!"));
    let shaders = house
        .shaders
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str(), "//"));
    rust.chain(shaders)
        .filter(|(_, text, mark)| !opens(text, mark))
        .map(|(path, _, mark)| Violation {
            file: path.to_owned(),
            line: Some(1),
            rule: RULE,
            why: format!(
                "line one must be `{mark} …` and say in at least {FEWEST_WORDS} words why the file exists: whoever opens it should \
                 know at once whether it is the right one"
            ),
        })
        .collect()
}

fn opens(text: &str, mark: &str) -> bool {
    text.lines()
        .next()
        .and_then(|line| line.strip_prefix(mark))
        .is_some_and(|reason| {
            reason.starts_with(' ') && reason.split_whitespace().count() >= FEWEST_WORDS
        })
}

#[test]
fn an_opening_gives_a_reason() {
    assert!(opens("//! Opens one frame of a stream.\nuse a;", "//!"));
    for text in [
        "",
        "use a;",
        "//! camera",
        "// Opens one frame of a stream.",
        "\n//! Opens one frame of it.",
    ] {
        assert!(!opens(text, "//!"), "{text}");
    }
    let mut house = House::of(&[("src/a.rs", "//! a")]);
    house.shaders = vec![("shaders/a.wgsl".to_owned(), "@vertex fn a() {}".to_owned())];
    let said: Vec<_> = check(&house).iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 2);
    assert!(said[0].starts_with("src/a.rs:1 [opening]") && said[1].starts_with("shaders/a.wgsl:1"));
}
