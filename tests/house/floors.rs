//! A room imports only from lower floors. The floors are read from the opening of `src/lib.rs`, so that there is one list.

use std::collections::BTreeMap;

use crate::code::{closing, words};
use crate::files::{House, RustFile};
use crate::report::Violation;

const RULE: &str = "floors";
/// The top floor wires everything, so that its rooms see all.
const TOP: u32 = 5;
/// The words of floor 0 are one language: an action is made of joints.
const WORDS: u32 = 0;

/// The floor of each room.
type Floors = BTreeMap<String, u32>;

pub fn check(house: &House) -> Vec<Violation> {
    let Some(lib) = house.rust("src/lib.rs") else {
        return vec![broken("src/lib.rs", None, "is missing".to_owned())];
    };
    let floors = floors_from(&lib.code.text);
    house
        .rust
        .iter()
        .filter(|file| file.path.starts_with("src/") && file.path != "src/lib.rs")
        .flat_map(|file| check_file(file, &floors))
        .collect()
}

fn check_file(file: &RustFile, floors: &Floors) -> Vec<Violation> {
    let room = *file.module().first().unwrap_or(&"main");
    let Some(&floor) = floors.get(room) else {
        let why = format!("room `{room}` is on no floor: enter it in the opening of src/lib.rs");
        return vec![broken(&file.path, None, why)];
    };
    imports(file)
        .into_iter()
        .filter_map(|(at, other)| {
            let why = match floors.get(other.as_str()) {
                None => format!("imports `{other}`, which is on no floor of src/lib.rs"),
                Some(_) if other == room => return None,
                Some(&below) if below < floor || floor == TOP || below == WORDS => return None,
                Some(&level) => format!(
                    "room `{room}` on floor {floor} imports `{other}` on floor {level}: a room knows only lower floors, so that each \
                     can be read and tested without what is built upon it. Pass plain data down, or wire the two in `app`"
                ),
            };
            Some(broken(&file.path, Some(file.code.line(at)), why))
        })
        .collect()
}

fn broken(file: &str, line: Option<usize>, why: String) -> Violation {
    Violation {
        file: file.to_owned(),
        line,
        rule: RULE,
        why,
    }
}

/// Reads lines such as ` 3  runtime  sim  remote  train` and ` 4  ui    lab      what the operator sees`.
fn floors_from(lib: &str) -> Floors {
    let mut floors = Floors::new();
    for line in lib.lines().filter_map(|line| line.strip_prefix("//!")) {
        let mut columns = line.trim().split("  ").filter(|column| !column.is_empty());
        let Some(Ok(floor)) = columns.next().map(str::parse) else {
            continue;
        };
        let is_room = |name: &&str| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        };
        for room in columns.map(str::trim).take_while(is_room) {
            floors.insert(room.to_owned(), floor);
        }
    }
    floors
}

/// The rooms that a file names, by `crate::`, by `smolpilot::`, or by climbing out of its own room with `super`.
fn imports(file: &RustFile) -> Vec<(usize, String)> {
    let bare = &file.code.bare;
    let mut found = Vec::new();
    for (at, word) in file.code.words() {
        let starts_path = !bare[..at].trim_end().ends_with("::");
        if !starts_path {
            continue;
        }
        let after = match word {
            "crate" | "smolpilot" => path_rest(bare, at + word.len()),
            "super" => root_by_climbing(file, at),
            _ => None,
        };
        if let Some(after) = after {
            found.extend(first_names(bare, after));
        }
    }
    found
}

/// What follows `::`, if it does.
fn path_rest(bare: &str, end: usize) -> Option<usize> {
    let rest = &bare[end..];
    let path = rest.trim_start().strip_prefix("::")?;
    Some(bare.len() - path.trim_start().len())
}

/// Where the path goes on once a chain of `super` has reached the root of the crate; `None` if it stays inside.
fn root_by_climbing(file: &RustFile, start: usize) -> Option<usize> {
    let bare = &file.code.bare;
    let mut depth = file.module().len() + enclosing_modules(bare, start);
    let mut at = start;
    while depth > 0 && bare[at..].starts_with("super") {
        depth -= 1;
        at = path_rest(bare, at + "super".len())?;
    }
    (depth == 0).then_some(at)
}

