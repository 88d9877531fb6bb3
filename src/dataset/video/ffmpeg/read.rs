//! Pictures of a film that only ffmpeg can decode, by a pipe: it stays open while the pictures are asked for in order.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, ChildStdout};
use std::thread::JoinHandle;

use super::super::super::Error;
use super::super::mp4::Contents;
use super::{Ffmpeg, INSTALL, command, complaint, listen};

/// Pictures that are rather read and left out than jumped over: starting ffmpeg takes as long.
const AHEAD: usize = 30;

/// An ffmpeg that plays one film.
pub(in super::super) struct Reader {
    ffmpeg: Ffmpeg,
    player: Option<Player>,
}

struct Player {
    child: Child,
    pictures: ChildStdout,
    complaints: Option<JoinHandle<String>>,
    /// The picture that comes next.
    next: usize,
}

impl Reader {
    /// `why` says why nothing built in does it.
    ///
    /// # Errors
    /// [`Error::Video`] asks to install ffmpeg if there is none.
    pub(in super::super) fn open(contents: &Contents, why: &str) -> Result<Self, Error> {
        let coding = contents.config.coding();
        let ffmpeg = Ffmpeg::find().map_err(|_missing| Error::Video {
            path: contents.path.clone(),
            why: format!("its codec, {coding}, needs ffmpeg here ({why}): {INSTALL}"),
        })?;
        Ok(Self {
            ffmpeg,
            player: None,
        })
    }

    /// RGB of picture `k`, row-major.
    ///
    /// # Errors
    /// [`Error::Video`] with what ffmpeg complains about.
    pub(in super::super) fn frame(
        &mut self,
        contents: &Contents,
        k: usize,
    ) -> Result<Vec<u8>, Error> {
        let broken = |why: String| Error::Video {
            path: contents.path.clone(),
            why: format!("ffmpeg cannot give picture {k}: {why}"),
        };
        let goes_on = |player: &Player| player.next <= k && k - player.next <= AHEAD;
        let mut player = match self.player.take() {
            Some(player) if goes_on(&player) => player,
            _ => Player::start(&self.ffmpeg, contents, k).map_err(broken)?,
        };
        let (width, height) = contents.config.size().unwrap_or_default();
        let mut rgb = vec![0; width as usize * height as usize * 3];
        while player.next <= k {
            if player.pictures.read_exact(&mut rgb).is_err() {
                return Err(broken(player.last_words()));
            }
            player.next += 1;
        }
        self.player = Some(player);
        Ok(rgb)
    }
}

impl Player {
    fn start(ffmpeg: &Ffmpeg, contents: &Contents, k: usize) -> Result<Self, String> {
        let second = (k > 0).then(|| contents.seconds(k) - 0.25 / contents.fps().unwrap_or(30.0));
        let mut child = command(&ffmpeg.program, &arguments(&contents.path, second))
            .spawn()
            .map_err(|error| error.to_string())?;
        let pictures = child.stdout.take().ok_or("it has no output")?;
        let mut player = Self {
            child,
            pictures,
            complaints: None,
            next: k,
        };
        player.complaints = player.child.stderr.take().map(listen).transpose()?;
        Ok(player)
    }

    /// Why nothing more comes.
    fn last_words(mut self) -> String {
        let complaints = self.complaints.take();
        drop(self);
        let said = complaints.and_then(|complaints| complaints.join().ok());
        complaint(&said.unwrap_or_default())
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            log::warn!("ffmpeg does not end: {error}");
        }
    }
}

/// Arguments that play a film as RGB from `second` on: a quarter of a picture early, so that rounding cannot skip the one that is meant.
fn arguments(path: &Path, second: Option<f64>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = ["-v", "error", "-nostdin"].map(OsString::from).to_vec();
    if let Some(second) = second {
        arguments.extend(["-ss".into(), format!("{second:.6}").into()]);
    }
    arguments.extend(["-i".into(), path.into()]);
    let rest = ["-map", "0:v:0", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"];
    arguments.extend(rest.map(OsString::from));
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_film_is_played_from_its_begin_or_from_a_second_on() {
        let said = |second| arguments(Path::new("a.mp4"), second).join(&OsString::from(" "));
        assert_eq!(
            said(None),
            "-v error -nostdin -i a.mp4 -map 0:v:0 -f rawvideo -pix_fmt rgb24 -"
        );
        assert!(
            said(Some(1.5))
                .to_string_lossy()
                .contains("-ss 1.500000 -i a.mp4")
        );
    }
}
