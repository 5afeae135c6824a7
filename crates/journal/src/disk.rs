//! Files of one directory, as the journal needs them. Names have no slashes: nothing outside is
//! reached.

mod directory;
#[cfg(debug_assertions)]
mod faults;
mod file_writer;
pub mod simulated;
mod stage;
mod step;
mod write_back;

pub use directory::{Directory, OpenFile};
pub use file_writer::FileWriter;
pub(crate) use stage::BLOCK_BYTES;
pub use stage::Stage;

use std::io;

/// Bytes of a file that are read at once.
const PIECE_BYTES: u64 = 256 << 10;

/// A directory.
pub trait Files: Send + Sync {
    /// A file of it.
    type File: File;

    /// Creates a file or empties it, for appending and reading.
    ///
    /// # Errors
    /// Those of the system.
    fn create(&self, name: &str) -> io::Result<Self::File>;

    /// Opens a file that exists, for appending and reading.
    ///
    /// # Errors
    /// Those of the system.
    fn open(&self, name: &str) -> io::Result<Self::File>;

    /// Gives a file another name, in place of a file that has it.
    ///
    /// # Errors
    /// Those of the system.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Those of the system.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Returns true if there is a file of this name.
    ///
    /// # Errors
    /// Those of the system.
    fn has(&self, name: &str) -> io::Result<bool>;

    /// Returns true if the directory is still where it was opened. Somebody may have removed it,
    /// moved it away, or put another one in its place.
    ///
    /// # Errors
    /// Those of the system.
    fn is_in_place(&self) -> io::Result<bool>;

    /// Names of all files; those that are not UTF-8 are left out.
    ///
    /// # Errors
    /// Those of the system.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes creations, renames and removals outlast the machine's death.
    ///
    /// # Errors
    /// Those of the system.
    fn sync_names(&self) -> io::Result<()>;
}

/// An open file.
pub trait File: Send + Sync {
    /// Appends bytes, maybe not all; returns how many.
    ///
    /// # Errors
    /// Those of the system.
    fn append(&self, bytes: &[u8]) -> io::Result<usize>;

    /// Does the same past the system's cache where that can be and is worth it: with many bytes
    /// that lie in memory as in the blocks of the file, as those of a `Stage` do. It takes the
    /// least of the processor, and waits for the disk.
    ///
    /// # Errors
    /// Those of the system.
    fn append_past_cache(&self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes)
    }

    /// Writes lines of `#` behind the end, as many bytes as asked for at least; the end stays where
    /// it is, and what is appended takes their place. To overwrite them and sync takes half the
    /// time of making a file longer and syncing it. Some bytes of them are always to be left, or
    /// none: an end of a line alone is no comment.
    ///
    /// # Errors
    /// Those of the system.
    fn pad(&self, bytes: u64) -> io::Result<()>;

    /// Writes bytes again that the file has at this place already; returns how many.
    ///
    /// # Errors
    /// Those of the system.
    fn write_again(&self, at: u64, bytes: &[u8]) -> io::Result<usize>;

    /// Reads bytes from a place on; zero at the end.
    ///
    /// # Errors
    /// Those of the system.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize>;

    /// Number of bytes, padding included.
    ///
    /// # Errors
    /// Those of the system.
    fn bytes(&self) -> io::Result<u64>;

    /// Makes what was appended outlast the machine's death.
    ///
    /// # Errors
    /// Those of the system, after which what was not safe before must be taken for lost.
    fn sync(&self) -> io::Result<()>;

    /// Returns true as long as it has a name: without one it is gone when the process ends.
    ///
    /// # Errors
    /// Those of the system.
    fn has_name(&self) -> io::Result<bool>;

    /// Cuts the file.
    ///
    /// # Errors
    /// Those of the system.
    fn truncate(&self, bytes: u64) -> io::Result<()>;

    /// Allocates space for bytes to come, without making the file longer. Best effort.
    fn allocate(&self, from: u64, bytes: u64);

    /// Begins to write bytes to the disk, and does not wait. Best effort.
    fn write_back(&self, from: u64, bytes: u64);
}

/// Appends all bytes.
///
/// # Errors
/// The first of `append`, which may have appended some; that nothing was appended is one too.
pub fn append_all(file: &impl File, bytes: &[u8]) -> io::Result<()> {
    all_of(bytes, |bytes| file.append(bytes))
}

/// Appends all bytes past the system's cache.
///
/// # Errors
/// As those of `append_all`.
pub fn append_all_past_cache(file: &impl File, bytes: &[u8]) -> io::Result<()> {
    all_of(bytes, |bytes| file.append_past_cache(bytes))
}

fn all_of(mut bytes: &[u8], append: impl Fn(&[u8]) -> io::Result<usize>) -> io::Result<()> {
    while !bytes.is_empty() {
        match append(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(appended) => bytes = &bytes[appended..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads what is between two offsets of a file, piece by piece.
///
/// # Errors
/// Those of the file, that it ends before, and those of `take`.
pub(crate) fn read_pieces(
    file: &impl File,
    mut at: u64,
    to: u64,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut piece = vec![0; narrow::to_usize(PIECE_BYTES.min(to.saturating_sub(at)))];
    while at < to {
        let room = narrow::to_usize(PIECE_BYTES.min(to - at));
        let read = file.read_at(at, &mut piece[..room])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        take(&piece[..read])?;
        at += read as u64;
    }
    Ok(())
}

/// Reads a whole file, which is refused if it has more than `bytes_max`.
///
/// # Errors
/// Those of the file; `FileTooLarge`.
pub fn read_all(file: &impl File, bytes_max: usize) -> io::Result<Vec<u8>> {
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        match file.read_at(all.len() as u64, &mut piece)? {
            0 => return Ok(all),
            read if all.len() + read > bytes_max => {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            read => all.extend_from_slice(&piece[..read]),
        }
    }
}
