//! What can go wrong with a data set: which file or feature, why, and the way out.

use std::io;
use std::path::PathBuf;

/// What to do about a failure of the disk, as far as its kind tells.
fn way_out(error: &io::Error) -> &'static str {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::NotADirectory => ". A part of this path is a file: name another folder",
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
            ". Name a folder that you may write to, or change its rights"
        }
        Kind::StorageFull | Kind::QuotaExceeded => ". Make room, or name a folder on another disk",
        Kind::InvalidFilename => ". Choose a shorter name",
        _ => "",
    }
}

/// A fault of a data set.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("{}: {error}{}", path.display(), way_out(error))]
    Io {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    /// A file says what it must not.
    #[error("{}: {why}", path.display())]
    Malformed { path: PathBuf, why: String },
    /// The data set in this folder was recorded otherwise.
    #[error("the data set in {} does not fit: {why}. Record into another folder", root.display())]
    Mismatch { root: PathBuf, why: String },
    /// Another program writes to it.
    #[error("another program records into {} or changes it: close it, or choose another folder", root.display())]
    Locked { root: PathBuf },
    /// The hub, or the way to it.
    #[error(transparent)]
    Hub(#[from] crate::hub::Error),
    /// Whoever listens wants no more of it.
    #[error("cancelled")]
    Cancelled,
    /// The disk has too little room to record on.
    #[error(
        "{} MB are left on the disk of {}, and {} MB are kept free. Make room, or record into another folder",
        left / 1_000_000, root.display(), reserve / 1_000_000
    )]
    Full {
        root: PathBuf,
        /// Bytes.
        left: u64,
        reserve: u64,
    },
    /// The episode that ran was ended; why, and what became of it.
    #[error("{0}")]
    Ended(String),
    /// What was asked for is not in it.
    #[error("{0}")]
    Absent(String),
    /// An encoder or decoder failed.
    #[error("video {}: {why}", path.display())]
    Video { path: PathBuf, why: String },
    /// An encoder cannot be used, or gave up.
    #[error("encoder {encoder}: {why}")]
    Encoder { encoder: String, why: String },
}
