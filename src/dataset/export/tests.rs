//! An episode that LeRobot recorded, as a film and as a table.

use std::path::Path;

use super::*;
use crate::dataset::video::Film;

/// Two cameras of 640x480, AV1; the last of its four episodes has 30 rows.
fn sample() -> Dataset {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/lerobot_sample");
    Dataset::open(root).unwrap()
}

#[test]
fn a_film_shows_the_cameras_side_by_side_and_a_strip_below_them() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("episode.mp4");
    let mut dataset = sample();
    let mut heard = vec![];
    let mut listen = |share| {
        heard.push(share);
        ControlFlow::Continue(())
    };
    export(&mut dataset, 3, &file, &mut listen).unwrap();
    assert!(heard.is_sorted() && heard.last() == Some(&1.0));
    let mut film = Film::open(&file).unwrap();
    assert_eq!((film.len(), film.size()), (30, (1280, 480 + strip::HEIGHT)));
    assert_eq!(film.fps(), Some(30.0));
    let shown = film.frame(17).unwrap();
    let names: Vec<_> = dataset.cameras().iter().map(|it| it.name.clone()).collect();
    for (at, name) in names.iter().enumerate() {
        let truth = dataset.frame(3, name, 17).unwrap();
        let rows = truth.rgb.chunks(640 * 3).zip(shown.rgb.chunks(1280 * 3));
        let difference = |(row, wide): (&[u8], &[u8])| {
            let own = &wide[at * 640 * 3..];
            row.iter()
                .zip(own)
                .map(|(a, b)| u64::from(a.abs_diff(*b)))
                .sum::<u64>()
        };
        let mean = rows.map(difference).sum::<u64>() as f64 / truth.rgb.len() as f64;
        assert!(mean < 6.0, "{name}: {mean}");
    }
    let left_over = std::fs::read_dir(place.path()).unwrap().count();
    assert_eq!(left_over, 1);
}

#[test]
fn a_film_that_nobody_waits_for_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("episode.mp4");
    let mut stop = |_| ControlFlow::Break(());
    let why = export(&mut sample(), 3, &file, &mut stop).unwrap_err();
    assert!(matches!(why, Error::Cancelled), "{why}");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn a_table_has_a_line_each_row_and_the_task_in_words() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("episode.csv");
    export(&mut sample(), 1, &file, &mut |_| ControlFlow::Continue(())).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 46);
    assert!(
        lines[0].starts_with("action.shoulder_pan.pos,"),
        "{}",
        lines[0]
    );
    assert!(
        lines[0].contains(",frame_index,") && lines[0].ends_with(",task"),
        "{}",
        lines[0]
    );
    let columns = |line: &str| line.split(',').count();
    assert!(lines.iter().all(|line| columns(line) == columns(lines[0])));
    assert!(lines[45].contains(",44,1,"), "{}", lines[45]);
    let task = lines[1].rsplit(',').next().unwrap();
    assert!(sample().tasks().iter().any(|known| known == task), "{task}");
}

#[test]
fn the_ending_says_the_form() {
    let form = |name: &str| Form::of(Path::new(name));
    assert_eq!(form("a/b.MP4").unwrap(), Form::Film);
    assert_eq!(form("b.csv").unwrap(), Form::Table);
    assert_eq!(form("pictures").unwrap(), Form::Pictures);
    let why = form("b.avi").unwrap_err().to_string();
    assert!(why.contains(".mp4") && why.contains("b.avi"), "{why}");
}
