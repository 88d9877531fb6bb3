//! The table of episodes, there and back, and as LeRobot writes it.

use super::*;
use crate::dataset::schema::Info;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/lerobot_sample");

#[test]
fn lerobots_episodes_are_read_and_written_again_the_same() {
    let root = Path::new(SAMPLE);
    let features = Info::read(root).unwrap().features;
    let episodes = read(root, &features).unwrap();
    let lengths: Vec<_> = episodes.iter().map(|episode| episode.length).collect();
    assert_eq!(lengths, [60, 45, 75, 30]);
    assert_eq!((episodes[2].from, episodes[2].to), (105, 180));
    let film = episodes[1].film("observation.images.front").unwrap();
    assert_eq!((film.from_s, film.to_s), (2.0, 3.5));
    assert_eq!(episodes[3].stats.len(), 9);
    let front = &episodes[0].stats[2];
    assert_eq!(
        (front.0.as_str(), front.1.mean.len()),
        ("observation.images.front", 3)
    );

    let folder = tempfile::tempdir().unwrap();
    let copy = path(folder.path(), FilePlace::default());
    write(&Disk::new(), &copy, &schema(&features), &episodes).unwrap();
    assert_eq!(read(folder.path(), &features).unwrap(), episodes);
    // The same columns in the same order.
    let sample = path(root, FilePlace::default());
    assert_eq!(schema_of(&copy).unwrap(), schema_of(&sample).unwrap());
    assert!(can_grow(&copy, &schema(&features)) && !can_grow(&sample, &schema(&features)));
}

#[test]
fn columns_that_are_unknown_or_absent_are_left_empty() {
    let root = Path::new(SAMPLE);
    let features = Info::read(root).unwrap().features;
    let episodes = read(root, &features).unwrap();
    let fields = [
        ("episode_index", DataType::Int64),
        ("dataset_from_index", DataType::Int64),
        ("dataset_to_index", DataType::Int64),
        ("data/chunk_index", DataType::Int64),
        ("data/file_index", DataType::Int64),
        ("rating", DataType::Utf8),
    ];
    let fields = fields.map(|(name, of)| Field::new(name, of, true)).to_vec();
    let bare: SchemaRef = Arc::new(Schema::new(fields));
    let folder = tempfile::tempdir().unwrap();
    let copy = path(folder.path(), FilePlace::default());
    write(&Disk::new(), &copy, &bare, &episodes).unwrap();
    let read = read(folder.path(), &Features::default()).unwrap();
    assert_eq!(
        (read.len(), read[3].length, read[3].stats.len()),
        (4, 30, 0)
    );
    assert_eq!(schema_of(&copy).unwrap(), bare);
}

#[test]
fn a_gap_in_the_episodes_is_refused() {
    let root = Path::new(SAMPLE);
    let features = Info::read(root).unwrap().features;
    let mut episodes = read(root, &features).unwrap();
    episodes.remove(1);
    let folder = tempfile::tempdir().unwrap();
    let copy = path(folder.path(), FilePlace::default());
    write(&Disk::new(), &copy, &schema(&features), &episodes).unwrap();
    let error = read(folder.path(), &features).unwrap_err().to_string();
    assert!(error.contains("episode 2 follows on 1 others"), "{error}");
}
