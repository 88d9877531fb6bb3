//! The pictures of an episode one by one, for eyes and for other programs' decoders to be compared with.

use std::path::Path;

use super::{Progress, io as failed, tell};
use crate::dataset::{Dataset, Error};

/// Writes `front-000000.png` and so on into a folder.
pub fn write(
    dataset: &mut Dataset,
    episode: usize,
    folder: &Path,
    progress: Progress<'_>,
) -> Result<(), Error> {
    let rows = dataset.episode(episode)?.length;
    let names: Vec<String> = dataset.cameras().iter().map(|it| it.name.clone()).collect();
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    let mut there = std::fs::read_dir(folder).map_err(failed(folder))?;
    if there.next().is_some() {
        // A thousand files between others are not easily taken out again, least of all between those of a data set.
        let why = format!("{} is not empty: name a new folder", folder.display());
        return Err(Error::Absent(why));
    }
    for row in 0..rows {
        for name in &names {
            let frame = dataset.frame(episode, name, row)?;
            let path = folder.join(format!("{name}-{row:06}.png"));
            let saved = image::save_buffer(
                &path,
                &frame.rgb,
                frame.width,
                frame.height,
                image::ExtendedColorType::Rgb8,
            );
            saved.map_err(|why| failed(&path)(std::io::Error::other(why.to_string())))?;
        }
        tell(progress, row + 1, rows)?;
    }
    Ok(())
}
