//! An episode as one film: the cameras side by side, and below them what was asked, done and by whom.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::path::Path;

use super::canvas::Canvas;
use super::letters::Letters;
use super::strip::{self, Bar, Caption};
use super::{Progress, io as failed, tell, unfinished};
use crate::dataset::schema::Feature;
use crate::dataset::schema::columns::{ACTION, DRIVER, STATE};
use crate::dataset::video::mp4::{self, Sample};
use crate::dataset::video::{Encoder, open_encoder, pixels};
use crate::dataset::{Codec, Dataset, Error, Outcome};
use crate::observation::Frame;

/// Pictures are at most this high, so that three of them fit a screen.
const HIGHEST: u32 = 480;

/// Writes it.
pub fn write(
    dataset: &mut Dataset,
    episode: usize,
    file: &Path,
    progress: Progress<'_>,
) -> Result<(), Error> {
    let story = Story::of(dataset, episode)?;
    let broken = |why: String| Error::Video {
        path: file.to_owned(),
        why,
    };
    let letters = Letters::new().map_err(broken)?;
    let layout = Layout::of(dataset);
    let fps = dataset.fps().round().max(1.0) as u32;
    let mut encoder = open_encoder(&Codec::H264, layout.width, layout.height, fps, fps)?;
    // Units wait on the disk: the table of contents comes before them, and a long episode is hundreds of megabytes.
    let spool_path = unfinished(file);
    let mut spool = Spool::new(&spool_path)?;
    let made = (0..story.rows).try_for_each(|row| {
        let canvas = layout.draw(dataset, episode, row, &letters, &story.caption(row))?;
        spool.add(&mut encoder, &canvas)?;
        tell(progress, row + 1, story.rows)
    });
    let made = made.and_then(|()| spool.finish(&encoder, fps, file));
    std::fs::remove_file(&spool_path).ok();
    made
}

/// Coded pictures on the disk, and what the table of contents must know of them.
struct Spool<'a> {
    path: &'a Path,
    out: BufWriter<File>,
    samples: Vec<Sample>,
}

impl<'a> Spool<'a> {
    fn new(path: &'a Path) -> Result<Self, Error> {
        let mut open = File::options();
        let open = open.read(true).write(true).create(true).truncate(true);
        let out = open.open(path).map_err(failed(path))?;
        Ok(Self {
            path,
            out: BufWriter::new(out),
            samples: vec![],
        })
    }

    fn add(&mut self, encoder: &mut Encoder, canvas: &Canvas) -> Result<(), Error> {
        let unit = encoder.encode_rgb(&canvas.rgb)?;
        self.samples.push(Sample {
            size: unit.bytes.len() as u32,
            key: unit.key,
        });
        self.out.write_all(&unit.bytes).map_err(failed(self.path))
    }

    fn finish(self, encoder: &Encoder, fps: u32, file: &Path) -> Result<(), Error> {
        let Self { path, out, samples } = self;
        let rewound = out
            .into_inner()
            .map_err(io::IntoInnerError::into_error)
            .and_then(|mut units| units.rewind().map(|()| units));
        let mut units = BufReader::new(rewound.map_err(failed(path))?);
        let sizes: Vec<usize> = samples.iter().map(|it| it.size as usize).collect();
        let units = sizes.into_iter().map(|size| {
            let mut unit = vec![0; size];
            units.read_exact(&mut unit).map(|()| unit)
        });
        let whole = file.with_extension("mp4.part2");
        let written = File::create(&whole).and_then(|made| {
            let mut made = BufWriter::new(made);
            mp4::write(&mut made, encoder.config(), fps, &samples, units)?;
            made.into_inner()
                .map_err(io::IntoInnerError::into_error)?
                .sync_all()
        });
        let written = written.and_then(|()| std::fs::rename(&whole, file));
        if written.is_err() {
            std::fs::remove_file(&whole).ok();
        }
        written.map_err(failed(file))
    }
}

/// Where the pictures are.
struct Layout {
    width: u32,
    height: u32,
    /// Pictures are this high.
    pictures: u32,
    /// By camera: name, distance from the left, width.
    places: Vec<(String, u32, u32)>,
}

impl Layout {
    fn of(dataset: &Dataset) -> Self {
        let cameras = dataset.cameras();
        let highest = cameras.iter().map(|camera| camera.height).max();
        let pictures = highest.unwrap_or(0).min(HIGHEST) & !1;
        let mut width = 0;
        let places = cameras.iter().map(|camera| {
            let scaled =
                u64::from(camera.width) * u64::from(pictures) / u64::from(camera.height.max(1));
            let place = (camera.name.clone(), width, scaled as u32 & !1);
            width += place.2;
            place
        });
        let places = places.collect();
        Self {
            width: width.max(strip::LEAST_WIDTH),
            height: pictures + strip::HEIGHT,
            pictures,
            places,
        }
    }

