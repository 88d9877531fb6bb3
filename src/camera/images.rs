//! Recorded pictures that stand in for a camera: one that never changes, or a directory played at a rate.

use std::cmp::Ordering;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::error::Error;
use super::grab::{Grab, Grabbed, Picture};
use super::source::is_picture;
use crate::clock::Clock;

/// Pictures from files, in order, at a rate.
pub(super) struct Images {
    files: Vec<PathBuf>,
    next: usize,
    /// The picture of a single file, read once.
    still: Option<Picture>,
    /// Decoded ahead, so that a picture appears when it is due and not when its decoder is done.
    ahead: Option<Picture>,
    period: Duration,
    /// When the next picture is due.
    due: Duration,
    clock: Clock,
    name: String,
}

impl Images {
    /// One picture.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is none.
    pub(super) fn still(path: &Path, rate_hz: u32, clock: &Clock) -> Result<Self, Error> {
        if !path.is_file() {
            return Err(Error::NotFound {
                path: path.to_path_buf(),
            });
        }
        let name = format!("image {}", path.display());
        Ok(Self::new(vec![path.to_path_buf()], rate_hz, clock, name))
    }

    /// The PNG and JPEG pictures of a directory.
    ///
    /// # Errors
    /// [`Error::Picture`] when it cannot be read, [`Error::EmptyDirectory`] when it holds none.
    pub(super) fn directory(path: &Path, rate_hz: u32, clock: &Clock) -> Result<Self, Error> {
        let unreadable = |why: std::io::Error| Error::Picture {
            path: path.to_path_buf(),
            why: why.to_string(),
        };
        let mut files = Vec::new();
        for entry in fs::read_dir(path).map_err(unreadable)? {
            let file = entry.map_err(unreadable)?.path();
            if is_picture(&file) && file.is_file() {
                files.push(file);
            }
        }
        if files.is_empty() {
            return Err(Error::EmptyDirectory {
                path: path.to_path_buf(),
            });
        }
        files.sort_by(|a, b| natural(&a.to_string_lossy(), &b.to_string_lossy()));
        let name = format!("{} images in {}", files.len(), path.display());
        Ok(Self::new(files, rate_hz, clock, name))
    }

    fn new(files: Vec<PathBuf>, rate_hz: u32, clock: &Clock, name: String) -> Self {
        Self {
            files,
            next: 0,
            still: None,
            ahead: None,
            period: Duration::from_secs(1) / rate_hz.max(1),
            due: clock.now(),
            clock: clock.clone(),
            name,
        }
    }

    fn picture(&mut self) -> Result<Picture, Error> {
        if let Some(still) = &self.still {
            return Ok(still.clone());
        }
        let picture = read(&self.files[self.next])?;
        self.next = (self.next + 1) % self.files.len();
        if self.files.len() == 1 {
            self.still = Some(Picture {
                new: false,
                ..picture.clone()
            });
        }
        Ok(picture)
    }
}

impl Grab for Images {
    fn describe(&self) -> String {
        self.name.clone()
    }

    fn grab(&mut self) -> Result<Grabbed, Error> {
        let now = self.clock.now();
        if now < self.due {
            if self.ahead.is_none() {
                self.ahead = Some(self.picture()?);
            }
            return Ok(Grabbed {
                picture: None,
                wait: self.clock.until(self.due),
            });
        }
        let ready = self.ahead.take().map_or_else(|| self.picture(), Ok)?;
        let picture = Picture {
            captured_at: now,
            ..ready
        };
        // Whoever comes late goes on from now, with no burst to catch up.
        let on_time = self.due + self.period;
        self.due = if on_time > now {
            on_time
        } else {
            now + self.period
        };
        Ok(Grabbed {
            picture: Some(picture),
            wait: Duration::ZERO,
        })
    }
}

fn read(path: &Path) -> Result<Picture, Error> {
    let unreadable = |why: String| Error::Picture {
        path: path.to_path_buf(),
        why,
    };
    let rgb = image::ImageReader::open(path)
        .and_then(image::ImageReader::with_guessed_format)
        .map_err(|why| unreadable(why.to_string()))?
        .decode()
        .map_err(|why| unreadable(why.to_string()))?
        .into_rgb8();
    Ok(Picture {
        width: rgb.width(),
        height: rgb.height(),
        rgb: Arc::from(rgb.into_raw()),
        captured_at: Duration::ZERO,
        new: true,
    })
}

