//! Looks at the first bytes of a `.safetensors` file before it is trusted: what often lies there instead is a truncated
//! download, a Git LFS pointer or a web page, and each deserves its own advice.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The header of the 450M model is 60 kB; safetensors itself stops at this size.
const LARGEST_HEADER: u64 = 100_000_000;

/// Why a file is no safetensors file, in words and with the way out, or `None` when its beginning is sound.
///
/// # Errors
/// The file cannot be opened or read.
pub fn complaint(path: &Path) -> std::io::Result<Option<String>> {
    if path.is_dir() {
        return Ok(Some("is a directory, not a file".into()));
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut start = Vec::new();
    file.by_ref().take(512).read_to_end(&mut start)?;
    Ok(complaint_of(&start, length))
}

fn complaint_of(start: &[u8], length: u64) -> Option<String> {
    if length == 0 {
        return Some("is empty (0 bytes); the download never began. Fetch it again".into());
    }
    if let Some(words) = imposter(start) {
        return Some(words);
    }
    let Some(size) = start.first_chunk::<8>().map(|b| u64::from_le_bytes(*b)) else {
        return Some(format!(
            "has only {length} bytes; it is cut off. Fetch it again"
        ));
    };
    if size > LARGEST_HEADER {
        return Some(format!(
            "says that its header is {size} bytes long, more than any checkpoint has; it is no safetensors file, or damaged"
        ));
    }
    if size < 2 || start.get(8).is_some_and(|byte| *byte != b'{') {
        return Some(
            "does not begin with a safetensors header; it is another kind of file, or damaged"
                .into(),
        );
    }
    (8 + size > length).then(|| {
        format!(
            "is cut off: its header alone needs {} bytes and the file has {length}. Fetch it again",
            8 + size
        )
    })
}

/// Things that are saved under this name by mistake.
fn imposter(start: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(start);
    let text = text.trim_start().to_ascii_lowercase();
    if text.starts_with("version https://git-lfs") {
        return Some(
            "is a Git LFS pointer, not the weights themselves. Run `git lfs pull` in that directory, or download the file from the hub"
                .into(),
        );
    }
    if text.starts_with("<!doctype") || text.starts_with("<html") || text.starts_with("<?xml") {
        return Some(
            "is a web page, not weights: a download was answered by a log-in or error page. Fetch it again, with a token if the model is gated"
                .into(),
        );
    }
    if start.starts_with(b"PK\x03\x04") || start.starts_with(b"\x80\x02") {
        return Some(
            "is a PyTorch pickle or a zip archive; pickles can run code and are not read. Convert it to safetensors"
                .into(),
        );
    }
    None
}

/// What a complete file should measure, from the offsets in its header.
pub fn truncation(header_end: u64, data: u64, length: u64) -> Option<String> {
    let wanted = header_end + data;
    match length.cmp(&wanted) {
        std::cmp::Ordering::Less => Some(format!(
            "is cut off: {length} of {wanted} bytes are there. Fetch it again"
        )),
        std::cmp::Ordering::Greater => Some(format!(
            "is longer than its header says ({length} instead of {wanted} bytes); it is damaged. Fetch it again"
        )),
        std::cmp::Ordering::Equal => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(start: &[u8], length: u64) -> String {
        complaint_of(start, length).unwrap_or_default()
    }

    #[test]
    fn every_imposter_is_called_by_its_name() {
        assert!(words(b"", 0).contains("empty"));
        assert!(words(b"\x10\0\0", 3).contains("only 3 bytes"));
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\n";
        assert!(words(pointer, 130).contains("git lfs pull"));
        assert!(words(b"\n<!DOCTYPE html><html>", 900).contains("web page"));
        assert!(words(b"PK\x03\x04aaaa", 900).contains("pickle"));
        assert!(words(&[0xff; 16], 900).contains("header is"));
        assert!(words(b"\x40\0\0\0\0\0\0\0{\"a\":", 20).contains("cut off"));
        assert!(words(b"\x02\0\0\0\0\0\0\0[]", 10).contains("another kind"));
        assert_eq!(complaint_of(b"\x02\0\0\0\0\0\0\0{}", 10), None);
    }

    #[test]
    fn lengths_are_compared_with_the_header() {
        assert!(truncation(100, 50, 149).unwrap().contains("149 of 150"));
        assert!(truncation(100, 50, 151).unwrap().contains("longer"));
        assert_eq!(truncation(100, 50, 150), None);
    }
}
