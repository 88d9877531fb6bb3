//! Reads `--camera NAME=SOURCE`: what the operator calls a camera, and what fills it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::error::Error;
use super::mode::Options;

/// What fills a camera.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A camera of this machine, by stable id, node, name or part of its name.
    Device(String),
    /// One picture, shown for ever: the same frame number, always fresh.
    Image(PathBuf),
    /// The pictures of a directory in the order of their names, numbers by value, from the beginning again after the last.
    Directory(PathBuf),
    /// A film at its own rate, from the beginning again after the last picture.
    Film(PathBuf),
    /// One camera of a recorded episode, as a film.
    Episode {
        /// The data set's folder.
        root: PathBuf,
        episode: usize,
        /// `front`.
        camera: String,
    },
}

/// Endings of films.
const FILMS: [&str; 4] = ["mp4", "m4v", "mov", "mkv"];

impl Source {
    /// Tells directories, pictures, films, episodes (`DIR#3/front`) and cameras apart by looking at the disk.
    ///
    /// # Errors
    /// [`Error::NotFound`] for the path of a picture or film that is not there, or of a folder that is no data set.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let path = Path::new(text);
        if path.is_dir() {
            return Ok(Self::Directory(path.to_path_buf()));
        }
        if path.is_file() {
            let path = path.to_path_buf();
            return Ok(if ends_in(&path, &FILMS) {
                Self::Film(path)
            } else {
                Self::Image(path)
            });
        }
        if let Some(episode) = parse_episode(text) {
            return episode;
        }
        if is_picture(path) || ends_in(path, &FILMS) || text.ends_with(std::path::is_separator) {
            return Err(Error::NotFound {
                path: path.to_path_buf(),
            });
        }
        Ok(Self::Device(text.to_owned()))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Device(wanted) => write!(f, "camera {wanted}"),
            Self::Image(path) => write!(f, "image {}", path.display()),
            Self::Directory(path) => write!(f, "images in {}", path.display()),
            Self::Film(path) => write!(f, "film {}", path.display()),
            Self::Episode {
                root,
                episode,
                camera,
            } => write!(f, "{camera} of episode {episode} in {}", root.display()),
        }
    }
}

/// Whether the name says PNG or JPEG.
pub(super) fn is_picture(path: &Path) -> bool {
    ends_in(path, &["png", "jpg", "jpeg"])
}

fn ends_in(path: &Path, endings: &[&str]) -> bool {
    path.extension().is_some_and(|extension| {
        endings
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known))
    })
}

/// Reads `DIR#EPISODE/CAMERA`; `None` when it is something else. Windows' links hold `#` as well, but no data set.
fn parse_episode(text: &str) -> Option<Result<Source, Error>> {
    let (root, place) = text.rsplit_once('#')?;
    let (episode, camera) = place.split_once('/')?;
    let episode = episode.parse().ok()?;
    let root = PathBuf::from(root);
    if camera.is_empty() || !root.join("meta/info.json").is_file() {
        let is_folder = root.is_dir() || root.extension().is_none() && !text.starts_with(r"\\");
        return is_folder.then(|| {
            Err(Error::NoEpisode {
                text: text.to_owned(),
            })
        });
    }
    Some(Ok(Source::Episode {
        root,
        episode,
        camera: camera.to_owned(),
    }))
}

/// One `--camera`: `NAME=SOURCE` with options behind a question mark,
/// `front=HD Webcam?size=1280x720&rate=30&format=mjpeg&read_as=uyvy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The operator's name: front, wrist.
    pub name: String,
    /// What fills it.
    pub source: Source,
    /// Size, rate and layout.
    pub options: Options,
}

impl FromStr for Spec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |why: String| Error::Spec {
            text: text.to_owned(),
            why,
        };
        let (name, rest) = text
            .split_once('=')
            .ok_or_else(|| wrong("there is no `=`".to_owned()))?;
        let legal = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || !name.chars().all(legal) {
            return Err(wrong(format!(
                "{name:?} is no name: letters, digits, `_`, `-` and `.`"
            )));
        }
        let (source, options) = split_options(rest);
        if source.is_empty() {
            return Err(wrong("the source is missing".to_owned()));
        }
        let source = Source::parse(source)?;
        if matches!(source, Source::Film(_) | Source::Episode { .. }) && !options.is_empty() {
            let why = "a film has its own size and rate, leave the options out";
            return Err(wrong(why.to_owned()));
        }
        Ok(Self {
            name: name.to_owned(),
            source,
            options: parse_options(options).map_err(wrong)?,
        })
    }
}

const KEYS: [&str; 4] = ["size", "rate", "format", "read_as"];

