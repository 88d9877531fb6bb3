//! Names that say nothing are not used: what is called a manager or a helper has not been understood yet.

use crate::files::{House, RustFile};
use crate::report::Violation;

const RULE: &str = "name";
const BANNED: [&str; 11] = [
    "manager", "handler", "helper", "util", "common", "misc", "data", "process", "service",
    "wrapper", "context",
];
/// Words before the name of a module or a type.
const DECLARES: [&str; 6] = ["mod", "struct", "enum", "trait", "type", "union"];

pub fn check(house: &House) -> Vec<Violation> {
    let rust = house.rust.iter().flat_map(|file| {
        let own = check_path(&file.path);
        own.into_iter().chain(check_declarations(file))
    });
    let shaders = house
        .shaders
        .iter()
        .filter_map(|(path, _)| check_path(path));
    rust.chain(shaders).collect()
}

fn check_path(path: &str) -> Option<Violation> {
    let stem = |part: &str| part.split('.').next().unwrap_or_default().to_owned();
    let bad = path.split('/').map(stem).find_map(|part| banned(&part))?;
    Some(broken(path, None, path, bad))
}

fn check_declarations(file: &RustFile) -> Vec<Violation> {
    let code = &file.code;
    code.words()
        .windows(2)
        .filter(|pair| {
            let between = &code.bare[pair[0].0 + pair[0].1.len()..pair[1].0];
            DECLARES.contains(&pair[0].1) && between.trim().is_empty()
        })
        .filter_map(|pair| {
            let (at, name) = pair[1];
            Some(broken(&file.path, Some(code.line(at)), name, banned(name)?))
        })
        .collect()
}

fn broken(file: &str, line: Option<usize>, name: &str, bad: &str) -> Violation {
    Violation {
        file: file.to_owned(),
        line,
        rule: RULE,
        why: format!(
            "`{name}` holds the word `{bad}`, which says nothing: name what it is or does on the robot"
        ),
    }
}

/// The banned word in a name, whole or in the plural.
fn banned(name: &str) -> Option<&'static str> {
    let words = parts(name);
    BANNED.into_iter().find(|bad| {
        words
            .iter()
            .any(|word| word == bad || word.strip_suffix('s') == Some(bad))
    })
}

/// `ActionQueue` and `action_queue` are `action`, `queue`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut after_lower = false;
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && after_lower) {
            parts.push(String::new());
        }
        after_lower = c.is_lowercase() || c.is_ascii_digit();
        if c != '_'
            && let Some(last) = parts.last_mut()
        {
            last.extend(c.to_lowercase());
        }
    }
    parts
}

#[test]
fn banned_words_are_found_in_files_modules_and_types() {
    let house = House::of(&[
        ("src/arm/utils.rs", ""),
        (
            "src/arm/a.rs",
            "mod motor_helpers; struct BusManager; enum Ok {} trait PacketHandler {} type RenderContext = u8;",
        ),
        (
            "src/policy/processor.rs",
            "struct Dataset; mod commonality; fn process() {} // struct DataManager",
        ),
    ]);
    let said: Vec<_> = check(&house).iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 5, "{said:?}");
    for (line, word) in said
        .iter()
        .zip(["util", "helper", "manager", "handler", "context"])
    {
        assert!(line.contains(&format!("the word `{word}`")), "{line}");
    }
}
