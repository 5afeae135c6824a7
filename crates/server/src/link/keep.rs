//! The snapshot of a primary as the RDB file of this server, so that its next start has the data.

use super::thread::LinkThread;
use crate::saver::name_of_sync;
use rustix::fs::{AtFlags, CWD, linkat};
use session::Instance;
use settings::general::DIR;
use settings::journal::APPENDONLY;
use settings::snapshots::{DBFILENAME, RDB_DEL_SYNC_FILES, SAVE};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

impl LinkThread {
    /// Gives a snapshot, which has no name and was loaded, the name of the RDB file, unless this
    /// server has append-only files or is to keep none. Without it, it is as up to date as others.
    pub(super) fn keep_snapshot(&self, file: &File) {
        let settings = &self.instance.settings;
        let name = DBFILENAME.get(settings);
        if APPENDONLY.get(settings) {
            return;
        }
        if keeps_nothing(&self.instance) {
            return tracing::info!(
                "The snapshot of the primary is not kept: this replica has persistence disabled \
                 (`rdb-del-sync-files`)"
            );
        }
        let claimed = self.saver.claim_beside(settings).map_err(io::Error::other);
        let kept = claimed.and_then(|()| {
            file.sync_all()?;
            put_in_place(file, Path::new(&*DIR.get(settings)), &name)
        });
        match kept {
            Ok(()) => tracing::info!("The snapshot of the primary is kept as {name}"),
            Err(error) => {
                tracing::warn!("The snapshot of the primary is not kept as {name}: {error}");
            }
        }
    }
}

/// True for a server without files of any kind that is to leave none of a synchronization.
fn keeps_nothing(instance: &Instance) -> bool {
    let settings = &instance.settings;
    RDB_DEL_SYNC_FILES.get(settings) && SAVE.get(settings).points.is_empty()
}

/// Gives a file without a name one, in place of another file that has it.
fn put_in_place(file: &File, directory: &Path, name: &str) -> io::Result<()> {
    let nameless = format!("/proc/self/fd/{}", file.as_raw_fd());
    let temporary = directory.join(name_of_sync(std::process::id()));
    match std::fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    linkat(CWD, nameless, CWD, &temporary, AtFlags::SYMLINK_FOLLOW)?;
    std::fs::rename(&temporary, directory.join(name))?;
    File::open(directory)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_without_a_name_takes_the_place_of_one_that_has_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        std::fs::write(path.join("dump.rdb"), "old").expect("written");
        let mut file = tempfile::tempfile_in(path).expect("a file");
        file.write_all(b"new").expect("written");
        put_in_place(&file, path, "dump.rdb").expect("named");
        assert_eq!(std::fs::read(path.join("dump.rdb")).expect("read"), b"new");
        assert_eq!(std::fs::read_dir(path).expect("listed").count(), 1);
    }
}