/// Parts the options from the source. Windows' symbolic links hold `?` and `&` themselves, so only a known key makes options.
fn split_options(text: &str) -> (&str, &str) {
    text.rsplit_once('?')
        .filter(|(_, options)| {
            options
                .split_once('=')
                .is_some_and(|(key, _)| KEYS.contains(&key))
        })
        .unwrap_or((text, ""))
}

fn parse_options(text: &str) -> Result<Options, String> {
    let mut options = Options::default();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("{pair:?} has no value"))?;
        match key {
            "size" => options.size = size(value)?,
            "rate" => options.rate_hz = positive(value)?,
            "format" => options.format = Some(value.parse()?),
            "read_as" => options.read_as = Some(value.parse()?),
            _ => return Err(format!("no option {key:?}, only {}", KEYS.join(", "))),
        }
    }
    Ok(options)
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let (width, height) = text
        .split_once('x')
        .ok_or_else(|| format!("{text:?} is no size like 640x480"))?;
    Ok((positive(width)?, positive(height)?))
}

fn positive(text: &str) -> Result<u32, String> {
    text.parse()
        .ok()
        .filter(|&number| number > 0)
        .ok_or_else(|| format!("{text:?} is no whole number above zero"))
}

#[cfg(test)]
mod tests {
    use super::super::mode::PixelFormat;
    use super::*;

    #[test]
    fn devices_pictures_and_directories_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let picture = folder.path().join("a.png");
        std::fs::write(&picture, b"").unwrap();
        let parse = |path: &Path| Source::parse(&path.display().to_string()).unwrap();
        assert_eq!(parse(&picture), Source::Image(picture.clone()));
        assert_eq!(
            parse(folder.path()),
            Source::Directory(folder.path().into())
        );
        assert_eq!(
            Source::parse("HD Webcam").unwrap(),
            Source::Device("HD Webcam".to_owned())
        );
        let missing = folder.path().join("b.JPG");
        let text = Source::parse(&missing.display().to_string())
            .unwrap_err()
            .to_string();
        assert!(text.contains("b.JPG"), "{text}");
    }

    #[test]
    fn films_and_episodes_are_told_from_links_and_pictures() {
        let folder = tempfile::tempdir().unwrap();
        let film = folder.path().join("film.MP4");
        std::fs::write(&film, b"").unwrap();
        let parse = |text: &str| Source::parse(text);
        let film_text = film.display().to_string();
        assert_eq!(parse(&film_text).unwrap(), Source::Film(film));
        let options = format!("front={film_text}?rate=10").parse::<Spec>();
        assert!(options.unwrap_err().to_string().contains("its own size"));
        let root = folder.path().join("cubes");
        let place = format!("{}#3/front", root.display());
        let why = parse(&place).unwrap_err().to_string();
        assert!(why.contains("DIR#EPISODE/CAMERA"), "{why}");
        std::fs::create_dir_all(root.join("meta")).unwrap();
        std::fs::write(root.join("meta/info.json"), b"{}").unwrap();
        let episode = Source::Episode {
            root,
            episode: 3,
            camera: "front".to_owned(),
        };
        assert_eq!(parse(&place).unwrap(), episode);
        assert!(episode.to_string().starts_with("front of episode 3 in"));
        assert!(
            parse("gone.mp4")
                .unwrap_err()
                .to_string()
                .contains("gone.mp4")
        );
    }

    #[test]
    fn options_follow_a_question_mark() {
        let spec: Spec = "front=HD Webcam?size=1280x720&rate=15&format=yuyv&read_as=uyvy"
            .parse()
            .unwrap();
        assert_eq!(spec.name, "front");
        assert_eq!(spec.source, Source::Device("HD Webcam".to_owned()));
        assert_eq!(
            spec.options,
            Options {
                size: (1280, 720),
                rate_hz: 15,
                format: Some(PixelFormat::Yuyv),
                read_as: Some(PixelFormat::Uyvy),
            }
        );
    }

    #[test]
    fn a_windows_link_is_not_mistaken_for_options() {
        let link = r"\\?\usb#vid_046d&pid_0825&mi_00#7&2a&0&0000#{65e8}\global";
        let spec: Spec = format!("wrist={link}").parse().unwrap();
        assert_eq!(spec.source, Source::Device(link.to_owned()));
        let spec: Spec = format!("wrist={link}?rate=10").parse().unwrap();
        assert_eq!(spec.source, Source::Device(link.to_owned()));
        assert_eq!(spec.options.rate_hz, 10);
    }

    #[test]
    fn what_means_nothing_is_said_with_the_right_form() {
        for text in [
            "front",
            "=x",
            "fr ont=x",
            "front=",
            "front=x?rate=0",
            "front=x?size=640",
            "front=x?format=h264",
            "front=x?rate=30&colour=red",
            "front=x?rate=30&size",
        ] {
            let error = text.parse::<Spec>().unwrap_err().to_string();
            assert!(error.contains("NAME=SOURCE"), "{text}: {error}");
        }
    }
}
