//! The README promises two commands; the CI runs exactly these, so that the promise is tested and cannot drift.

use crate::files::House;
use crate::report::Violation;

const INSTALL: &str = "sudo apt-get update && sudo apt-get install -y ";
const RUN: &str = " && cargo run --release";
const TEST: &str = "cargo test --release";

pub fn check(house: &House) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut broken = |file: &str, why: String| {
        found.push(Violation {
            file: file.to_owned(),
            line: None,
            rule: "commands",
            why,
        });
    };
    let commands = commands(&house.readme);
    let count = |wanted: &dyn Fn(&str) -> bool| commands.iter().filter(|line| wanted(line)).count();
    if count(&|line| line.starts_with(INSTALL) && line.ends_with(RUN)) != 1 {
        broken(
            "README.md",
            format!(
                "must hold one command `{INSTALL}…{RUN}`: it sets up a fresh machine and runs the main job"
            ),
        );
    }
    if count(&|line| line == TEST) != 1 {
        broken(
            "README.md",
            format!("must hold one command `{TEST}`: it passes the tests"),
        );
    }
    let ci: Vec<_> = house.ci.lines().map(str::trim).collect();
    if !ci
        .iter()
        .any(|line| line.strip_prefix("run ") == Some(TEST))
    {
        broken(
            ".ci/run",
            format!("must `run {TEST}`, the README's command for the tests"),
        );
    }
    if !house.ci.contains("README.md") || ci.iter().any(|line| names_packages(line)) {
        broken(
            ".ci/run",
            "must read the packages from README.md and name none itself: two lists drift apart"
                .to_owned(),
        );
    }
    found
}

/// The lines of the fenced blocks.
fn commands(readme: &str) -> Vec<&str> {
    readme
        .split("```")
        .skip(1)
        .step_by(2)
        .flat_map(|block| block.lines().skip(1))
        .map(str::trim)
        .collect()
}

/// Whether a line of the script installs packages by name, instead of by a variable.
fn names_packages(line: &str) -> bool {
    let is_command = ["run ", "sudo ", "apt-get "]
        .iter()
        .any(|start| line.starts_with(start));
    let packages = line
        .split_once("apt-get install")
        .map_or("", |(_, rest)| rest);
    is_command
        && packages
            .split_whitespace()
            .any(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = "# a\n```sh\nsudo apt-get update && sudo apt-get install -y b c && cargo run --release\n```\n```sh\ncargo test --release\n```\n";
    const CI: &str =
        "packages=$(sed -n p README.md)\napt-get install -y $packages\nrun cargo test --release\n";

    fn said(readme: &str, ci: &str) -> Vec<String> {
        let house = House {
            readme: readme.to_owned(),
            ci: ci.to_owned(),
            ..House::default()
        };
        check(&house).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn equal_commands_pass() {
        assert!(said(README, CI).is_empty());
    }

    #[test]
    fn drift_is_named() {
        for (readme, ci, file) in [
            (
                README.replace("test --release", "test"),
                CI.to_owned(),
                "README.md",
            ),
            (README.replace("```", ""), CI.to_owned(), "README.md"),
            (
                README.to_owned(),
                CI.replace("test --release", "test"),
                ".ci/run",
            ),
            (README.to_owned(), CI.replace("$packages", "b c"), ".ci/run"),
            (
                README.to_owned(),
                CI.replace("README.md", "list"),
                ".ci/run",
            ),
        ] {
            let said = said(&readme, &ci);
            assert!(
                said.first().is_some_and(|line| line.starts_with(file)),
                "{said:?}"
            );
        }
    }
}