    fn draw(
        &self,
        dataset: &mut Dataset,
        episode: usize,
        row: usize,
        letters: &Letters,
        caption: &Caption,
    ) -> Result<Canvas, Error> {
        let mut canvas = Canvas::new(self.width, self.height, strip::GROUND);
        for (name, x, width) in &self.places {
            let frame = dataset.frame(episode, name, row)?;
            canvas.lay(*x, *width, &self.fitted(&frame, *width));
        }
        strip::draw(&mut canvas, letters, self.pictures as i32, caption);
        Ok(canvas)
    }

    fn fitted<'a>(&self, frame: &'a Frame, width: u32) -> Cow<'a, [u8]> {
        pixels::fit(
            &frame.rgb,
            (frame.width, frame.height),
            (width, self.pictures),
        )
    }
}

/// What was done in an episode.
struct Story {
    rows: usize,
    name: String,
    fps: f64,
    /// In words, by row.
    tasks: Vec<String>,
    joints: Vec<String>,
    states: Vec<f64>,
    actions: Vec<f64>,
    /// By joint, over the whole episode.
    ranges: Vec<(f32, f32)>,
    drivers: Option<Vec<f64>>,
    interventions: Vec<bool>,
}

impl Story {
    fn of(dataset: &Dataset, episode: usize) -> Result<Self, Error> {
        let rows = dataset.rows(episode)?;
        let numbers = |key: &str| rows.table.get(key)?.values.floats();
        let actions = numbers(ACTION).unwrap_or_default();
        let feature = dataset.info().features.get(ACTION);
        let width = feature.map_or(0, Feature::width);
        let mut joints = feature.map(Feature::labels).unwrap_or_default();
        joints.resize_with(width, String::new);
        // A state of another width is none of these joints.
        let states = numbers(STATE).filter(|states| states.len() == rows.len() * width);
        let states = states.unwrap_or_else(|| actions.clone());
        let task = |index: &usize| dataset.tasks().get(*index).cloned().unwrap_or_default();
        let ranges = (0..width).map(|joint| range(width, joint, [&states, &actions]));
        let outcome = match dataset.episode(episode)?.outcome {
            Outcome::Unmarked => "",
            Outcome::Success => ", a success",
            Outcome::Failure => ", a failure",
        };
        Ok(Self {
            name: format!("{}, episode {episode}{outcome}", dataset.name()),
            fps: dataset.fps(),
            tasks: rows.task_indices().iter().map(task).collect(),
            ranges: ranges.collect(),
            drivers: rows.scalars(DRIVER),
            interventions: rows.interventions().to_vec(),
            joints,
            states,
            actions,
            rows: rows.len(),
        })
    }

    fn caption(&self, row: usize) -> Caption {
        let width = self.joints.len();
        let of = |values: &[f64], joint: usize| {
            values.get(row * width + joint).copied().unwrap_or(0.0) as f32
        };
        let bar = |(joint, name): (usize, &String)| Bar {
            name: name.trim_end_matches(".pos").to_owned(),
            range: self.ranges[joint],
            measured: of(&self.states, joint),
            commanded: of(&self.actions, joint),
        };
        let took_over = self.interventions.get(row).copied().unwrap_or(false);
        let driver = self
            .drivers
            .as_ref()
            .and_then(|drivers| drivers.get(row))
            .copied();
        let (driver, is_human) = who(driver, took_over);
        Caption {
            task: self.tasks.get(row).cloned().unwrap_or_default(),
            time: (row as f64 / self.fps, self.rows as f64 / self.fps),
            name: self.name.clone(),
            driver: driver.to_owned(),
            is_human,
            bars: self.joints.iter().enumerate().map(bar).collect(),
        }
    }
}

/// Who drove in words, and whether that was a person.
fn who(driver: Option<f64>, took_over: bool) -> (&'static str, bool) {
    match driver {
        _ if took_over => ("a person took over", true),
        None => ("", false),
        Some(1.0) => ("policy", false),
        Some(2.0) => ("teleoperation", true),
        Some(3.0) => ("by hand", true),
        Some(4.0) => ("replay", false),
        Some(_) => ("nobody drives", false),
    }
}

/// The least and the largest value of a joint.
fn range(width: usize, joint: usize, values: [&Vec<f64>; 2]) -> (f32, f32) {
    let own = values
        .into_iter()
        .flat_map(|values| values.iter().skip(joint).step_by(width.max(1)));
    let start = (f32::INFINITY, f32::NEG_INFINITY);
    own.fold(start, |(least, most), value| {
        (least.min(*value as f32), most.max(*value as f32))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_takeover_is_told_before_the_driver_and_ranges_are_by_joint() {
        assert_eq!(who(Some(1.0), true), ("a person took over", true));
        assert_eq!(who(Some(2.0), false), ("teleoperation", true));
        assert_eq!(who(None, false).0, "");
        let (states, actions) = (vec![1.0, 10.0, 3.0, 30.0], vec![2.0, 50.0, -4.0, 20.0]);
        assert_eq!(range(2, 0, [&states, &actions]), (-4.0, 3.0));
        assert_eq!(range(2, 1, [&states, &actions]), (10.0, 50.0));
    }
}
