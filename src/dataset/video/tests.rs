//! Films there and back: what is encoded, written, joined and cut must come out as the same pictures in the same places.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::mp4::{self, Contents, Part, Recode, Sample};
use super::*;
use crate::dataset::{Codec, Error};
use crate::observation::Frame;

const SIZE: (u32, u32) = (96, 64);
const FPS: u32 = 30;
/// Mean difference of 8 bits that the built-in encoder costs on smooth pictures with a number in them.
const CODEC_LOSS: f64 = 4.0;
/// Mean and largest difference of 8 bits between two ways from the same YUV to RGB. ffmpeg's rounds each product down, so that red and
/// blue are 1.0 darker on average and green 1.5.
const CONVERSION: (f64, u8) = (1.7, 3);
/// Largest difference where ffmpeg also dithers from ten bits to eight.
const DITHERED: u8 = 6;

/// A smooth picture whose brightness in a block says which one it is.
pub(super) fn picture(k: usize) -> Frame {
    let (width, height) = SIZE;
    let pixel = |x: u32, y: u32| {
        if x < 32 && y < 32 {
            [40 + (k as u32 * 29) % 180; 3]
        } else {
            [x * 2, y * 3, 90 + k as u32 % 8]
        }
    };
    let rgb: Vec<u8> = (0..height)
        .flat_map(|y| (0..width).flat_map(move |x| pixel(x, y)))
        .map(|value| value as u8)
        .collect();
    let at = Duration::from_secs_f64(k as f64 / f64::from(FPS));
    Frame::new(width, height, rgb, k as u64, at).expect("whole")
}

/// Writes a film of these pictures and returns its path.
fn film(folder: &Path, name: &str, pictures: impl IntoIterator<Item = usize>, g: u32) -> PathBuf {
    let mut encoder = open_encoder(&Codec::H264, SIZE.0, SIZE.1, FPS, g).expect("built in");
    let units: Vec<_> = pictures
        .into_iter()
        .map(|k| encoder.encode(&picture(k)).expect("encoded"))
        .collect();
    let samples: Vec<_> = units
        .iter()
        .map(|unit| Sample {
            size: unit.bytes.len() as u32,
            key: unit.key,
        })
        .collect();
    let path = folder.join(name);
    let mut out = BufWriter::new(File::create(&path).expect("created"));
    let units = units.into_iter().map(|unit| Ok(unit.bytes));
    mp4::write(&mut out, encoder.config(), FPS, &samples, units).expect("written");
    path
}

fn mean_difference(a: &[u8], b: &[u8]) -> f64 {
    assert_eq!(a.len(), b.len());
    let sum: u64 = a
        .iter()
        .zip(b)
        .map(|(&a, &b)| u64::from(a.abs_diff(b)))
        .sum();
    sum as f64 / a.len() as f64
}

/// That a film shows these pictures.
fn assert_shows(path: &Path, pictures: &[usize]) {
    let mut film = Film::open(path).expect("readable");
    assert_eq!(film.len(), pictures.len());
    assert_eq!(film.size(), SIZE);
    for (place, &k) in pictures.iter().enumerate() {
        let is = film.frame(place).expect("decoded");
        let difference = mean_difference(&is.rgb, &picture(k).rgb);
        assert!(
            difference < CODEC_LOSS,
            "picture {k} at {place}: {difference}"
        );
    }
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/film")
        .join(name)
}

/// Whether ffmpeg is there; says so if not.
#[expect(
    clippy::print_stderr,
    reason = "a test that is left out must not look like one that passed"
)]
fn has_ffmpeg(encoder: &str) -> bool {
    let there = Ffmpeg::find().and_then(|ffmpeg| ffmpeg.require(encoder));
    if let Err(missing) = &there {
        eprintln!("not tested: {missing}");
    }
    there.is_ok()
}

#[test]
fn a_film_shows_its_pictures_in_any_order() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = film(folder.path(), "a.mp4", 0..25, 10);
    assert_shows(&path, &(0..25).collect::<Vec<_>>());
    let mut film = Film::open(&path).expect("readable");
    for k in [24, 3, 19, 20, 0, 9, 10, 11, 2, 23, 1] {
        let is = film.frame(k).expect("decoded");
        assert_eq!(is.seq, k as u64);
        assert!((is.captured_at.as_secs_f64() - k as f64 / 30.0).abs() < 1e-6);
        assert!(
            mean_difference(&is.rgb, &picture(k).rgb) < CODEC_LOSS,
            "{k}"
        );
    }
    let small = film.thumbnail(5, 24, 24).expect("decoded");
    assert_eq!((small.width, small.height), (24, 16));
    assert!(matches!(film.frame(25), Err(Error::Absent(_))));
}

