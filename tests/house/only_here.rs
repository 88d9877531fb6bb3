//! What only one file may touch: the crates of devices, shader files, colours. And what no file may hold: unfinished work, and
//! places that end the program.

use crate::files::{House, RustFile};
use crate::report::Violation;

/// egui's colours that are no colours: nothing, the picture's own, the text's own.
const NEUTRAL: [&str; 3] = ["TRANSPARENT", "WHITE", "PLACEHOLDER"];

pub fn check(house: &House) -> Vec<Violation> {
    house
        .rust
        .iter()
        .filter(|file| file.path.starts_with("src/"))
        .flat_map(|file| {
            let mut found = device_crates(file);
            found.extend(shader_files(file));
            found.extend(colours(file));
            found.extend(unfinished(file));
            found.extend(endings(file));
            found
        })
        .collect()
}

fn broken(file: &RustFile, at: usize, rule: &'static str, why: &str) -> Violation {
    Violation {
        file: file.path.clone(),
        line: Some(file.code.line(at)),
        rule,
        why: why.to_owned(),
    }
}

/// Crates that talk to devices: rule, crate, and the file that may name it.
const DEVICES: [(&str, &str, &str); 3] = [
    ("camera", "nokhwa", "src/camera/device.rs"),
    ("gamepad", "gilrs", "src/app/gamepad.rs"),
    ("key", "global_hotkey", "src/app/global_keys.rs"),
];

fn device_crates(file: &RustFile) -> Vec<Violation> {
    let elsewhere = DEVICES
        .into_iter()
        .filter(|(_, _, home)| file.path != *home);
    let named = elsewhere.flat_map(|(rule, name, home)| {
        let words = file.code.words();
        let named = words.into_iter().filter(move |(_, word)| *word == name);
        named.map(move |(at, _)| (at, rule, name, home))
    });
    named
        .map(|(at, rule, name, home)| {
            let why = format!(
                "only {home} names {name}, so that the rest builds, runs and is tested without a {rule}"
            );
            broken(file, at, rule, &why)
        })
        .collect()
}

fn shader_files(file: &RustFile) -> Vec<Violation> {
    if file.path == "src/gpu/shaders.rs" {
        return Vec::new();
    }
    file.code
        .uncommented
        .match_indices(".wgsl")
        .map(|(at, _)| {
            let why = "only gpu/shaders.rs names a .wgsl, so that every shader is found, labelled and checked in one place";
            broken(file, at, "shader", why)
        })
        .collect()
}

fn colours(file: &RustFile) -> Vec<Violation> {
    if file.path == "src/ui/theme.rs" {
        return Vec::new();
    }
    let bare = &file.code.bare;
    let made = ["Color32::from_", "Rgba::from_", "hex_color!"]
        .into_iter()
        .flat_map(|maker| bare.match_indices(maker).map(|(at, _)| at));
    let named = bare
        .match_indices("Color32::")
        .map(|(at, _)| at)
        .filter(|at| {
            let rest = &bare[at + "Color32::".len()..];
            let end = rest.find(|c: char| !c.is_ascii_uppercase() && c != '_');
            let name = &rest[..end.unwrap_or(rest.len())];
            name.len() > 1 && !NEUTRAL.contains(&name)
        });
    let hex = file
        .code
        .uncommented
        .match_indices("\"#")
        .map(|(at, _)| at)
        .filter(|at| is_hex_colour(&file.code.uncommented[at + 2..]));
    made.chain(named)
        .chain(hex)
        .map(|at| {
            let why = "colours live in ui/theme.rs alone: elsewhere they break the light theme, and nobody finds them again";
            broken(file, at, "colour", why)
        })
        .collect()
}

fn is_hex_colour(rest: &str) -> bool {
    let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
    matches!(digits, 3 | 6 | 8) && rest[digits..].starts_with('"')
}

fn unfinished(file: &RustFile) -> Vec<Violation> {
    ["TODO", "FIXME", "XXX"]
        .into_iter()
        .flat_map(|mark| file.code.text.match_indices(mark))
        .map(|(at, mark)| {
            let why = format!("`{mark}`: nothing unfinished lands; do it, or file an issue");
            broken(file, at, "unfinished", &why)
        })
        .collect()
}

fn endings(file: &RustFile) -> Vec<Violation> {
    [".unwrap()", ".expect(", "panic!("]
        .into_iter()
        .flat_map(|ending| file.code.bare.match_indices(ending))
        .filter(|(at, _)| !file.is_test(*at))
        .map(|(at, ending)| {
            let why = format!("`{ending}` outside tests: an error is returned or shown, a cockpit that ends drops the arm");
            broken(file, at, "ending", &why)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<&'static str> {
        check(&House::of(&[(path, text)]))
            .iter()
            .map(|violation| violation.rule)
            .collect()
    }

    #[test]
    fn each_rule_fires_on_what_breaks_it() {
        for (rule, path, text) in [
            ("camera", "src/ui/a.rs", "use nokhwa::Camera;"),
            ("gamepad", "src/app/pad.rs", "use gilrs::Button;"),
            ("key", "src/ui/a.rs", "use global_hotkey::hotkey::Code;"),
            (
                "shader",
                "src/scene/a.rs",
                "const A: &str = include_str!(\"../../shaders/scene.wgsl\");",
            ),
            (
                "colour",
                "src/ui/a.rs",
                "let a = egui::Color32::from_rgb(1, 2, 3);",
            ),
            ("colour", "src/ui/a.rs", "let a = Color32::RED;"),
            ("colour", "src/ui/a.rs", "let a = \"#a0b1c2\";"),
            ("unfinished", "src/ui/a.rs", "// TODO: later"),
            (
                "ending",
                "src/ui/a.rs",
                "fn f() { a.unwrap(); }\n#[cfg(test)]\nmod tests { fn g() { a.unwrap() } }",
            ),
            ("ending", "src/ui/a.rs", "fn f() { a\n    .expect(\"b\"); }"),
        ] {
            assert_eq!(rules(path, text), [rule], "{text}");
        }
    }

    #[test]
    fn what_is_in_its_place_is_left_alone() {
        for (path, text) in [
            ("src/camera/device.rs", "use nokhwa::Camera;"),
            ("src/camera/mod.rs", "// nokhwa is named in device.rs"),
            ("src/app/gamepad.rs", "use gilrs::Gilrs;"),
            (
                "src/gpu/shaders.rs",
                "include_str!(\"../../shaders/scene.wgsl\")",
            ),
            ("src/scene/a.rs", "/// Twin: shaders/scene.wgsl"),
            ("src/ui/theme.rs", "Color32::from_rgb(1, 2, 3)"),
            (
                "src/ui/a.rs",
                "Color32::TRANSPARENT; Color32::WHITE; let a: Color32 = theme.ink; \"#1 of 3\"",
            ),
            (
                "src/ui/a.rs",
                "#[expect(lint, reason = \"a.unwrap()\")] fn f() { a.unwrap_or_default(); }",
            ),
            ("tests/ui/main.rs", "fn f() { a.unwrap(); Color32::RED; }"),
        ] {
            assert_eq!(rules(path, text), [""; 0], "{path}: {text}");
        }
    }
}
