//! How far an import has come, kept in a file from which another run goes on.

use crate::error::Error;
use crate::json_file::JsonFile;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time between two writes of the file.
const PERIOD: Duration = Duration::from_millis(200);

/// A place in a source up to which everything has arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Number of the file of a set, from zero; zero for other sources.
    pub file: usize,
    /// Offset in it up to which everything was sent and answered.
    pub offset: u64,
    /// Offset in a file of commands up to which they may have been sent; larger than `offset`
    /// only while those between may not be sent twice.
    pub sent: u64,
    /// Number of units between the two, and the first command among them for which that holds.
    #[serde(default)]
    pub doubt: Option<(usize, String)>,
    /// Number of the database of a server.
    pub database: u64,
    /// Cursor of SCAN in it.
    pub cursor: String,
    /// True if nothing is left.
    pub is_done: bool,
}

/// Contents of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Contents {
    source: String,
    /// What changes if the source is another one: lengths of files, identity of a process.
    identity: String,
    target: String,
    mark: Mark,
}

/// The file, if there is one.
#[derive(Debug)]
pub struct Resume {
    file: Option<JsonFile>,
    contents: Contents,
    written: Instant,
}

impl Resume {
    /// True if there is a file.
    pub fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// Opens the file of an earlier run, or begins a new one.
    ///
    /// # Errors
    /// When it cannot be read, belongs to another import, or another run works with it.
    pub fn open(
        path: Option<&Path>,
        source: &str,
        identity: &str,
        target: &str,
    ) -> Result<Resume, Error> {
        let [source, identity, target] = [source, identity, target].map(str::to_owned);
        let mut contents = Contents { source, identity, target, mark: Mark::default() };
        let taken = path.map(|it| Ok((it, JsonFile::take::<Contents>(it)?))).transpose()?;
        if let Some((path, (_, Some(before)))) = &taken {
            if (Contents { mark: Mark::default(), ..before.clone() }) != contents {
                let what = "is of another source or target, or the source has changed";
                return Err(Error::Usage(format!("{}: {what}: remove it", path.display())));
            }
            contents.mark = before.mark.clone();
        }
        let file = taken.map(|(_, (file, _))| file);
        Ok(Resume { file, contents, written: Instant::now() })
    }

    /// Where to go on.
    pub fn mark(&self) -> &Mark {
        &self.contents.mark
    }

    /// Notes a place; it is written now and then.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn note(&mut self, mark: Mark) -> Result<(), Error> {
        self.contents.mark = mark;
        if self.written.elapsed() < PERIOD { Ok(()) } else { self.write() }
    }

    /// Notes a place and writes it at once.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_mark(&mut self, mark: Mark) -> Result<(), Error> {
        self.contents.mark = mark;
        self.write()
    }

    /// Writes the file, in place of the one before in one step.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&mut self) -> Result<(), Error> {
        let Some(file) = &self.file else { return Ok(()) };
        file.write(&self.contents, false)?;
        self.written = Instant::now();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_run_goes_on_where_the_one_before_has_stopped() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state");
        let open = |identity| Resume::open(Some(&path), "a.rdb", identity, "h:1");
        let mut first = open("100 bytes").expect("new");
        assert_eq!(*first.mark(), Mark::default());
        let mark = Mark { offset: 55, cursor: "7".to_owned(), ..Mark::default() };
        first.write_mark(mark.clone()).expect("written");
        assert!(matches!(open("100 bytes"), Err(Error::Usage(_))), "one run at a time");
        drop(first);
        assert_eq!(*open("100 bytes").expect("again").mark(), mark);
        assert!(matches!(open("101 bytes"), Err(Error::Usage(_))));
        fs::write(&path, "half").expect("written");
        assert!(matches!(open("100 bytes"), Err(Error::File(..))));
    }
}
