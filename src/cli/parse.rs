//! Turns single words of the command line into values, or says what was expected.

use std::path::PathBuf;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::de::IntoDeserializer as _;

use crate::runtime::ViewBinding;
use serde::de::value::{Error as WordError, StrDeserializer};

/// The sentence that `bench` uses: thirteen tokens, as in the reference figures.
pub const BENCH_TASK: &str = "Pick up the red cube and place it in the box.";

/// The longest that a run may be told to last: a year.
const LONGEST_SECONDS: f64 = 365.0 * 24.0 * 3600.0;

/// `--image KEY=FILE`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageArg {
    /// Feature key of the view, or its last part.
    pub key: String,
    pub file: PathBuf,
}

/// `--state v,v,…` in robot units.
#[derive(Clone, Debug, PartialEq)]
pub struct StateArg(pub Vec<f32>);

/// `--noise FILE|SEED`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoiseArg {
    Seed(u64),
    File(PathBuf),
}

/// `--json [FILE]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonTo {
    Stdout,
    File(PathBuf),
}

/// Splits at the first equals sign; neither part may be empty.
fn pair(text: &str, left: &str, right: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
            Ok((key.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(format!("expected {left}={right}")),
    }
}

/// Parses `KEY=FILE`.
pub fn image(text: &str) -> Result<ImageArg, String> {
    let (key, file) = pair(text, "KEY", "FILE")?;
    Ok(ImageArg {
        key,
        file: file.into(),
    })
}

/// Parses `VIEW=CAMERA`; a view without a dot is the last part of LeRobot's usual key.
pub fn view(text: &str) -> Result<ViewBinding, String> {
    let (mut view, camera) = pair(text, "VIEW", "CAMERA")?;
    if !view.contains('.') {
        view.insert_str(0, "observation.images.");
    }
    Ok(ViewBinding {
        view,
        camera: Some(camera),
    })
}

/// Parses the name of one of a few choices as the settings file spells it.
pub fn named<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let word: StrDeserializer<'_, WordError> = text.into_deserializer();
    T::deserialize(word).map_err(|error| error.to_string())
}

/// Parses a number of seconds above zero; no more than a clock can count to.
pub fn positive_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= LONGEST_SECONDS => Ok(seconds),
        _ => Err(
            "expected a number of seconds above zero, at most a year, for example 60; leave it out to go on until Ctrl-C"
                .to_owned(),
        ),
    }
}

/// Parses a number of seconds that may be zero; no more than a clock can count to.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=LONGEST_SECONDS).contains(&seconds) => Ok(seconds),
        _ => {
            Err("expected a number of seconds from 0 up, at most a year, for example 10".to_owned())
        }
    }
}

/// Parses a control rate, 5 to 100 Hz.
pub fn control_rate(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(hertz) if (5.0..=100.0).contains(&hertz) => Ok(hertz),
        _ => Err("expected a rate from 5 to 100 Hz, for example 30".to_owned()),
    }
}

/// Parses a part of the whole, 0 to 1.
pub fn part(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(part) if (0.0..=1.0).contains(&part) => Ok(part),
        _ => Err("expected a number from 0 to 1, for example 0.7".to_owned()),
    }
}

/// Parses a finite number that is not below zero.
pub fn distance(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(distance) if distance.is_finite() && distance >= 0.0 => Ok(distance),
        _ => Err("expected a number from 0 up, for example 1.5".to_owned()),
    }
}

/// Height of the table's top above the foot of the arm, metres; `None` where there is no table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableAt(pub Option<f32>);

/// Parses a height in millimetres, or `none`.
pub fn table(text: &str) -> Result<TableAt, String> {
    if text == "none" {
        return Ok(TableAt(None));
    }
    match text.parse::<f32>() {
        Ok(height) if (-1000.0..=1000.0).contains(&height) => Ok(TableAt(Some(height / 1000.0))),
        _ => Err("expected a height in millimetres, for example -20, or none".to_owned()),
    }
}

/// Parses a count of at least one.
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err("expected a whole number from 1 up".to_owned()),
    }
}

