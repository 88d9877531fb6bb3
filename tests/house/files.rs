//! The files that the rules look at.

use std::fs;
use std::path::Path;

use crate::code::Code;

/// One Rust file.
#[derive(Debug)]
pub struct RustFile {
    /// Path from the top of the repository, with `/`.
    pub path: String,
    pub code: Code,
    /// All of it is for tests: it lies below `tests`, or its module is declared under `#[cfg(test)]`.
    pub only_tests: bool,
}

impl RustFile {
    pub fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            code: Code::new(text),
            only_tests: path.starts_with("tests/"),
        }
    }

    /// The path of the module in the crate: `["camera", "pump"]`; empty for `lib.rs` and `main.rs`.
    pub fn module(&self) -> Vec<&str> {
        let Some(inner) = self.path.strip_prefix("src/") else {
            return Vec::new();
        };
        let inner = inner.trim_end_matches(".rs").trim_end_matches("/mod");
        match inner {
            "lib" | "main" => Vec::new(),
            _ => inner.split('/').collect(),
        }
    }

    pub fn is_test(&self, at: usize) -> bool {
        self.only_tests || self.code.is_test(at)
    }
}

/// Everything that the rules look at.
#[derive(Debug, Default)]
pub struct House {
    /// Names at the top level.
    pub top: Vec<String>,
    /// Files below `src` and `tests`.
    pub rust: Vec<RustFile>,
    /// Path and text of the files below `shaders`.
    pub shaders: Vec<(String, String)>,
    pub readme: String,
    pub ci: String,
    pub gitignore: String,
    pub lock: String,
}

impl House {
    /// Reads the repository at `root`.
    pub fn load(root: &Path) -> Self {
        let read = |name: &str| fs::read_to_string(root.join(name)).unwrap_or_default();
        let mut rust: Vec<_> = ["src", "tests"]
            .iter()
            .flat_map(|folder| texts(root, folder, "rs"))
            .map(|(path, text)| RustFile::new(&path, &text))
            .collect();
        mark_test_modules(&mut rust);
        Self {
            top: names(root),
            rust,
            shaders: texts(root, "shaders", "wgsl"),
            readme: read("README.md"),
            ci: read(".ci/run"),
            gitignore: read(".gitignore"),
            lock: read("Cargo.lock"),
        }
    }

    /// A house of a few Rust files, for testing the rules.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let mut rust: Vec<_> = files
            .iter()
            .map(|(path, text)| RustFile::new(path, text))
            .collect();
        mark_test_modules(&mut rust);
        Self {
            rust,
            ..Self::default()
        }
    }

    /// The Rust file at `path`.
    pub fn rust(&self, path: &str) -> Option<&RustFile> {
        self.rust.iter().find(|file| file.path == path)
    }
}

fn mark_test_modules(files: &mut [RustFile]) {
    let modules: Vec<String> = files
        .iter()
        .filter(|file| file.path.starts_with("src/"))
        .flat_map(|file| {
            let module = file.module().join("/");
            file.code
                .test_modules()
                .into_iter()
                .map(move |name| format!("{module}/{name}").trim_matches('/').to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    for file in files {
        let module = file.module().join("/");
        file.only_tests |= modules
            .iter()
            .any(|test| module == *test || module.starts_with(&format!("{test}/")));
    }
}

fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<_> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    names
}

/// Paths, from `root`, and texts of all files below `folder` with this extension.
fn texts(root: &Path, folder: &str, extension: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for name in names(&root.join(folder)) {
        let path = format!("{folder}/{name}");
        let full = root.join(&path);
        if full.is_dir() {
            found.extend(texts(root, &path, extension));
        } else if full.extension().is_some_and(|found| found == extension) {
            let text = fs::read_to_string(&full).unwrap_or_else(|why| panic!("{path}: {why}"));
            found.push((path, text));
        }
    }
    found
}

#[test]
fn modules_and_test_files_are_known_by_their_paths() {
    let house = House::of(&[
        ("src/lib.rs", "mod camera;"),
        ("src/camera/mod.rs", "#[cfg(test)]\nmod far;\nmod near;"),
        ("src/camera/far.rs", ""),
        ("src/camera/near.rs", ""),
        ("tests/rig/main.rs", ""),
    ]);
    let only_tests: Vec<_> = house.rust.iter().map(|file| file.only_tests).collect();
    assert_eq!(only_tests, [false, false, true, false, true]);
    let modules: Vec<_> = house
        .rust
        .iter()
        .map(|file| file.module().join("/"))
        .collect();
    assert_eq!(modules, ["", "camera", "camera/far", "camera/near", ""]);
}
