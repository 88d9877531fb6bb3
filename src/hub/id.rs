//! The name of a model or a data set on the hub, as people type it.

use std::fmt;

use hf_hub::{Repo, RepoType};

/// What is kept under a name: the hub counts models and data sets apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Model,
    Dataset,
}

/// A repository of the hub, `owner/name` or `owner/name@revision`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubId {
    pub kind: Kind,
    pub name: String,
    /// A branch, a tag or a commit.
    pub revision: String,
}

impl HubId {
    /// Reads a model's `owner/name[@revision]`; `None` when it is something else, such as a path.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, revision) = text.split_once('@').unwrap_or((text, "main"));
        let plain = |part: &str| {
            !part.is_empty()
                && !part.starts_with('.')
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        };
        let (owner, own) = name.split_once('/')?;
        let revision_fits = !revision.is_empty() && revision.split('/').all(plain);
        (plain(owner) && plain(own) && revision_fits).then(|| Self {
            kind: Kind::Model,
            name: name.to_owned(),
            revision: revision.to_owned(),
        })
    }

    /// The same for a data set.
    pub fn dataset(text: &str) -> Option<Self> {
        let id = Self::parse(text)?;
        Some(Self {
            kind: Kind::Dataset,
            ..id
        })
    }

    pub(super) fn repo(&self) -> Repo {
        self.at(self.revision.clone())
    }

    pub(super) fn at(&self, revision: String) -> Repo {
        let kind = match self.kind {
            Kind::Model => RepoType::Model,
            Kind::Dataset => RepoType::Dataset,
        };
        Repo::with_revision(self.name.clone(), kind, revision)
    }
}

impl fmt::Display for HubId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.revision != "main" {
            write!(f, "@{}", self.revision)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_told_from_paths() {
        let id = HubId::parse("owner/model").unwrap();
        assert_eq!((id.kind, id.revision.as_str()), (Kind::Model, "main"));
        let pinned = HubId::parse("lerobot/smolvla_base@v1.0").unwrap();
        assert_eq!(pinned.to_string(), "lerobot/smolvla_base@v1.0");
        for path in [
            "demo", "./a/b", "../x", "/abs/dir", "a/b/c", "a/", "/b", "a b/c", "x/y@",
        ] {
            assert_eq!(HubId::parse(path), None, "{path}");
            assert_eq!(HubId::dataset(path), None, "{path}");
        }
        let cubes = HubId::dataset("owner/cubes@v3.0").unwrap();
        assert_eq!(cubes.repo().url(), "datasets/owner/cubes");
    }
}
