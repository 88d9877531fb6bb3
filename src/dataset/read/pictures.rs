//! Pictures of an episode, from films that stay open while somebody looks, or from the table where each is a file of its own.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::dataset::Error;
use crate::dataset::table::Values;
use crate::dataset::video::Film;
use crate::observation::Frame;

use super::episode_rows::Rows;
use super::listing::seconds;

/// Films that stay open: as many as a rig has cameras, and a few.
const OPEN_FILMS: usize = 6;

/// Films that were looked into last, newest first.
#[derive(Default)]
pub struct Projector {
    films: Vec<(PathBuf, Film)>,
}

impl Projector {
    /// Picture `number` of a film.
    ///
    /// # Errors
    /// The film is missing, damaged or too short, or no decoder for it is there.
    pub fn frame(&mut self, path: &Path, number: u64) -> Result<Frame, Error> {
        let found = self.films.iter().position(|(film, _)| film == path);
        let mut open = match found {
            Some(place) => self.films.remove(place),
            None => (path.to_path_buf(), Film::open(path)?),
        };
        let frame = open.1.frame(usize::try_from(number).unwrap_or(usize::MAX));
        self.films.insert(0, open);
        self.films.truncate(OPEN_FILMS);
        frame
    }
}

impl fmt::Debug for Projector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths = self.films.iter().map(|(path, _)| path);
        f.debug_list().entries(paths).finish()
    }
}

/// The picture of `row` that lies in the table, PNG or JPEG. `rows` holds that row and no other.
///
/// # Errors
/// There is none at this row, or it is damaged.
pub fn from_table(rows: &Rows, key: &str, row: usize, fps: u32) -> Result<Frame, Error> {
    let wrong = |why: String| {
        Error::Absent(format!(
            "picture {row} of {key} in episode {} {why}",
            rows.episode
        ))
    };
    let Values::Pictures(pictures) = &rows.column(key)?.values else {
        return Err(wrong("is no picture but a number".to_owned()));
    };
    let bytes = pictures.first().filter(|bytes| !bytes.is_empty());
    let bytes = bytes.ok_or_else(|| wrong("is not in the table".to_owned()))?;
    let image = image::load_from_memory(bytes).map_err(|error| wrong(error.to_string()))?;
    let image = image.into_rgb8();
    let (width, height) = image.dimensions();
    let at = Duration::from_secs_f64(seconds(row, fps));
    Frame::new(width, height, image.into_raw(), row as u64, at)
        .ok_or_else(|| wrong("is empty".to_owned()))
}
