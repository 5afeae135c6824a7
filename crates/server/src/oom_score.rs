//! Score of the process at the out-of-memory killer of Linux, which kills the process with the
//! highest one when memory is used up.

use base::mutex::Mutex;
use settings::replication::REPLICAOF;
use settings::{OomScore, Settings, general};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Lowest and highest score that Linux takes.
const SCORES: (i64, i64) = (-1000, 1000);

/// Score of this process.
#[derive(Debug)]
pub struct OomScoreFile {
    path: PathBuf,
    /// Score before the settings changed it; `None` while they do not.
    before: Mutex<Option<i64>>,
}

impl OomScoreFile {
    /// Returns the score that the file at `path` holds, which no setting has changed yet.
    pub fn new(path: impl AsRef<Path>) -> OomScoreFile {
        OomScoreFile { path: path.as_ref().to_owned(), before: Mutex::default() }
    }

    /// Sets the score as the settings say, or back to what it was before them.
    ///
    /// # Errors
    /// When the system refuses that, in the words of CONFIG SET.
    pub fn follow(&self, settings: &Settings) -> Result<(), String> {
        self.set(settings).map_err(|error| {
            tracing::warn!("cannot set the score at the out-of-memory killer: {error}");
            "Failed to set current oom_score_adj. Check server logs.".to_owned()
        })
    }

    fn set(&self, settings: &Settings) -> io::Result<()> {
        let mut before = self.before.lock();
        let values = general::OOM_SCORE_ADJ_VALUES.get(settings);
        let is_replica = !REPLICAOF.get(settings).is_empty();
        let value = values.get(usize::from(is_replica)).and_then(|value| value.parse().ok());
        let value: i64 = value.unwrap_or(0);
        match (general::OOM_SCORE_ADJ.get(settings), *before) {
            (OomScore::No, None) => {}
            (OomScore::No, Some(score)) => {
                self.write(score)?;
                *before = None;
            }
            (mode, noted) => {
                let base = noted.map_or_else(|| self.read(), Ok)?;
                self.write(if mode == OomScore::Absolute { value } else { base + value })?;
                *before = Some(base);
            }
        }
        Ok(())
    }

    fn read(&self) -> io::Result<i64> {
        let text = fs::read_to_string(&self.path)?;
        text.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
    }

    fn write(&self, score: i64) -> io::Result<()> {
        let (lowest, highest) = SCORES;
        fs::write(&self.path, score.clamp(lowest, highest).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::OomScoreFile;
    use settings::{Origin, Settings};
    use std::fs;

    #[test]
    fn the_score_follows_the_settings_and_comes_back_when_they_are_off() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("oom_score_adj");
        fs::write(&path, "7\n").expect("the folder is writable");
        let (score, settings) = (OomScoreFile::new(&path), Settings::new());
        let after = |mode: &str, values: &str| {
            let pairs = [("oom-score-adj", mode), ("oom-score-adj-values", values)];
            let pairs = pairs.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
            settings.set_many(&pairs, Origin::Local).expect("they are valid");
            score.follow(&settings).expect("the file is writable");
            fs::read_to_string(&path).expect("it is there").trim().to_owned()
        };
        assert_eq!(after("no", "9 9 9"), "7");
        assert_eq!(after("yes", "10 20 30"), "17");
        assert_eq!(after("relative", "15 20 30"), "22");
        assert_eq!(after("absolute", "30 30 30"), "30");
        settings.note("replicaof", &["127.0.0.1", "7000"]);
        assert_eq!(after("relative", "15 20 30"), "27", "a replica has the second");
        settings.note("replicaof", &[]);
        assert_eq!(after("relative", "2000 2000 2000"), "1000");
        assert_eq!(after("no", "0 200 800"), "7");
    }

    #[test]
    fn a_score_that_cannot_be_set_is_an_error() {
        let (score, settings) = (OomScoreFile::new("/nowhere/oom_score_adj"), Settings::new());
        assert_eq!(score.follow(&settings), Ok(()));
        let on = [(&b"oom-score-adj"[..], &b"absolute"[..])];
        settings.set_many(&on, Origin::Local).expect("it is valid");
        assert!(score.follow(&settings).is_err_and(|text| text.contains("oom_score_adj")));
    }
}