#[test]
fn what_others_wrote_is_decoded_as_ffmpeg_does() {
    for name in ["av1", "av1_10bit", "h264_b_frames", "h264_lerobot", "hevc"] {
        if name == "hevc" && !has_ffmpeg("libx264") {
            continue;
        }
        let mut film = Film::open(&golden(&format!("{name}.mp4"))).expect("readable");
        let sheet = image::open(golden(&format!("{name}.png")))
            .expect("a sheet")
            .into_rgb8();
        let bytes = (SIZE.0 * SIZE.1 * 3) as usize;
        assert_eq!(film.len() * bytes, sheet.as_raw().len(), "{name}");
        assert_eq!(film.fps(), Some(30.0), "{name}");
        let most = if name == "av1_10bit" {
            DITHERED
        } else {
            CONVERSION.1
        };
        let order = (0..film.len()).chain((0..film.len()).rev());
        for k in order.collect::<Vec<_>>() {
            let is = film.frame(k).expect(name);
            let wanted = &sheet.as_raw()[k * bytes..(k + 1) * bytes];
            let mean = mean_difference(&is.rgb, wanted);
            let pairs = is.rgb.iter().zip(wanted);
            let largest = pairs.map(|(&a, &b)| a.abs_diff(b)).max().expect("pixels");
            assert_eq!(film.is_built_in(), name != "hevc", "{name} {k}");
            assert!(
                mean < CONVERSION.0 && largest <= most,
                "{name} {k}: {mean}, {largest}"
            );
        }
    }
}

#[test]
fn only_a_codec_that_is_not_built_in_asks_for_ffmpeg() {
    for (name, coding, built_in) in [
        ("av1", Coding::Av1, true),
        ("h264_b_frames", Coding::H264, true),
        ("hevc", Coding::Hevc, false),
    ] {
        let contents = Contents::read(&golden(&format!("{name}.mp4"))).expect("readable");
        assert_eq!(contents.config.coding(), coding);
        let decoder = decode::Decoder::open(&contents.config).expect("open");
        assert_eq!(decoder.is_some(), built_in, "{name}");
    }
}

#[test]
fn films_of_the_same_encoder_are_joined_without_touching_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = film(folder.path(), "a.mp4", 0..13, 10);
    let second = film(folder.path(), "b.mp4", 40..47, 10);
    let joined = folder.path().join("c.mp4");
    let mut out = File::create(&joined).expect("created");
    let frames = mp4::concat(&[&first, &second], FPS, &mut out).expect("joined");
    assert_eq!(frames, 20);
    assert_shows(&joined, &(0..13).chain(40..47).collect::<Vec<_>>());
    let keys = Contents::read(&joined).expect("readable").entries;
    let keys: Vec<_> = (0..20).filter(|&k| keys[k].key).collect();
    assert_eq!(keys, [0, 10, 13]);
}

#[test]
fn films_that_do_not_fit_are_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = film(folder.path(), "a.mp4", 0..3, 10);
    let av1 = golden("av1.mp4");
    let said = mp4::concat(&[&first, &av1], FPS, &mut vec![]).expect_err("another codec");
    assert!(said.to_string().contains("av1.mp4"), "{said}");
    let said = mp4::concat(&[&first], 15, &mut vec![]).expect_err("another rate");
    assert!(said.to_string().contains("15 pictures"), "{said}");
}

fn spliced(folder: &Path, parts: &[(&Path, std::ops::Range<usize>)]) -> (PathBuf, mp4::Spliced) {
    let parts = parts
        .iter()
        .map(|(path, frames)| Part::new(path, frames.clone()));
    let parts = parts.collect::<Result<_, _>>().expect("parts");
    let path = folder.join("spliced.mp4");
    let mut out = File::create(&path).expect("created");
    let recode = Recode {
        fps: FPS,
        key_frame_interval: 10,
        scratch: folder,
    };
    let spliced = mp4::splice(parts, recode, &mut out).expect("spliced");
    (path, spliced)
}