/// Orders names as people do: digits by value, so that `f10` follows `f9`.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (head_a, head_b) = (digits(a), digits(b));
        let order = if head_a.is_empty() || head_b.is_empty() {
            match (a.chars().next(), b.chars().next()) {
                (None, None) => return Ordering::Equal,
                (x, y) => {
                    a = &a[x.map_or(0, char::len_utf8)..];
                    b = &b[y.map_or(0, char::len_utf8)..];
                    x.cmp(&y)
                }
            }
        } else {
            (a, b) = (&a[head_a.len()..], &b[head_b.len()..]);
            let (x, y) = (
                head_a.trim_start_matches('0'),
                head_b.trim_start_matches('0'),
            );
            x.len().cmp(&y.len()).then_with(|| x.cmp(y))
        };
        if order.is_ne() {
            return order;
        }
    }
}

fn digits(text: &str) -> &str {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE_HZ: u32 = 10;

    fn write(path: &Path, red: u8) {
        image::RgbImage::from_pixel(2, 2, image::Rgb([red, 0, 0]))
            .save(path)
            .unwrap();
    }

    #[test]
    fn a_directory_is_played_in_order_at_its_rate_and_begins_again() {
        let folder = tempfile::tempdir().unwrap();
        for (name, red) in [("f10.png", 30), ("f9.png", 20), ("f1.png", 10)] {
            write(&folder.path().join(name), red);
        }
        std::fs::write(folder.path().join("notes.txt"), "no picture").unwrap();
        let clock = Clock::virtual_at_zero();
        let mut images = Images::directory(folder.path(), RATE_HZ, &clock).unwrap();
        let mut reds = Vec::new();
        for _ in 0..4 {
            let grabbed = images.grab().unwrap();
            let picture = grabbed.picture.unwrap();
            assert!(picture.new);
            assert_eq!(picture.captured_at, clock.now());
            reds.push(picture.rgb[0]);
            let early = images.grab().unwrap();
            assert!(early.picture.is_none());
            assert_eq!(early.wait, Duration::from_millis(100));
            clock.advance(early.wait);
        }
        assert_eq!(reds, [10, 20, 30, 10]);
    }

    #[test]
    fn the_next_picture_is_decoded_before_it_is_due() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a.png", "b.png"].map(|name| folder.path().join(name));
        for (red, path) in paths.iter().enumerate() {
            write(path, red as u8);
        }
        let clock = Clock::virtual_at_zero();
        let mut images = Images::directory(folder.path(), RATE_HZ, &clock).unwrap();
        assert_eq!(images.grab().unwrap().picture.unwrap().rgb[0], 0);
        let wait = images.grab().unwrap().wait;
        std::fs::remove_file(&paths[1]).unwrap();
        clock.advance(wait);
        assert_eq!(images.grab().unwrap().picture.unwrap().rgb[0], 1);
    }

    #[test]
    fn a_still_picture_stays_fresh_without_pretending_to_be_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        write(&path, 9);
        let clock = Clock::virtual_at_zero();
        let mut images = Images::still(&path, RATE_HZ, &clock).unwrap();
        assert!(images.grab().unwrap().picture.unwrap().new);
        let early = images.grab().unwrap();
        assert!(early.picture.is_none());
        clock.advance(early.wait);
        let again = images.grab().unwrap().picture.unwrap();
        assert!(!again.new);
        assert_eq!(again.captured_at, Duration::from_millis(100));
    }

    #[test]
    fn whoever_comes_late_gets_one_picture_not_a_burst() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        write(&path, 9);
        let clock = Clock::virtual_at_zero();
        let mut images = Images::still(&path, RATE_HZ, &clock).unwrap();
        clock.advance(Duration::from_secs(5));
        assert!(images.grab().unwrap().picture.is_some());
        let next = images.grab().unwrap();
        assert!(next.picture.is_none());
        assert_eq!(next.wait, Duration::from_millis(100));
    }

    #[test]
    fn what_is_no_picture_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::virtual_at_zero();
        let empty = Images::directory(folder.path(), RATE_HZ, &clock)
            .err()
            .unwrap();
        assert!(empty.to_string().contains("no PNG or JPEG"), "{empty}");
        let path = folder.path().join("broken.png");
        std::fs::write(&path, "<html>").unwrap();
        let mut broken = Images::still(&path, RATE_HZ, &clock).unwrap();
        let error = broken.grab().err().unwrap().to_string();
        assert!(error.contains("broken.png"), "{error}");
        assert!(Images::still(&folder.path().join("x.png"), RATE_HZ, &clock).is_err());
    }

    #[test]
    fn names_sort_as_people_sort_them() {
        let mut names = ["b2", "a10", "a9", "a", "a010b", "a1"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["a", "a1", "a9", "a10", "a010b", "b2"]);
    }
}
