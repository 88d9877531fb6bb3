//! The access token of whoever is logged in on this machine, found where Python's `huggingface_hub` looks for it.

use std::ffi::OsString;
use std::path::PathBuf;

/// Hugging Face's folder of this user: `HF_HOME`, else `huggingface` in the folder of caches.
pub fn home() -> Option<PathBuf> {
    home_from(
        &|name| std::env::var_os(name),
        directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned()),
    )
}

/// The token, if there is one.
pub fn token() -> Option<String> {
    token_from(&|name| std::env::var_os(name), home())
}

fn home_from(env: &dyn Fn(&str) -> Option<OsString>, user: Option<PathBuf>) -> Option<PathBuf> {
    if let Some(home) = env("HF_HOME") {
        return Some(home.into());
    }
    let caches = env("XDG_CACHE_HOME").map(PathBuf::from);
    let caches = caches.or_else(|| Some(user?.join(".cache")))?;
    Some(caches.join("huggingface"))
}

fn token_from(env: &dyn Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Option<String> {
    let named = ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"]
        .into_iter()
        .find_map(|name| {
            let token = env(name)?.into_string().ok()?;
            kept(&token)
        });
    named.or_else(|| {
        let file = env("HF_TOKEN_PATH").map(PathBuf::from);
        let file = file.or_else(|| Some(home?.join("token")))?;
        kept(&std::fs::read_to_string(file).ok()?)
    })
}

fn kept(token: &str) -> Option<String> {
    let token = token.trim();
    (!token.is_empty()).then(|| token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_comes_before_the_file_and_an_empty_one_is_none() {
        let place = tempfile::tempdir().unwrap();
        let home = Some(place.path().to_owned());
        let env = |given: &'static [(&'static str, &'static str)]| {
            move |name: &str| {
                let found = given.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            }
        };
        assert_eq!(token_from(&env(&[]), home.clone()), None);
        std::fs::write(place.path().join("token"), "hf_file\n").unwrap();
        assert_eq!(
            token_from(&env(&[]), home.clone()).as_deref(),
            Some("hf_file")
        );
        let both = env(&[("HF_TOKEN", " "), ("HUGGING_FACE_HUB_TOKEN", "hf_old")]);
        assert_eq!(token_from(&both, home.clone()).as_deref(), Some("hf_old"));
        let elsewhere = env(&[("HF_TOKEN_PATH", "/nowhere/token")]);
        assert_eq!(token_from(&elsewhere, home), None);
        assert_eq!(
            home_from(&env(&[("XDG_CACHE_HOME", "/c")]), Some("/u".into())),
            Some("/c/huggingface".into())
        );
        assert_eq!(
            home_from(&env(&[]), Some("/u".into())),
            Some("/u/.cache/huggingface".into())
        );
    }
}
