//! The file that log lines go to, which others may rename or remove at any time: the line that
//! follows begins another one.

use base::mutex::Mutex;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracing_subscriber::fmt::MakeWriter;

/// A log file.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    open: Mutex<Arc<File>>,
}

impl LogFile {
    /// Opens the file at `path`, or creates it. The path holds wherever the process goes.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(path: &Path) -> io::Result<LogFile> {
        let path = std::path::absolute(path)?;
        let open = Mutex::new(Arc::new(open(&path)?));
        Ok(LogFile { path, open })
    }

    /// Returns the file that has the name now. It stays the one before where another cannot be
    /// opened: there may be no descriptor left, and lines are worth most then.
    fn present(&self) -> Arc<File> {
        let mut present = self.open.lock();
        let named = fs::metadata(&self.path);
        let is_same = match (named, present.metadata()) {
            (Ok(named), Ok(open)) => place(&named) == place(&open),
            _ => false,
        };
        if !is_same && let Ok(file) = open(&self.path) {
            *present = Arc::new(file);
        }
        Arc::clone(&present)
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

fn place(of: &Metadata) -> (u64, u64) {
    (of.dev(), of.ino())
}

/// Writer of one line.
#[derive(Debug)]
pub struct Line(Arc<File>);

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line(self.present())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_line(log: &LogFile, line: &str) {
        log.make_writer().write_all(line.as_bytes()).expect("written");
    }

    #[test]
    fn a_line_goes_to_the_file_that_has_the_name_now() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, old) = (folder.path().join("log"), folder.path().join("log.1"));
        let log = LogFile::open(&path).expect("opened");
        let read = |path| fs::read_to_string(path).expect("there");
        write_line(&log, "1");
        write_line(&log, "2");
        fs::rename(&path, &old).expect("renamed");
        write_line(&log, "3");
        fs::remove_file(&path).expect("removed");
        write_line(&log, "4");
        assert_eq!((read(&old), read(&path)), ("12".into(), "4".into()));
    }

    #[test]
    fn where_no_other_file_can_be_opened_lines_go_on_in_the_one_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let (before, after) = (folder.path().join("before"), folder.path().join("after"));
        fs::create_dir(&before).expect("made");
        let log = LogFile::open(&before.join("log")).expect("opened");
        fs::rename(&before, &after).expect("renamed");
        write_line(&log, "1");
        assert_eq!(fs::read_to_string(after.join("log")).expect("there"), "1");
    }
}
