//! A data set to the hub, only when asked: its whole episodes in one commit, never what is still being recorded.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;

use super::card::card;
use super::files::{CARD, FOLDERS, INFO, below};
use crate::dataset::lock::Lock;
use crate::dataset::schema::Info;
use crate::dataset::{Dataset, Error};
use crate::hub::sending::{Content, Parcel, Sent, Shipment};
use crate::hub::{self, Hub, HubId, Progress};

/// How a data set is to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Upload {
    /// If it has yet to be made, only its owner sees it.
    pub private: bool,
    /// Take the place of whatever data set is there.
    pub replace: bool,
}

/// Sends the data set in `root`. What the hub has of it already is not sent again.
///
/// # Errors
/// It cannot be opened or is being recorded into, nobody is logged in, another data set is under that name, the network breaks, or
/// the listener wants no more.
pub fn upload(
    hub: &Hub,
    id: &HubId,
    root: &Path,
    how: Upload,
    progress: Progress<'_>,
) -> Result<Sent, Error> {
    let dataset = Dataset::open(root)?;
    // Nobody may record on meanwhile: what is hashed now is what must be read later.
    let _lock = Lock::take(root)?;
    if dataset.episodes().is_empty() {
        return Err(Error::Absent(format!(
            "{} has no whole episode yet",
            root.display()
        )));
    }
    let mut paths = listed(&dataset)?;
    hub.ready_to_send(id)?;
    let there = match hub.read(id) {
        Ok(reading) => Some(reading),
        Err(hub::Error::NotFound { .. }) => None,
        Err(why) => return Err(why.into()),
    };
    let mut removed = vec![];
    let mut has_card = false;
    if let Some(there) = &there {
        has_card = there.files.contains_key(CARD);
        let is_ours = |name: &&String| {
            let first = name.split('/').next().unwrap_or_default();
            FOLDERS.contains(&first)
        };
        let strange = there.files.keys().filter(is_ours);
        removed.extend(strange.filter(|name| !paths.contains(*name)).cloned());
        if !how.replace && there.files.contains_key(INFO) {
            let info = there.fetch(INFO, &mut |_| ControlFlow::Continue(()))?;
            let info = std::fs::read(info).ok();
            let info = info.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            same(&dataset, info.as_ref(), removed.len()).map_err(|why| {
                Error::Absent(format!(
                    "`{id}` {why}: choose another name, or say to replace it"
                ))
            })?;
        }
    }
    let local_card = root.join(CARD);
    if local_card.is_file() {
        paths.insert(CARD.to_owned());
    }
    let mut parcels: Vec<Parcel> = paths
        .into_iter()
        .map(|path| Parcel {
            content: Content::File(root.join(&path)),
            path,
        })
        .collect();
    if !local_card.is_file() && !has_card {
        parcels.push(Parcel {
            path: CARD.to_owned(),
            content: Content::Text(card(&dataset, &id.name)),
        });
    }
    let shipment = Shipment {
        parcels,
        removed,
        message: format!("Upload {} episodes", dataset.episodes().len()),
        private: how.private,
        // LeRobot looks for the tag of a format that it can read.
        tag: Some(dataset.version().to_string()),
    };
    Ok(hub.send(id, &shipment, progress)?)
}

/// The files that the whole episodes are in; a table or a film that no episode names is none of them.
fn listed(dataset: &Dataset) -> Result<BTreeSet<String>, Error> {
    let root = dataset.root();
    let meta = below(root, "meta").map_err(|error| Error::Io {
        path: root.join("meta"),
        error,
    })?;
    let mut paths = BTreeSet::from_iter(meta);
    for episode in dataset.episodes() {
        let films = episode.spans.iter().map(|span| span.film.as_path());
        for path in films.chain([episode.table.as_path()]) {
            let parts = path
                .components()
                .map(|part| part.as_os_str().to_string_lossy());
            let path = parts.collect::<Vec<_>>().join("/");
            if !path.is_empty() {
                paths.insert(path);
            }
        }
    }
    Ok(paths)
}

/// Whether what is there can be this data set, before some episodes were added.
fn same(dataset: &Dataset, there: Option<&Info>, strange: usize) -> Result<(), String> {
    let Some(there) = there else {
        return Err("holds a data set that cannot be read".to_owned());
    };
    let names = |info: &Info| -> BTreeSet<String> {
        info.features
            .iter()
            .map(|(name, _)| name.to_owned())
            .collect()
    };
    let own = dataset.info();
    if names(there) != names(own) || there.fps != own.fps {
        return Err("is a data set with other features or another rate".to_owned());
    }
    let episodes = there.total_episodes;
    if episodes > dataset.episodes().len() || strange > 0 {
        return Err(format!(
            "has {episodes} episodes, and {strange} files that this data set has not"
        ));
    }
    Ok(())
}
