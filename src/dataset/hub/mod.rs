//! Data sets that come from the hub and go there: whole episodes, in plain folders that can be recorded on.

mod card;
mod download;
mod files;
mod upload;

use std::path::PathBuf;

use crate::hub::{self, HubId};

pub use download::download;
pub use upload::{Upload, upload};

/// Where LeRobot keeps the data sets of this user: `HF_LEROBOT_HOME`, else `lerobot` in Hugging Face's folder.
pub fn home() -> Option<PathBuf> {
    let named = std::env::var_os("HF_LEROBOT_HOME").map(PathBuf::from);
    named.or_else(|| Some(hub::home()?.join("lerobot")))
}

/// The folder where LeRobot would record a data set of that name.
pub fn usual_place(id: &HubId) -> Option<PathBuf> {
    let (owner, name) = id.name.split_once('/')?;
    Some(home()?.join(owner).join(name))
}

#[cfg(test)]
mod tests;
