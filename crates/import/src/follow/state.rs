//! The file of `--resume` of one that follows: which key of the target tells how far it is. What
//! the key says counts; the place in the file is for people.

use crate::error::Error;
use crate::json_file::JsonFile;
use base::Random;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Contents of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// Address of the source.
    pub source: String,
    /// Address of the target.
    pub target: String,
    /// Which databases and keys are taken.
    pub scope: String,
    /// By which its key is known.
    pub identity: String,
    /// True once keys of the source have been sent: what the target holds is this program's.
    pub has_begun: bool,
    /// True once the target's import mode was turned on, which is to be undone at the end.
    pub turned_import_mode_on: bool,
    /// What has failed or was left out in earlier runs.
    #[serde(default)]
    pub failures: u64,
    /// True once clients have been switched.
    pub is_done: bool,
    /// Whose stream was followed up to where, when it was written.
    pub position: String,
}

/// The file, if there is one.
#[derive(Debug)]
pub struct State {
    file: Option<JsonFile>,
    /// What had failed or was left out in earlier runs.
    pub failures_before: u64,
    /// What it holds.
    pub contents: Contents,
}

impl State {
    /// Opens the file of an earlier run, or begins a new one, with an identity that is drawn.
    ///
    /// # Errors
    /// When it cannot be read, belongs to another move, to one that is done, or another run works
    /// with it.
    pub fn open(
        path: Option<&Path>,
        source: &str,
        target: &str,
        scope: &str,
    ) -> Result<State, Error> {
        let taken = path.map(JsonFile::take::<Contents>).transpose()?;
        let (file, before) = taken.map_or((None, None), |(file, before)| (Some(file), before));
        let named = || path.map(|it| it.display().to_string()).unwrap_or_default();
        if let Some(before) = &before {
            if [&before.source, &before.target, &before.scope] != [source, target, scope] {
                let what = "is of another source, target, or choice of keys: remove it";
                return Err(Error::Usage(format!("{}: {what}", named())));
            }
            if before.is_done {
                let what = "is of a move that is done: remove it to begin another one";
                return Err(Error::Usage(format!("{}: {what}", named())));
            }
        }
        let [source, target, scope] = [source, target, scope].map(str::to_owned);
        let new = || {
            let time = base::Clock::Wall.micros();
            let identity = format!("{:016x}", Random::seeded(time).next());
            let position = String::new();
            Contents { source, target, scope, identity, position, ..Contents::default() }
        };
        let contents = before.unwrap_or_else(new);
        let state = State { file, failures_before: contents.failures, contents };
        state.write()?;
        Ok(state)
    }

    /// True if there is a file.
    pub fn is_kept(&self) -> bool {
        self.file.is_some()
    }

    /// Writes the file, in place of the one before in one step.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self) -> Result<(), Error> {
        self.file.as_ref().map_or(Ok(()), |file| file.write(&self.contents, true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_run_has_the_same_identity_unless_it_is_another_move() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state");
        let open = |target| State::open(Some(&path), "a:1", target, "");
        let first = open("b:1").expect("new");
        assert!(matches!(open("b:1"), Err(Error::Usage(_))), "one run at a time");
        let contents = first.contents.clone();
        drop(first);
        let mut again = open("b:1").expect("again");
        assert_eq!(again.contents, contents);
        again.contents.is_done = true;
        again.write().expect("written");
        drop(again);
        for target in ["b:1", "b:2"] {
            assert!(matches!(open(target), Err(Error::Usage(_))), "done, or another move");
        }
        let one = State::open(None, "a:1", "b:1", "").expect("without a file").contents;
        assert_ne!(one.identity, contents.identity);
    }
}
