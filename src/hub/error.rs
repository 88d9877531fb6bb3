//! What went wrong with the hub, in the operator's words.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use hf_hub::api::sync::ApiError;

use super::HubId;

/// Why something could not be fetched or sent.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "`{id}` is not on this machine and HF_HUB_OFFLINE is set; unset it once, or name a directory"
    )]
    Offline { id: String },
    #[error(
        "there is no way to the hub for `{id}`, which is not complete on this machine: {why}. Connect to a network once, or name \
         a directory"
    )]
    NoNetwork { id: String, why: String },
    #[error(
        "`{id}` is private, gated or does not exist (the hub answered 401). Check the name; if it is right, log in with \
         `hf auth login` and accept its terms on its page"
    )]
    Unauthorized { id: String },
    #[error(
        "`{id}` is gated (the hub answered 403). Accept its terms on its page with the account whose token is on this machine"
    )]
    Gated { id: String },
    #[error("`{id}` has no {what} (the hub answered 404). Check the name and the revision")]
    NotFound { id: String, what: String },
    #[error("the hub has trouble with `{id}` (it answered {status}). Try again later")]
    Trouble { id: String, status: u16 },
    #[error(
        "the download of {file} of `{id}` was cut off ({got} of {size} bytes). Try again; it continues where it broke"
    )]
    CutOff {
        id: String,
        file: String,
        got: u64,
        size: usize,
    },
    #[error(
        "the hub was silent for {seconds} s while {what} of `{id}`. Check the network and try again; what was transferred already is kept"
    )]
    Silent {
        id: String,
        /// "fetching model.safetensors".
        what: String,
        seconds: u64,
    },
    #[error("`{id}`: cancelled; what was transferred already is kept for the next time")]
    Cancelled { id: String },
    #[error("the disk of {} is full while fetching `{id}`. Make room, or set HF_HOME to another disk", path.display())]
    DiskFull { id: String, path: PathBuf },
    #[error(
        "cannot write to the cache while fetching `{id}`: {why}. Set HF_HOME to a directory that can be written"
    )]
    Disk { id: String, why: String },
    #[error("another program is fetching `{id}` now; wait until it is done")]
    Locked { id: String },
    #[error(
        "nobody is logged in, so `{id}` cannot be written. Log in with `hf auth login`, or set HF_TOKEN to a token that may write"
    )]
    LoggedOut { id: String },
    #[error(
        "`{id}` is not yours to write (the hub answered 403: {why}). Check the name, and that the token may write"
    )]
    NotYours { id: String, why: String },
    #[error("the hub refuses `{id}` (it answered {status}: {why})")]
    Refused {
        id: String,
        status: u16,
        why: String,
    },
    #[error("cannot send {} to `{id}`: {why}", path.display())]
    Unreadable {
        id: String,
        path: PathBuf,
        why: String,
    },
    #[error(
        "there is no way to the hub, so `{id}` was not sent: {why}. Connect to a network and try again"
    )]
    Unsent { id: String, why: String },
    #[error("`{id}` {why}")]
    Unfit {
        id: String,
        /// What it lacks, and what it therefore is not.
        why: String,
    },
    #[error("the hub's answer about `{id}` makes no sense: {why}")]
    Nonsense { id: String, why: String },
}

impl Error {
    pub(super) fn offline(id: &HubId) -> Self {
        Self::Offline { id: id.to_string() }
    }

    /// Something else is kept under that name than is wanted.
    pub fn unfit(id: &HubId, why: impl Into<String>) -> Self {
        Self::Unfit {
            id: id.to_string(),
            why: why.into(),
        }
    }

    /// The same of something that was to be sent.
    pub(super) fn sending(self) -> Self {
        match self {
            Self::NoNetwork { id, why } => Self::Unsent { id, why },
            Self::Offline { id } => Self::Unsent {
                id,
                why: "HF_HUB_OFFLINE is set".to_owned(),
            },
            other => other,
        }
    }