fn enclosing_modules(bare: &str, at: usize) -> usize {
    words(&bare[..at])
        .windows(2)
        .filter(|pair| pair[0].1 == "mod")
        .filter_map(|pair| {
            let end = pair[1].0 + pair[1].1.len();
            let open = bare.len() - bare[end..].trim_start().len();
            bare[open..].starts_with('{').then_some(open)
        })
        .filter(|&open| open < at && closing(bare, open) > at)
        .count()
}

/// The first name of a path, or of each path of a group.
fn first_names(bare: &str, at: usize) -> Vec<(usize, String)> {
    let bytes = bare.as_bytes();
    if bytes.get(at) != Some(&b'{') {
        let word = words(&bare[at..])
            .first()
            .map(|(_, word)| (*word).to_owned());
        let is_room = |word: &String| word.starts_with(|c: char| c.is_ascii_lowercase());
        return word
            .filter(is_room)
            .map(|word| (at, word))
            .into_iter()
            .collect();
    }
    let end = closing(bare, at);
    let mut names = Vec::new();
    let mut start = at + 1;
    let mut depth = 0;
    for place in at + 1..=end.min(bytes.len() - 1) {
        match bytes[place] {
            b'{' => depth += 1,
            b'}' if place < end => depth -= 1,
            b',' | b'}' if depth == 0 => {
                let member = &bare[start..place];
                let offset = member.len() - member.trim_start().len();
                if !member.trim().is_empty() {
                    names.extend(first_names(bare, start + offset));
                }
                start = place + 1;
            }
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str = "//! x\n//!\n//!  5  main  cli  app            wires everything; the only place\n//!  4  ui    lab   what the operator \
                       sees   |  measured\n//!  3  runtime  sim\n//!  2  policy\n//!  1  arm  camera\n//!  0  clock  latest\n";

    fn said(path: &str, text: &str) -> Vec<String> {
        let house = House::of(&[("src/lib.rs", LIB), (path, text)]);
        check(&house).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_floors_are_read_from_the_opening() {
        let floors = floors_from(LIB);
        assert_eq!(floors.len(), 12);
        assert_eq!((floors["main"], floors["lab"], floors["clock"]), (5, 4, 0));
    }

    #[test]
    fn lower_floors_and_the_own_room_may_be_imported() {
        for (path, text) in [
            (
                "src/camera/pump.rs",
                "use crate::clock::Clock; use crate::camera::Feed; use super::error::Error;",
            ),
            (
                "src/ui/a.rs",
                "use crate::{runtime::Snapshot, policy, clock::{Clock, Tick}};",
            ),
            ("src/main.rs", "fn main() { smolpilot::cli::run() }"),
            ("src/app/mod.rs", "use crate::cli::Args;"),
            ("src/latest.rs", "use crate::clock::Tick;"),
            (
                "src/arm/a.rs",
                "// crate::ui::theme\nlet a = \"crate::ui::theme\"; struct A(pub(crate) u8);",
            ),
            (
                "src/camera/pump.rs",
                "mod tests { use super::super::grab::Grab; }",
            ),
        ] {
            assert!(said(path, text).is_empty(), "{path}: {text}");
        }
    }

    #[test]
    fn upper_floors_and_neighbours_may_not() {
        for (path, text) in [
            ("src/arm/a.rs", "use crate::runtime::Fault;"),
            ("src/arm/a.rs", "use crate::camera::Feed;"),
            ("src/clock.rs", "fn f() -> crate::arm::Arm {}"),
            (
                "src/runtime/a.rs",
                "use crate::{policy::Policy, sim::{Rig, World}};",
            ),
            ("src/policy/mod.rs", "use super::runtime::Fault;"),
            (
                "src/policy/a.rs",
                "mod tests { use super::super::super::ui::theme; }",
            ),
            ("src/policy/a.rs", "use super\n    ::super::ui::theme;"),
            ("src/arm/a.rs", "use crate::cellar::Wine;"),
            ("src/cellar/mod.rs", ""),
        ] {
            let said = said(path, text);
            assert_eq!(said.len(), 1, "{path}: {text}: {said:?}");
            assert!(
                said[0].starts_with(path) && said[0].contains("[floors]"),
                "{said:?}"
            );
        }
    }

    #[test]
    fn the_line_and_both_rooms_are_named() {
        let said = said("src/arm/a.rs", "\n\nuse crate::runtime::Fault;");
        assert!(said[0].starts_with("src/arm/a.rs:3 "), "{said:?}");
        assert!(said[0].contains("`arm` on floor 1") && said[0].contains("`runtime` on floor 3"));
    }
}
