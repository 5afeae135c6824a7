//! Writing of a file with the right numbers of entries in its streams, in place of the old one.

use crate::beside::beside;
use crate::rdb_file::RdbFacts;
use crate::source::Stamp;
use crate::walk::Sum;
use rdb::{Checksum, Header, Output};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

/// Bytes that are copied at once.
const PIECE_BYTES: usize = 1 << 20;

/// Writes a file, which was read as this one, anew with the right numbers, and the checksum of
/// that; what stands behind its RDB part stays. The old file is kept as `FILE.before-fix`, or with
/// a number where there is one; its path is returned. Where the path is a symbolic link, that is
/// done to what it leads to. All is safe on the disk afterwards.
///
/// # Errors
/// Those of the system, and when it is another file by now; it is as it was then.
pub fn mend(path: &Path, seen: Stamp, facts: &RdbFacts) -> io::Result<PathBuf> {
    let is_link = fs::symlink_metadata(path)?.is_symlink();
    let path = &if is_link { fs::canonicalize(path)? } else { path.to_owned() };
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let new = folder.join(format!("temp-varve-check-{}", std::process::id()));
    let done = write_anew(path, &new, seen, facts).and_then(|()| {
        seen.check_unchanged(&fs::metadata(path)?)?;
        let ((), kept) = beside(path, "before-fix", |name| fs::hard_link(path, name))?;
        fs::rename(&new, path)?;
        File::open(folder)?.sync_all()?;
        Ok(kept)
    });
    if done.is_err() {
        // What is left of it serves nobody; why it failed is what the operator must know.
        let _ = fs::remove_file(&new);
    }
    done
}

fn write_anew(path: &Path, new: &Path, seen: Stamp, facts: &RdbFacts) -> io::Result<()> {
    let old = File::open(path)?;
    let metadata = old.metadata()?;
    seen.check_unchanged(&metadata)?;
    let file = OpenOptions::new().write(true).create_new(true).open(new)?;
    file.set_permissions(metadata.permissions())?;
    if (file.metadata()?.uid(), file.metadata()?.gid()) != (metadata.uid(), metadata.gid()) {
        fchown(&file, Some(metadata.uid()), Some(metadata.gid()))?;
    }
    let mut copy = Copy { old, new: BufWriter::new(file), checksum: Checksum::default() };
    for miscount in &facts.miscounts {
        copy.up_to(miscount.at)?;
        let mut number = Output::default();
        number.length(miscount.found);
        copy.write(number.bytes())?;
        copy.old.seek(SeekFrom::Start(miscount.at + miscount.bytes))?;
    }
    let sum_bytes = if facts.sum == Some(Sum::None) { 0 } else { Header::CHECKSUM_BYTES as u64 };
    copy.up_to(facts.end - sum_bytes)?;
    if facts.sum == Some(Sum::Right) {
        let sum = copy.checksum.value().to_le_bytes();
        copy.write(&sum)?;
        copy.old.seek(SeekFrom::Start(facts.end))?;
    }
    copy.up_to(metadata.len())?;
    copy.new.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

struct Copy {
    old: File,
    new: BufWriter<File>,
    checksum: Checksum,
}

impl Copy {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.checksum.add(bytes);
        self.new.write_all(bytes)
    }

    /// Copies the bytes up to an offset of the old file.
    fn up_to(&mut self, at: u64) -> io::Result<()> {
        let mut left = at.saturating_sub(self.old.stream_position()?);
        let mut piece = vec![0; PIECE_BYTES];
        while left > 0 {
            let most = narrow::to_usize(left.min(PIECE_BYTES as u64));
            let read = self.old.read(&mut piece[..most])?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.write(&piece[..read])?;
            left -= read as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rdb_file::describe;
    use crate::source::Source;
    use rdb::{StreamId, StreamNode, Version};

    /// A file with two streams of one entry, which say that they have as many as given.
    fn file(told: [u64; 2], version: Version, has_sum: bool) -> Vec<u8> {
        let mut output = Output::default();
        output.header(version);
        for (name, told) in [b"a", b"b"].into_iter().zip(told) {
            output.byte(15);
            output.text(name);
            output.length(1);
            let id = StreamId { ms: 5, seq: 1 };
            output.blob(&id.to_bytes());
            output.blob(&StreamNode::new(id, std::iter::empty()).into_bytes());
            [told, 5, 1, 0].into_iter().for_each(|number| output.length(number));
        }
        output.end();
        let mut bytes = output.take();
        if version >= Version(5) {
            let sum = if has_sum { Checksum::of(&bytes) } else { 0 };
            bytes.extend_from_slice(&sum.to_le_bytes());
        }
        bytes
    }

    fn stamp(path: &Path) -> Stamp {
        Source::open(path).and_then(|file| file.stamp()).expect("a stamp")
    }

    #[test]
    fn numbers_of_entries_are_written_anew_and_the_old_file_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("dump.rdb");
        for (number, (version, has_sum)) in
            [(Version(9), true), (Version(9), false), (Version(4), false)].into_iter().enumerate()
        {
            // Numbers of other lengths, and commands behind it all.
            let (wrong, right) =
                (file([0, 70_000], version, has_sum), file([1, 1], version, has_sum));
            let (wrong, right) = ([&wrong[..], b"*1"].concat(), [&right[..], b"*1"].concat());
            fs::write(&path, &wrong).expect("written");
            let (facts, error) = describe(&wrong[..], 0);
            assert!(error.is_none() && facts.miscounted.count == 2, "{error:?}");
            let kept = mend(&path, stamp(&path), &facts).expect("mended");
            assert_eq!(fs::read(&path).expect("there"), right);
            assert_eq!(fs::read(kept).expect("kept"), wrong);
            assert_eq!(fs::read_dir(&folder).expect("a folder").count(), number + 2);
        }
    }
    #[test]
    fn a_file_that_has_taken_the_name_since_it_was_read_stays_as_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, other) = (folder.path().join("dump.rdb"), folder.path().join("other"));
        let wrong = file([0, 70_000], Version(9), true);
        fs::write(&path, &wrong).expect("written");
        let (seen, (facts, _)) = (stamp(&path), describe(&wrong[..], 0));
        fs::write(&other, vec![b'x'; wrong.len()]).expect("written");
        fs::rename(&other, &path).expect("renamed");
        let refused = mend(&path, seen, &facts).expect_err("refused");
        assert!(refused.to_string().contains("has changed since it was read"), "{refused}");
        assert_eq!(fs::read(&path).expect("there"), vec![b'x'; wrong.len()]);
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
    }

    #[test]
    fn a_symbolic_link_stays_one_and_what_it_leads_to_is_mended() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).expect("made");
        let (path, link) = (inner.join("dump.rdb"), folder.path().join("link.rdb"));
        let wrong = file([0, 70_000], Version(9), true);
        fs::write(&path, &wrong).expect("written");
        std::os::unix::fs::symlink("inner/dump.rdb", &link).expect("linked");
        let (facts, _) = describe(&wrong[..], 0);
        let kept = mend(&link, stamp(&link), &facts).expect("mended");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read(&path).expect("there"), file([1, 1], Version(9), true));
        assert_eq!(fs::read(kept).expect("kept"), wrong);
    }
}
