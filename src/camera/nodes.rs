//! Linux: which stable udev name belongs to a video node, and whether the node delivers pictures at all.

use std::fs;
use std::path::{Path, PathBuf};

/// Looks below `root`, `/` outside tests, at the links and records that udev keeps.
pub(super) struct Nodes {
    root: PathBuf,
}

impl Nodes {
    /// The machine's own.
    pub(super) fn of_this_machine() -> Self {
        Self {
            root: PathBuf::from("/"),
        }
    }

    /// The node of number `index`.
    pub(super) fn node(&self, index: u32) -> PathBuf {
        self.root.join(format!("dev/video{index}"))
    }

    /// The name below `/dev/v4l/by-id`, else below `by-path`: the former follows the camera to another port, but two cameras
    /// without serial numbers share one, so that only the latter is left for one of them.
    pub(super) fn stable_id(&self, index: u32) -> Option<String> {
        let node = fs::canonicalize(self.node(index)).ok()?;
        ["dev/v4l/by-id", "dev/v4l/by-path"]
            .iter()
            .find_map(|folder| link_to(&node, &self.root.join(folder)))
    }

    /// Whether the node delivers pictures. A webcam brings a second node for metadata under the same name; udev records what
    /// each can do. A node that udev does not know is kept.
    pub(super) fn captures(&self, index: u32) -> bool {
        let number = self
            .root
            .join(format!("sys/class/video4linux/video{index}/dev"));
        let record = fs::read_to_string(number).ok().and_then(|number| {
            let record = format!("run/udev/data/c{}", number.trim());
            fs::read_to_string(self.root.join(record)).ok()
        });
        record
            .as_deref()
            .and_then(|record| {
                record
                    .lines()
                    .find_map(|line| line.strip_prefix("E:ID_V4L_CAPABILITIES="))
            })
            .is_none_or(|abilities| abilities.contains(":capture:"))
    }
}

fn link_to(node: &Path, folder: &Path) -> Option<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|link| fs::canonicalize(link.path()).is_ok_and(|target| target == node))
        .filter_map(|link| link.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    names.into_iter().next()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn names_come_from_udev_and_metadata_nodes_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for index in 0..4 {
            write(root, &format!("dev/video{index}"), "");
            write(
                root,
                &format!("sys/class/video4linux/video{index}/dev"),
                &format!("81:{index}\n"),
            );
        }
        let capabilities = |text: &str| format!("S:v4l\nE:ID_V4L_CAPABILITIES={text}\n");
        write(root, "run/udev/data/c81:0", &capabilities(":capture:"));
        write(root, "run/udev/data/c81:1", &capabilities(":"));
        for sub in ["by-id", "by-path"] {
            fs::create_dir_all(root.join("dev/v4l").join(sub)).unwrap();
        }
        for (link, index) in [("by-id/usb-Cam-index0", 0), ("by-path/pci-1-index0", 2)] {
            symlink(
                format!("../../video{index}"),
                root.join("dev/v4l").join(link),
            )
            .unwrap();
        }
        symlink("../../video0", root.join("dev/v4l/by-path/pci-0-index0")).unwrap();

        let nodes = Nodes {
            root: root.to_path_buf(),
        };
        assert_eq!(nodes.stable_id(0).as_deref(), Some("usb-Cam-index0"));
        assert_eq!(nodes.stable_id(2).as_deref(), Some("pci-1-index0"));
        assert_eq!(nodes.stable_id(3), None);
        assert_eq!(nodes.stable_id(9), None);
        assert!(nodes.captures(0) && !nodes.captures(1) && nodes.captures(2));
    }
}