    pub(super) fn unreadable(id: &HubId, path: &Path, err: &std::io::Error) -> Self {
        Self::Unreadable {
            id: id.to_string(),
            path: path.to_owned(),
            why: err.to_string(),
        }
    }

    pub(super) fn nonsense(id: &HubId, why: &dyn std::fmt::Display) -> Self {
        Self::Nonsense {
            id: id.to_string(),
            why: why.to_string(),
        }
    }

    pub(super) fn no_network(id: &HubId, why: String) -> Self {
        Self::NoNetwork {
            id: id.to_string(),
            why,
        }
    }

    /// A file or folder of this machine cannot be written.
    pub fn disk(id: &HubId, path: &Path, err: &std::io::Error) -> Self {
        let id = id.to_string();
        if matches!(
            err.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded
        ) {
            return Self::DiskFull {
                id,
                path: path.to_owned(),
            };
        }
        Self::Disk {
            id,
            why: err.to_string(),
        }
    }

    /// Sorts an error of hf-hub; `file` is what was asked for, empty for the model itself.
    pub(super) fn from_api(id: &HubId, file: &str, err: ApiError) -> Self {
        match err {
            ApiError::RequestError(err) => Self::from_request(id, file, *err),
            ApiError::IoError(err) => Self::from_io(id, &err),
            ApiError::TooManyRetries(err) => Self::from_api(id, file, *err),
            ApiError::LockAcquisition(_) => Self::Locked { id: id.to_string() },
            other => Self::nonsense(id, &other),
        }
    }

    pub(super) fn from_request(id: &HubId, file: &str, err: ureq::Error) -> Self {
        let name = id.to_string();
        match err {
            ureq::Error::StatusCode(401) => Self::Unauthorized { id: name },
            ureq::Error::StatusCode(403) => Self::Gated { id: name },
            ureq::Error::StatusCode(404) => Self::NotFound {
                id: name,
                what: if file.is_empty() {
                    "page on the hub".into()
                } else {
                    format!("file {file}")
                },
            },
            ureq::Error::StatusCode(status) => Self::Trouble { id: name, status },
            ureq::Error::Io(err) => Self::from_io(id, &err),
            other => Self::no_network(id, other.to_string()),
        }
    }

    /// Network and disk errors arrive by the same way; only the kind tells them apart.
    fn from_io(id: &HubId, err: &std::io::Error) -> Self {
        let disk = matches!(
            err.kind(),
            ErrorKind::StorageFull
                | ErrorKind::QuotaExceeded
                | ErrorKind::PermissionDenied
                | ErrorKind::ReadOnlyFilesystem
                | ErrorKind::NotFound
                | ErrorKind::NotADirectory
                | ErrorKind::FileTooLarge
        );
        if disk {
            return Self::disk(id, Path::new("the cache"), err);
        }
        Self::no_network(id, err.to_string())
    }

    /// True when the hub itself was never reached, so that the cache may stand in.
    pub fn is_unreachable(&self) -> bool {
        matches!(
            self,
            Self::Offline { .. }
                | Self::NoNetwork { .. }
                | Self::Trouble { .. }
                | Self::Silent { .. }
        )
    }

    /// True when another attempt may succeed at once.
    pub(super) fn may_pass(&self) -> bool {
        match self {
            Self::NoNetwork { .. } | Self::Unsent { .. } | Self::CutOff { .. } => true,
            Self::Trouble { status, .. } => *status >= 500 || *status == 416,
            Self::Nonsense { why, .. } => why.contains("part file"),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_says_so() {
        let id = HubId::parse("owner/model");
        let full = std::io::Error::from(ErrorKind::StorageFull);
        let err = id.map(|id| Error::from_api(&id, "model.safetensors", ApiError::IoError(full)));
        assert!(matches!(err, Some(Error::DiskFull { .. })), "{err:?}");
        assert!(!err.is_some_and(|err| err.may_pass()));
    }
}
