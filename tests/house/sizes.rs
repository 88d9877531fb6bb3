//! Files and functions stay short enough to be read in one go.

use crate::code::item_end;
use crate::files::{House, RustFile};
use crate::report::Violation;

const RULE: &str = "size";
const FILE_LINES: usize = 500;
const FUNCTION_LINES: usize = 80;

pub fn check(house: &House) -> Vec<Violation> {
    house
        .rust
        .iter()
        .flat_map(|file| check_length(file).into_iter().chain(check_functions(file)))
        .collect()
}

fn check_length(file: &RustFile) -> Option<Violation> {
    let lines = file.code.text.lines().count();
    (lines > FILE_LINES).then(|| Violation {
        file: file.path.clone(),
        line: None,
        rule: RULE,
        why: format!(
            "{lines} lines, at most {FILE_LINES}: a file that long holds two subjects, part them"
        ),
    })
}

fn check_functions(file: &RustFile) -> Vec<Violation> {
    let code = &file.code;
    code.words()
        .windows(2)
        .filter(|pair| pair[0].1 == "fn" && code.bare[pair[0].0 + 2..pair[1].0].trim().is_empty())
        .filter_map(|pair| {
            let (start, (_, name)) = (pair[0].0, pair[1]);
            let end = item_end(&code.bare, start);
            let lines = code.bare[start..end.min(code.bare.len())].lines().count();
            (lines > FUNCTION_LINES).then(|| Violation {
                file: file.path.clone(),
                line: Some(code.line(start)),
                rule: RULE,
                why: format!(
                    "`fn {name}` has {lines} lines, at most {FUNCTION_LINES}: name its parts and make functions of them"
                ),
            })
        })
        .collect()
}

#[test]
fn long_files_and_functions_are_named() {
    let body = "    a();\n".repeat(FUNCTION_LINES);
    let long = format!("fn short(f: fn(u8) -> [u8; 4]) {{\n}}\nfn long(a: [u8; 2]) {{\n{body}}}\n");
    let house = House::of(&[
        ("src/a.rs", &long),
        ("src/b.rs", &"// x\n".repeat(FILE_LINES + 1)),
        ("src/c.rs", &"// x\n".repeat(FILE_LINES)),
    ]);
    let said: Vec<_> = check(&house).iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].starts_with("src/a.rs:3 [size] `fn long` has 82 lines"),
        "{said:?}"
    );
    assert!(said[1].starts_with("src/b.rs [size] 501 lines"), "{said:?}");
}
