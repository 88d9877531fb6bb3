//! A save that fails at each of its operations on the disk, in every way.

use super::*;
use crate::dataset::Failure;

/// Every operation in the usual run would take a minute; each way starts at another one.
fn step() -> usize {
    if Failure::are_all_wanted() {
        1
    } else {
        Failure::ALL.len()
    }
}

/// Lets `act` fail at its operations, one after the other, on a copy of a data set of `saved` episodes each time; then looks.
/// Returns at how many.
fn at_each(
    original: &Path,
    saved: usize,
    act: impl Fn(&Plan, &Disk) -> bool,
    look: impl Fn(&Plan, bool, &str),
) -> u64 {
    let mut most = 0;
    for (start, failure) in Failure::ALL.into_iter().enumerate() {
        for at in (start as u64..).step_by(step()) {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("set");
            fs::create_dir_all(&root).unwrap();
            copy(original, &root);
            let plan = plan(&root);
            let disk = Disk::failing(at, failure);
            let done = act(&plan, &disk);
            let when = format!("{failure:?} at {at}");
            if Info::read(&root).is_ok() {
                assert!(
                    episodes_in(&root).len() >= saved + usize::from(done),
                    "{when}: lost one"
                );
            }
            look(&plan, done, &when);
            if disk.operations() <= at {
                assert!(done, "{when}: nothing failed, and it is not done");
                most = most.max(at);
                break;
            }
        }
    }
    most
}

fn looks_sound(plan: &Plan, folder: &Path, saved: usize, when: &str) {
    let last = parts(plan, folder, "last", 4);
    let mut store =
        Store::open(plan, &Disk::new()).unwrap_or_else(|error| panic!("{when}: {error}"));
    let before = store.episodes();
    assert!(
        (saved..=saved + 1).contains(&before),
        "{when}: {before} episodes"
    );
    if before > 0 {
        assert_sound(&plan.root, when);
    }
    assert_eq!(store.save(&last).unwrap(), saved, "{when}");
    assert_eq!(store.save(&last).unwrap(), saved, "{when}");
    assert_eq!(store.episodes(), saved + 1, "{when}: exactly one copy");
    assert_sound(&plan.root, when);
    let leftover = files_in(&plan.root)
        .into_iter()
        .find(|file| is_a(file, "part"));
    assert_eq!(leftover, None, "{when}");
}

#[test]
fn a_save_that_fails_anywhere_neither_loses_nor_doubles() {
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("set");
    {
        let plan = plan(&original);
        let mut store = Store::open(&plan, &Disk::new()).unwrap();
        for journal in ["first", "second"] {
            store
                .save(&parts(&plan, folder.path(), journal, 3))
                .unwrap();
        }
    }
    let last = parts(&plan(&original), folder.path(), "last", 4);
    let save = |plan: &Plan, disk: &Disk| {
        let saved = Store::open(plan, disk).and_then(|mut store| store.save(&last));
        saved.is_ok()
    };
    let operations = at_each(&original, 2, save, |plan, _, when| {
        looks_sound(plan, folder.path(), 2, when);
    });
    assert!(operations > 30, "only {operations} operations");
}

#[test]
fn a_first_save_that_fails_anywhere_leaves_a_data_set_to_begin_with() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    fs::create_dir_all(&empty).unwrap();
    let last = parts(&plan(&empty), folder.path(), "last", 4);
    let save = |plan: &Plan, disk: &Disk| {
        let saved = Store::open(plan, disk).and_then(|mut store| store.save(&last));
        saved.is_ok()
    };
    at_each(&empty, 0, save, |plan, _, when| {
        looks_sound(plan, folder.path(), 0, when);
    });
}

#[test]
fn a_save_that_failed_is_done_by_asking_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut at = 0;
    loop {
        let root = folder.path().join(format!("set-{at}"));
        let plan = plan(&root);
        drop(Store::open(&plan, &Disk::new()).unwrap());
        let last = parts(&plan, folder.path(), "last", 2);
        let disk = Disk::failing(at, Failure::Once);
        let Ok(mut store) = Store::open(&plan, &disk) else {
            at += 1;
            continue;
        };
        let first = store.save(&last);
        assert_eq!(store.save(&last).unwrap(), 0, "at {at}");
        assert_eq!(store.episodes(), 1, "at {at}");
        assert_sound(&root, &format!("at {at}"));
        if disk.operations() <= at {
            first.unwrap();
            break;
        }
        at += 3;
    }
    assert!(at > 30, "only {at} operations");
}

#[test]
fn joining_films_that_fails_anywhere_leaves_them_whole() {
    let folder = tempfile::tempdir().unwrap();
    let original = folder.path().join("set");
    {
        let plan = plan(&original);
        let mut store = Store::open(&plan, &Disk::new()).unwrap();
        for journal in ["first", "second", "third"] {
            store
                .save(&parts(&plan, folder.path(), journal, 3))
                .unwrap();
        }
    }
    let mut at = 0;
    let step = step() as u64;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("set");
        copy(&original, &root);
        let plan = plan(&root);
        let failure = Failure::ALL[(at / step) as usize % Failure::ALL.len()];
        let disk = Disk::failing(at, failure);
        let joined = Store::open(&plan, &disk).and_then(|mut store| store.pack());
        let when = format!("{failure:?} at {at}");
        assert_eq!(episodes_in(&root).len(), 3, "{when}");
        let mut store =
            Store::open(&plan, &Disk::new()).unwrap_or_else(|error| panic!("{when}: {error}"));
        assert_sound(&root, &when);
        store.pack().unwrap();
        assert_sound(&root, &when);
        assert_eq!(packing::films(&root), 2, "{when}");
        if disk.operations() <= at {
            assert_eq!(joined.unwrap(), 4);
            break;
        }
        at += step;
    }
    assert!(at > 20, "only {at} operations");
}
