//! An ffmpeg that is installed, for what is not built in: AV1 and the encoders of graphics cards, and films in other codecs.
//!
//! It works on an episode that is already safe as H.264, never beside the arm. If it is missing or dies, the episode is still whole and
//! can be saved otherwise.

mod encoders;
mod read;
mod transcode;

use std::ffi::OsString;
use std::io::{self, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};
use std::sync::OnceLock;
use std::thread::{self, JoinHandle};

pub use encoders::Settings;
pub(super) use read::Reader;
pub use transcode::transcode;

use super::super::Error;
use encoders::{KNOWN, names_from};

/// Where it is looked for: on the path, and where a program that was not started from a terminal does not look on macOS.
const PLACES: [&str; 3] = [
    "ffmpeg",
    "/opt/homebrew/bin/ffmpeg",
    "/usr/local/bin/ffmpeg",
];
const INSTALL: &str = "install it (Linux: `sudo apt install ffmpeg`, macOS: `brew install ffmpeg`, Windows: `winget install ffmpeg`)";

/// An ffmpeg that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ffmpeg {
    program: PathBuf,
    encoders: Vec<String>,
}

impl Ffmpeg {
    /// The ffmpeg of this machine. It is looked for until it is found, then remembered.
    ///
    /// # Errors
    /// [`Error::Encoder`] says how to install it.
    pub fn find() -> Result<Self, Error> {
        static FOUND: OnceLock<Ffmpeg> = OnceLock::new();
        if let Some(found) = FOUND.get() {
            return Ok(found.clone());
        }
        let found = PLACES.iter().find_map(|place| Self::at(Path::new(place)));
        let found = found.ok_or_else(|| Error::Encoder {
            encoder: "ffmpeg".to_owned(),
            why: format!(
                "it is not installed: {INSTALL}, or record with the built-in encoder, h264"
            ),
        })?;
        Ok(FOUND.get_or_init(|| found).clone())
    }

    fn at(program: &Path) -> Option<Self> {
        let arguments = ["-hide_banner", "-encoders"].map(OsString::from);
        let said = command(program, &arguments).output().ok()?;
        let listing = String::from_utf8_lossy(&said.stdout);
        said.status.success().then(|| Self {
            program: program.to_owned(),
            encoders: names_from(&listing),
        })
    }

    /// Encoders that it was built with and that recordings can be made with. Those of a graphics card may still fail without one.
    pub fn encoders(&self) -> Vec<&'static str> {
        let is_there = |name: &&str| self.encoders.iter().any(|there| there == name);
        KNOWN
            .iter()
            .map(|known| known.name)
            .filter(is_there)
            .collect()
    }

    /// That `encoder` can be used.
    ///
    /// # Errors
    /// [`Error::Encoder`] names those that can.
    pub fn require(&self, encoder: &str) -> Result<(), Error> {
        let there = self.encoders();
        if there.contains(&encoder) {
            return Ok(());
        }
        Err(Error::Encoder {
            encoder: format!("ffmpeg:{encoder}"),
            why: format!(
                "this ffmpeg cannot record with it. Choose one of {}, or the built-in encoder, h264",
                there.join(", ")
            ),
        })
    }
}

/// A command of ffmpeg that neither reads this program's input nor opens a window.
fn command(program: &Path, arguments: &[OsString]) -> Command {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(windows)]
    {
        use std::os::windows::process::CommandExt as _;
        const CREATE_NO_WINDOW: u32 = 0x0800_0000;
        command.creation_flags(CREATE_NO_WINDOW);
    }
    command
}

/// Reads what ffmpeg complains about, on a thread of its own: a full pipe would stop it.
fn listen(complaints: ChildStderr) -> Result<JoinHandle<String>, String> {
    const MOST: u64 = 1 << 16;
    let read = move || {
        let mut complaints = BufReader::new(complaints);
        let mut said = vec![];
        let begin = complaints.by_ref().take(MOST).read_to_end(&mut said);
        let rest = io::copy(&mut complaints, &mut io::sink());
        match begin.and(rest) {
            Ok(_) => String::from_utf8_lossy(&said).into_owned(),
            Err(error) => error.to_string(),
        }
    };
    thread::Builder::new()
        .name("ffmpeg".to_owned())
        .spawn(read)
        .map_err(|error| error.to_string())
}

/// The last lines of what ffmpeg complained about.
fn complaint(said: &str) -> String {
    const LINES: usize = 3;
    let lines: Vec<_> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    if last.is_empty() {
        "it said nothing".to_owned()
    } else {
        last.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoder_that_is_not_there_is_refused_by_name_with_those_that_are() {
        let ffmpeg = Ffmpeg {
            program: PathBuf::from("ffmpeg"),
            encoders: ["libsvtav1", "libx264", "mjpeg"]
                .map(str::to_owned)
                .to_vec(),
        };
        assert_eq!(ffmpeg.encoders(), ["libsvtav1", "libx264"]);
        assert!(ffmpeg.require("libsvtav1").is_ok());
        for missing in ["h264_nvenc", "mjpeg"] {
            let said = ffmpeg.require(missing).expect_err("not there").to_string();
            assert!(
                said.contains(missing) && said.contains("libsvtav1, libx264"),
                "{said}"
            );
        }
    }

    #[test]
    fn no_ffmpeg_is_none_rather_than_a_panic() {
        assert_eq!(Ffmpeg::at(Path::new("/nowhere/ffmpeg")), None);
    }

    #[test]
    fn the_last_lines_are_the_complaint() {
        assert_eq!(complaint("a\n\nb\nc\n  d\n"), "b; c; d");
        assert_eq!(complaint(" \n"), "it said nothing");
    }
}