#[test]
fn a_cut_encodes_only_up_to_the_next_key_frame() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = film(folder.path(), "a.mp4", 0..35, 10);
    for (cuts, encoded) in [
        ([10..20, 0..0], 0),
        ([0..7, 20..23], 0),
        ([7..25, 0..0], 3),
        ([3..5, 0..0], 2),
        ([0..4, 14..31], 6),
    ] {
        let parts: Vec<_> = cuts
            .iter()
            .filter(|frames| !frames.is_empty())
            .map(|frames| (&*whole, frames.clone()))
            .collect();
        let (path, spliced) = spliced(folder.path(), &parts);
        let wanted: Vec<_> = cuts.iter().cloned().flatten().collect();
        assert_eq!(
            (spliced.frames, spliced.encoded),
            (wanted.len(), encoded),
            "{cuts:?}"
        );
        assert_shows(&path, &wanted);
        let left = fs::read_dir(folder.path()).expect("readable").count();
        assert_eq!(left, 2, "scratch files are gone");
    }
}

#[test]
fn a_cut_in_a_film_of_another_encoder_encodes_all_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, spliced) = spliced(folder.path(), &[(&golden("h264_lerobot.mp4"), 1..8)]);
    assert_eq!((spliced.frames, spliced.encoded), (7, 7));
    assert_eq!(Film::open(&path).expect("readable").len(), 7);
}

#[test]
fn a_cut_in_av1_between_key_frames_needs_ffmpeg_and_says_where_it_does_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let av1 = golden("av1.mp4");
    let (path, at_key) = spliced(folder.path(), &[(&av1, 2..6)]);
    assert_eq!((at_key.frames, at_key.encoded), (4, 0));
    let mut cut = Film::open(&path).expect("readable");
    let mut whole = Film::open(&av1).expect("readable");
    for k in 0..4 {
        let (is, wanted) = (
            cut.frame(k).expect("decoded"),
            whole.frame(k + 2).expect("decoded"),
        );
        assert!(is.rgb == wanted.rgb, "{k}");
    }
    if has_ffmpeg("libsvtav1") {
        let (path, between) = spliced(folder.path(), &[(&av1, 1..6)]);
        assert_eq!((between.frames, cut.coding()), (5, Coding::Av1));
        assert_eq!(Film::open(&path).expect("readable").len(), 5);
    }
}

#[test]
fn ffmpeg_turns_a_film_into_another_picture_for_picture() {
    for (encoder, coding) in [
        ("libsvtav1", Coding::Av1),
        ("libx264", Coding::H264),
        ("libx265", Coding::Hevc),
    ] {
        if !has_ffmpeg(encoder) {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let source = film(folder.path(), "a.mp4", 0..17, 10);
        let path = folder.path().join("b.mp4");
        let mut out = File::create(&path).expect("created");
        let mut heard = vec![];
        let config = transcode(encoder, &source, 2, &mut out, &mut |share| {
            heard.push(share);
        });
        assert_eq!(config.expect(encoder).coding(), coding);
        let contents = Contents::read(&path).expect("readable");
        assert_eq!((contents.timescale, contents.duration), (15360, Some(512)));
        assert!(
            (0..17).step_by(2).all(|k| contents.entries[k].key),
            "{encoder}"
        );
        assert_eq!(heard.last(), Some(&1.0));
        assert_shows(&path, &(0..17).collect::<Vec<_>>());
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 2);
    }
}

#[test]
fn an_encoder_that_fails_is_named_and_leaves_the_film_and_nothing_else() {
    // Without a card of NVIDIA it cannot start; with one it does, and there is nothing to test.
    let encoder = "h264_nvenc";
    if !has_ffmpeg(encoder) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let source = film(folder.path(), "a.mp4", 0..3, 10);
    if let Err(error) = transcode(encoder, &source, 10, &mut vec![], &mut |_| {}) {
        let said = error.to_string();
        let names = [encoder, "a.mp4", "choose another encoder"];
        assert!(names.iter().all(|name| said.contains(name)), "{said}");
    }
    assert_shows(&source, &[0, 1, 2]);
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
}

