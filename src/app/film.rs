//! Films and recorded episodes in the place of cameras: whoever has no arm at hand sees what one saw.

use std::path::Path;
use std::sync::Arc;

use crate::camera::{Projector, Reel, Source};
use crate::dataset::video::Film;
use crate::dataset::{Dataset, Error};

/// Opens films for cameras.
pub fn projector() -> Projector {
    Arc::new(|source| open(source).map_err(|why| why.to_string()))
}

fn open(source: &Source) -> Result<Reel, Error> {
    match source {
        Source::Film(path) => film(path),
        Source::Episode {
            root,
            episode,
            camera,
        } => recorded(root, *episode, camera),
        other => Err(Error::Absent(format!("{other} is no film"))),
    }
}

fn film(path: &Path) -> Result<Reel, Error> {
    let mut film = Film::open(path)?;
    let (width, height) = film.size();
    let rate_hz = film.fps().ok_or_else(|| Error::Video {
        path: path.to_owned(),
        why:
            "its pictures have no constant rate: write it anew with one (`ffmpeg -i IN -r 30 OUT`)"
                .to_owned(),
    })?;
    Ok(Reel {
        what: format!("film {} {width}x{height} {}", path.display(), film.coding()),
        rate_hz,
        count: film.len() as u64,
        picture: Box::new(move |number| film.frame(number as usize).map_err(|why| why.to_string())),
    })
}

fn recorded(root: &Path, episode: usize, camera: &str) -> Result<Reel, Error> {
    let mut dataset = Dataset::open(root)?;
    let (_, found) = dataset.camera(camera)?;
    let (name, size) = (found.name.clone(), (found.width, found.height));
    let length = dataset.episode(episode)?.length;
    let (width, height) = size;
    Ok(Reel {
        what: format!(
            "{name} of {}, episode {episode}, {width}x{height}",
            dataset.name()
        ),
        rate_hz: dataset.fps(),
        count: length as u64,
        picture: Box::new(move |row| {
            let frame = dataset.frame(episode, &name, row as usize);
            frame.map_err(|why| why.to_string())
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_episode_and_its_film_show_the_same_pictures() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/lerobot_sample");
        // The episodes before it have 60 and 45 rows.
        let mut front = recorded(&root, 2, "front").unwrap();
        assert_eq!((front.rate_hz, front.count), (30.0, 75));
        let file = root.join("videos/observation.images.front/chunk-000/file-000.mp4");
        let mut whole = film(&file).unwrap();
        assert_eq!((whole.rate_hz, whole.count), (30.0, 210));
        let [row, same] = [(front.picture)(3).unwrap(), (whole.picture)(108).unwrap()];
        assert!(row.rgb == same.rgb && row.width == 640);
        assert!(whole.what.contains("640x480 av1"), "{}", whole.what);
        let why = recorded(&root, 9, "front").err().map(|why| why.to_string());
        assert!(why.is_some_and(|why| why.contains("no episode 9")));
        let why = recorded(&root, 0, "side").err().map(|why| why.to_string());
        assert!(why.is_some_and(|why| why.contains("front")));
    }
}
