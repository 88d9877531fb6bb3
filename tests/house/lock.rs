//! Crates that hand GPU objects to each other must be one version, or their types do not fit and the device is not shared.

use crate::files::House;
use crate::report::Violation;

const SINGLE: [&str; 8] = [
    "wgpu",
    "wgpu-core",
    "wgpu-hal",
    "naga",
    "egui",
    "ecolor",
    "eframe",
    "burn-tensor",
];

pub fn check(house: &House) -> Vec<Violation> {
    SINGLE
        .into_iter()
        .filter_map(|name| {
            let versions = versions(&house.lock, name);
            let wrong = match versions.len() {
                1 => return None,
                0 => "is absent, this list is old".to_owned(),
                _ => format!("is there in versions {}", versions.join(" and ")),
            };
            Some(Violation {
                file: "Cargo.lock".to_owned(),
                line: None,
                rule: "single",
                why: format!("`{name}` {wrong}: the window, the scene and the network share one device through it"),
            })
        })
        .collect()
}

fn versions<'a>(lock: &'a str, name: &str) -> Vec<&'a str> {
    let wanted = format!("name = \"{name}\"");
    lock.split("[[package]]")
        .filter(|package| package.lines().any(|line| line == wanted))
        .filter_map(|package| {
            package
                .lines()
                .find_map(|line| line.strip_prefix("version = "))
        })
        .map(|version| version.trim_matches('"'))
        .collect()
}

#[test]
fn a_second_version_is_named() {
    let package = |name: &str, version: &str| {
        format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\n")
    };
    let mut house = House {
        lock: SINGLE.iter().map(|name| package(name, "1.0.0")).collect(),
        ..House::default()
    };
    assert_eq!(check(&house), []);
    house.lock += &package("wgpu", "2.0.0");
    let said: Vec<_> = check(&house).iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 1);
    assert!(
        said[0].contains("`wgpu` is there in versions 1.0.0 and 2.0.0"),
        "{said:?}"
    );
}
