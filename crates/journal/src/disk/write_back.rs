//! Early writing to the disk, which rustix does not know.

use std::os::fd::{AsRawFd, BorrowedFd};

/// Begins to write bytes of a file to the disk, where the system can; does not wait.
pub(super) fn begin(file: BorrowedFd<'_>, from: u64, bytes: u64) {
    let (Ok(from), Ok(bytes)) = (i64::try_from(from), i64::try_from(bytes)) else { return };
    // An error shows at the next sync, which writes what this did not.
    // SAFETY: the file is open as long as it is borrowed; no memory is handed over.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::sync_file_range(file.as_raw_fd(), from, bytes, libc::SYNC_FILE_RANGE_WRITE);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, from, bytes);
}
