//! Text files that a person or another program wrote: calibrations and fault scripts, whichever editor saved them.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

/// More than any such file holds. A device that was named by mistake (`/dev/zero`) has no end.
const MOST_BYTES: u64 = 1 << 20;

/// The text of a file, without the mark that editors on Windows put in front.
///
/// # Errors
/// It cannot be read, is no text, or is longer than such a file can be.
pub fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?
        .take(MOST_BYTES + 1)
        .read_to_string(&mut text)?;
    if read as u64 > MOST_BYTES {
        let why = "it is longer than a megabyte and cannot be the right file";
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_of_an_editor_is_no_text_and_a_file_without_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("arm.json");
        std::fs::write(&file, "\u{feff}{\"a\": 1}\r\n").unwrap();
        assert_eq!(read_text(&file).unwrap(), "{\"a\": 1}\r\n");
        std::fs::write(&file, "").unwrap();
        assert_eq!(read_text(&file).unwrap(), "");
        std::fs::write(&file, vec![b' '; 2 << 20]).unwrap();
        let why = read_text(&file).unwrap_err().to_string();
        assert!(why.contains("megabyte"), "{why}");
        std::fs::write(&file, [0xFF, 0xFE, 0]).unwrap();
        assert!(read_text(&file).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_device_without_end_is_refused() {
        let why = read_text(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(why.contains("megabyte"), "{why}");
    }
}
