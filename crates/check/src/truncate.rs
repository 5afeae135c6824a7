//! Truncation of a file behind its last whole unit, with the bytes kept beside it.

use crate::beside::beside;
use crate::source::Stamp;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Truncates a file, which was read as this one, at an offset. What was behind it goes to a new
/// file `FILE.cut-off` first, or with a number where there is one; its path is returned. Both are
/// safe on the disk afterwards.
///
/// # Errors
/// Those of the system, and when it is another file by now; it is as it was then, unless the last
/// step failed.
pub fn truncate(path: &Path, seen: Stamp, offset: u64) -> io::Result<PathBuf> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let metadata = file.metadata()?;
    seen.check_unchanged(&metadata)?;
    let bytes = metadata.len();
    if offset > bytes {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the file is shorter than that"));
    }
    let create = |name: &Path| OpenOptions::new().write(true).create_new(true).open(name);
    let (mut rest, name) = beside(path, "cut-off", create)?;
    file.seek(SeekFrom::Start(offset))?;
    io::copy(&mut file.by_ref().take(bytes - offset), &mut rest)?;
    rest.sync_all()?;
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()?;
    file.set_len(offset)?;
    file.sync_all()?;
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    #[test]
    fn what_is_truncated_is_kept_and_nothing_is_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.aof");
        std::fs::write(&path, "0123456789").expect("written");
        let truncate = |offset| truncate(&path, Source::open(&path)?.stamp()?, offset);
        let first = truncate(7).expect("truncated");
        let second = truncate(5).expect("truncated");
        let read = |path: &Path| std::fs::read_to_string(path).expect("read");
        assert_eq!([read(&path), read(&first), read(&second)], ["01234", "789", "56"]);
        assert_eq!(second, folder.path().join("a.aof.cut-off.2"));
        assert!(truncate(6).is_err());
        assert_eq!(read(&path), "01234");
    }

    #[test]
    fn a_file_that_has_grown_since_it_was_read_is_not_truncated() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.aof");
        std::fs::write(&path, "0123").expect("written");
        let seen = Source::open(&path).and_then(|file| file.stamp()).expect("a stamp");
        std::fs::write(&path, "0123456789").expect("written");
        assert!(truncate(&path, seen, 2).expect_err("refused").to_string().contains("has changed"));
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "0123456789");
        assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 1);
    }
}
