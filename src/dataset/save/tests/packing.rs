//! Films of many episodes joined into few.

use super::*;
use crate::dataset::read::Dataset;

/// The films of a data set.
pub(super) fn films(root: &Path) -> usize {
    files_in(root)
        .iter()
        .filter(|file| is_a(file, "mp4"))
        .count()
}

#[test]
fn films_become_one_and_every_row_keeps_its_picture() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    let plan = plan(&root);
    let mut store = Store::open(&plan, &Disk::new()).unwrap();
    let lengths = [12, 3, 7];
    for (at, length) in lengths.into_iter().enumerate() {
        store
            .save(&parts(
                &plan,
                folder.path(),
                &"e".repeat(at * 9 + 1),
                length,
            ))
            .unwrap();
    }
    let picture = |episode, row| {
        let mut dataset = Dataset::open(&root).unwrap();
        dataset.frame(episode, "wrist", row).unwrap().rgb
    };
    let places = [(0, 0), (0, 11), (1, 0), (1, 2), (2, 0), (2, 6)];
    let before = places.map(|(episode, row)| picture(episode, row));
    assert_eq!(store.pack().unwrap(), 4);
    assert_eq!(films(&root), 2);
    assert_eq!(places.map(|(episode, row)| picture(episode, row)), before);
    assert_sound(&root, "joined");
    let span = episodes_in(&root)[2]
        .film("observation.images.front")
        .unwrap();
    assert_eq!(
        (span.place.file, span.from_s, span.to_s),
        (0, 0.5, 22.0 / 30.0)
    );
    // The next session's film has another name, and joins in.
    assert_eq!(
        store.save(&parts(&plan, folder.path(), "next", 5)).unwrap(),
        3
    );
    assert_eq!(
        (films(&root), store.pack().unwrap(), films(&root)),
        (4, 2, 2)
    );
    assert_eq!(store.pack().unwrap(), 0, "nothing is left to join");
    assert_sound(&root, "joined again");
    keep(&root, "joined");
}

#[test]
fn films_that_would_be_too_long_or_that_differ_stay_apart() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("set");
    let mut plan = plan(&root);
    plan.cameras.truncate(1);
    // One row a second: 1000 s are 1000 rows.
    plan.fps = 1;
    let mut store = Store::open(&plan, &Disk::new()).unwrap();
    for (journal, length) in [("a", 600), ("b", 400), ("c", 300)] {
        store
            .save(&parts(&plan, folder.path(), journal, length))
            .unwrap();
    }
    assert_eq!((store.pack().unwrap(), films(&root)), (1, 2));
    let places: Vec<_> = episodes_in(&root)
        .iter()
        .map(|episode| episode.films[0].1.place.file)
        .collect();
    assert_eq!(places, [0, 0, 2]);
    assert_sound(&root, "in two films");
}
