//! The top of the repository shows seven things, so that a newcomer sees where to begin.

use crate::files::House;
use crate::report::Violation;

const AGREED: [&str; 7] = [
    "Cargo.toml",
    "Cargo.lock",
    "src",
    "shaders",
    "assets",
    "tests",
    "README.md",
];

pub fn check(house: &House) -> Vec<Violation> {
    // Untracked things that git ignores are nobody's business.
    let ignored: Vec<_> = house
        .gitignore
        .lines()
        .filter_map(|line| line.strip_prefix('/'))
        .collect();
    let extra = house
        .top
        .iter()
        .filter(|name| {
            !name.starts_with('.')
                && !AGREED.contains(&name.as_str())
                && !ignored.contains(&name.as_str())
        })
        .map(|name| {
            broken(
                name,
                "is not agreed for the top level; put it into src, shaders, assets or tests",
            )
        });
    let missing = AGREED
        .iter()
        .filter(|name| !house.top.iter().any(|present| present == *name))
        .map(|name| broken(name, "is missing at the top level"));
    extra.chain(missing).collect()
}

fn broken(name: &str, why: &str) -> Violation {
    Violation {
        file: name.to_owned(),
        line: None,
        rule: "top level",
        why: why.to_owned(),
    }
}

#[test]
fn extra_and_missing_things_are_named() {
    let mut house = House {
        top: AGREED.iter().map(ToString::to_string).collect(),
        gitignore: "/target\n*.log\n".to_owned(),
        ..House::default()
    };
    house
        .top
        .extend([".clippy.toml", "target"].map(str::to_owned));
    assert_eq!(check(&house), []);
    house.top.push("scripts".to_owned());
    house.top.retain(|name| name != "README.md");
    let said: Vec<_> = check(&house).iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 2);
    assert!(said[0].starts_with("scripts [top level]") && said[1].starts_with("README.md"));
}