/// Parses a number of Euler steps, 1 to 50.
pub fn euler_steps(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(steps) if (1..=50).contains(&steps) => Ok(steps),
        _ => Err("expected 1 to 50 steps".to_owned()),
    }
}

impl FromStr for StateArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |(index, word): (usize, &str)| match word.trim().parse::<f32>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(format!(
                "value {} is `{}`, which is not a finite number",
                index + 1,
                word.trim()
            )),
        };
        text.split(',')
            .enumerate()
            .map(number)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl FromStr for NoiseArg {
    type Err = String;

    /// A whole number is a seed, anything else a file.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("expected a seed or a safetensors file".to_owned());
        }
        Ok(text
            .parse()
            .map_or_else(|_| Self::File(text.into()), Self::Seed))
    }
}

impl FromStr for JsonTo {
    type Err = std::convert::Infallible;

    /// A lone dash is stdout, as in other programs.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "-" => Self::Stdout,
            file => Self::File(file.into()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::RtcSchedule;
    use crate::runtime::{Aggregate, Scheduling};

    #[test]
    fn an_image_is_split_at_the_first_equals_sign() {
        let image = image("observation.images.camera1=a=b.png").unwrap();
        assert_eq!(image.key, "observation.images.camera1");
        assert_eq!(image.file, PathBuf::from("a=b.png"));
        for wrong in ["camera1", "=a.png", "camera1=", ""] {
            assert!(
                super::image(wrong).unwrap_err().contains("KEY=FILE"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_view_is_bound_to_a_camera() {
        let binding = view("camera1=front").unwrap();
        assert_eq!(binding.view, "observation.images.camera1");
        assert_eq!(
            view("observation.image2=front").unwrap().view,
            "observation.image2"
        );
        assert_eq!(binding.camera.as_deref(), Some("front"));
        assert!(view("camera1").unwrap_err().contains("VIEW=CAMERA"));
    }

    #[test]
    fn a_state_names_the_value_that_is_no_number() {
        assert_eq!("1,-2.5, 3e1".parse(), Ok(StateArg(vec![1.0, -2.5, 30.0])));
        let why = "1,two,3".parse::<StateArg>().unwrap_err();
        assert!(why.contains("value 2") && why.contains("two"), "{why}");
        assert!("1,NaN".parse::<StateArg>().is_err());
        assert!("".parse::<StateArg>().is_err());
    }

    #[test]
    fn noise_is_a_seed_when_it_is_a_whole_number() {
        assert_eq!("42".parse(), Ok(NoiseArg::Seed(42)));
        assert_eq!(
            "noise.safetensors".parse(),
            Ok(NoiseArg::File("noise.safetensors".into()))
        );
        assert_eq!("./7".parse(), Ok(NoiseArg::File("./7".into())));
        assert!("".parse::<NoiseArg>().is_err());
    }

    #[test]
    fn choices_are_named_as_in_the_settings() {
        assert_eq!(named("cosine_ramp"), Ok(Aggregate::CosineRamp));
        assert_eq!(named("rtc"), Ok(Scheduling::Rtc));
        assert_eq!(named("EXP"), Ok(RtcSchedule::Exp));
        let why = named::<Aggregate>("mean").unwrap_err();
        assert!(
            why.contains("linear_ramp") && why.contains("conservative"),
            "{why}"
        );
    }

    #[test]
    fn rates_and_times_have_bounds() {
        assert_eq!(control_rate("30"), Ok(30.0));
        assert!(control_rate("4").is_err() && control_rate("inf").is_err());
        assert_eq!(positive_seconds("0.5"), Ok(0.5));
        assert_eq!((part("1"), distance("2.5")), (Ok(1.0), Ok(2.5)));
        assert!(part("1.1").is_err() && part("NaN").is_err() && distance("-1").is_err());
        assert_eq!((count("3"), euler_steps("50")), (Ok(3), Ok(50)));
        assert!(count("0").is_err() && euler_steps("51").is_err());
        for wrong in ["0", "-1", "NaN", "inf", "1e300"] {
            let why = positive_seconds(wrong).unwrap_err();
            assert!(why.contains("at most a year"), "{why}");
        }
    }
}