#[test]
fn films_and_encoders_can_be_handed_to_a_thread() {
    fn is_sent<T: Send>() {}
    is_sent::<Film>();
    is_sent::<Encoder>();
}

#[test]
fn a_codec_that_is_not_there_is_refused_before_anything_is_recorded() {
    let codec = Codec::Ffmpeg("no_such_encoder".to_owned());
    let said = open_encoder(&codec, 96, 64, 30, 10)
        .err()
        .expect("refused")
        .to_string();
    assert!(said.contains("ffmpeg") && said.contains("h264"), "{said}");
}

#[test]
fn a_file_that_was_cut_off_is_no_film() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = film(folder.path(), "a.mp4", 0..5, 10);
    let bytes = fs::read(&path).expect("readable");
    let broken = folder.path().join("b.mp4");
    for length in (0..bytes.len()).step_by(97) {
        fs::write(&broken, &bytes[..length]).expect("written");
        let said = Film::open(&broken).err().expect("cut off").to_string();
        assert!(said.contains("b.mp4"), "{said}");
    }
}

/// How long this thread has run on a core; 0 where only Linux says.
fn busy_seconds() -> f64 {
    let said = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = said
        .split_whitespace()
        .next()
        .and_then(|first| first.parse::<f64>().ok());
    nanoseconds.unwrap_or_default() / 1e9
}

/// `cargo test --release -- --ignored --nocapture pictures_cost`
#[test]
#[ignore = "a measurement"]
#[expect(clippy::print_stdout, reason = "its figures are what it is for")]
fn pictures_cost_little() {
    let (width, height) = (640_u32, 480_u32);
    let pictures: Vec<_> = (0..90_u32)
        .map(|k| {
            let mut state = k + 1;
            let rgb: Vec<u8> = (0..height)
                .flat_map(|y| (0..width).map(move |x| (x, y)))
                .flat_map(|(x, y)| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let noise = (state >> 24) & 7;
                    [
                        x / 3 + noise + k,
                        y / 2 + noise,
                        (x + y + 4 * k) / 5 + noise,
                    ]
                    .map(|value| (value & 255) as u8)
                })
                .collect();
            Frame::new(width, height, rgb, u64::from(k), Duration::ZERO).expect("whole")
        })
        .collect();
    let each = |name: &str, work: &mut dyn FnMut(&Frame)| {
        let (begin, busy) = (Instant::now(), busy_seconds());
        for frame in &pictures {
            work(frame);
        }
        let [wall, cpu] = [begin.elapsed().as_secs_f64(), busy_seconds() - busy]
            .map(|seconds| seconds * 1e3 / pictures.len() as f64);
        println!("{name}: {cpu:.2} ms of a core, {wall:.2} ms in all a picture of 640x480");
    };
    let mut yuv = pixels::I420::black(width, height);
    each("RGB to I420", &mut |frame| yuv.read_rgb(&frame.rgb));
    let mut sum = 0;
    each("statistics", &mut |frame| {
        sum += pixels::sampled(&frame.rgb, width, height)
            .map(|[r, ..]| u64::from(r))
            .sum::<u64>();
    });
    assert!(sum > 0);
    for g in [2, 10, 30] {
        let mut encoder = open_encoder(&Codec::H264, width, height, 30, g).expect("built in");
        let mut units = vec![];
        each(&format!("encoding, g={g}"), &mut |frame| {
            units.push(encoder.encode(frame).expect("encoded"));
        });
        let bytes: usize = units.iter().map(|unit| unit.bytes.len()).sum();
        println!("  {:.0} kbit/s", bytes as f64 * 8.0 / 3.0 / 1e3);
        if g == 10 {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("a.mp4");
            let samples: Vec<_> = units
                .iter()
                .map(|unit| Sample {
                    size: unit.bytes.len() as u32,
                    key: unit.key,
                })
                .collect();
            let mut out = File::create(&path).expect("created");
            let units = units.into_iter().map(|unit| Ok(unit.bytes));
            mp4::write(&mut out, encoder.config(), 30, &samples, units).expect("written");
            let mut film = Film::open(&path).expect("readable");
            let mut k = 0;
            each("decoding to RGB", &mut |_| {
                film.frame(k).expect("decoded");
                k += 1;
            });
        }
    }
}
