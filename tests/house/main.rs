//! Keeps the house in order, as ordinary tests: floors, openings, sizes, names, what only one file may touch, shaders, the top
//! level, the README. Each rule names the file, the rule and its reason; each is tested itself on a few lines that break it.

mod code;
mod files;
mod floors;
mod lock;
mod names;
mod only_here;
mod openings;
mod readme;
mod report;
mod shaders;
mod sizes;
mod top_level;

use std::env;
use std::path::PathBuf;

use files::House;
use report::Violation;

fn house() -> House {
    // Asked at run time first: the tree may lie elsewhere than where this test was built.
    let root = env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into());
    House::load(&PathBuf::from(root))
}

fn assert_kept(violations: &[Violation]) {
    let list: Vec<_> = violations.iter().map(ToString::to_string).collect();
    assert!(list.is_empty(), "the house says:\n{}\n", list.join("\n"));
}

#[test]
fn rooms_import_only_from_lower_floors() {
    assert_kept(&floors::check(&house()));
}

#[test]
fn every_file_says_first_why_it_exists() {
    assert_kept(&openings::check(&house()));
}

#[test]
fn files_and_functions_are_short() {
    assert_kept(&sizes::check(&house()));
}

#[test]
fn names_say_what_things_are() {
    assert_kept(&names::check(&house()));
}

#[test]
fn what_belongs_to_one_file_stays_there() {
    assert_kept(&only_here::check(&house()));
}

#[test]
fn every_shader_is_valid_and_loaded() {
    assert_kept(&shaders::check(&house()));
}

#[test]
fn the_top_level_holds_only_what_is_agreed() {
    assert_kept(&top_level::check(&house()));
}

#[test]
fn the_readme_and_the_ci_say_the_same_commands() {
    assert_kept(&readme::check(&house()));
}

#[test]
fn crates_that_share_a_device_are_linked_once() {
    assert_kept(&lock::check(&house()));
}
