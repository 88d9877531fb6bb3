//! An episode's film from the journal's H.264 to what the operator chose, counted and checked before it may take its place.

use std::io::{BufRead as _, BufReader, Write};
use std::path::Path;
use std::process::Child;

use super::super::super::Error;
use super::super::mp4::{Contents, Part, concat_into};
use super::super::scratch::Scratch;
use super::super::unit::CodecConfig;
use super::encoders::arguments;
use super::{Ffmpeg, command, complaint, listen};

/// Encodes the film `source` again with `encoder` and writes it to `out`, picture for picture.
///
/// `progress` hears how much is done, 0 to 1. ffmpeg writes beside `source` first; that file is removed in any case. It runs with the
/// priority of the calling thread.
///
/// Returns what a decoder of the new film must know.
///
/// # Errors
/// [`Error::Encoder`] names the encoder and the way out if ffmpeg is missing, fails, or gives another number of pictures.
pub fn transcode(
    encoder: &str,
    source: &Path,
    key_frame_interval: u32,
    out: &mut dyn Write,
    progress: &mut dyn FnMut(f32),
) -> Result<CodecConfig, Error> {
    let ffmpeg = Ffmpeg::find()?;
    ffmpeg.require(encoder)?;
    let wanted = Contents::read(source)?;
    let fps = wanted.fps().map_or(0, |fps| fps.round() as u32);
    let target = Scratch::new(source.with_extension("ffmpeg.part"));
    let arguments = arguments(encoder, source, target.path(), fps, key_frame_interval)?;
    let broken = |why: String| Error::Encoder {
        encoder: format!("ffmpeg:{encoder}"),
        why: format!(
            "{why}. The pictures are safe in {}; choose another encoder, or h264, and save it again",
            source.display()
        ),
    };
    let child = command(&ffmpeg.program, &arguments).spawn();
    let child = child.map_err(|error| broken(format!("it does not start: {error}")))?;
    watch(child, wanted.len(), progress).map_err(broken)?;
    let made = Contents::read(target.path())?;
    check(&wanted, &made).map_err(broken)?;
    let config = made.config.clone();
    let frames = 0..made.len();
    concat_into(
        &[Part {
            contents: made,
            frames,
        }],
        fps,
        out,
    )?;
    Ok(config)
}

/// Waits for ffmpeg and hears how far it is.
fn watch(mut child: Child, frames: usize, progress: &mut dyn FnMut(f32)) -> Result<(), String> {
    let complaints = child.stderr.take().map(listen).transpose()?;
    if let Some(said) = child.stdout.take() {
        for line in BufReader::new(said).lines().map_while(Result::ok) {
            if let Some(frame) = frame_from(&line) {
                progress((frame as f32 / frames.max(1) as f32).min(1.0));
            }
        }
    }
    let ended = child.wait().map_err(|error| error.to_string())?;
    let complaints = complaints.and_then(|thread| thread.join().ok());
    if ended.success() {
        return Ok(());
    }
    let complaints = complaint(&complaints.unwrap_or_default());
    Err(format!("it ended with {ended}: {complaints}"))
}

/// Of a line of `-progress`: `frame=123`.
fn frame_from(line: &str) -> Option<u64> {
    line.strip_prefix("frame=")?.trim().parse().ok()
}

/// That the films match, picture for picture.
fn check(wanted: &Contents, made: &Contents) -> Result<(), String> {
    if made.len() != wanted.len() {
        let (is, wanted) = (made.len(), wanted.len());
        return Err(format!("it gave {is} pictures for {wanted}"));
    }
    if made.is_reordered() {
        return Err("its pictures wait for later ones".to_owned());
    }
    if made.config.size() != wanted.config.size() {
        return Err("its pictures have another size".to_owned());
    }
    let fps = |contents: &Contents| contents.fps().unwrap_or_default();
    if (fps(made) - fps(wanted)).abs() > 1e-6 {
        return Err(format!("its rate is {}, not {}", fps(made), fps(wanted)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read() {
        assert_eq!(frame_from("frame=42"), Some(42));
        assert_eq!(frame_from("frame=  7 "), Some(7));
        assert_eq!(frame_from("fps=30"), None);
    }
}
