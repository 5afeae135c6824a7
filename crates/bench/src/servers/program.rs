//! Servers that can be started, given by their command lines.

use std::env;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::Kind;
use super::ended::Ended;

/// A server that can be started.
#[derive(Clone, Debug)]
pub struct Program {
    /// Name in tables.
    pub label: String,
    /// Kind of command line that it takes.
    pub kind: Kind,
    pub(super) command: Vec<String>,
    /// Command line for a profiler, which cannot follow into another root; absent if there is none.
    direct: Option<Vec<String>>,
    pub(super) ended: Ended,
}

impl Program {
    pub(super) fn new(label: &str, kind: Kind, command: Vec<String>) -> Self {
        let direct = Some(command.clone());
        Self { label: label.to_owned(), kind, command, direct, ended: Ended::default() }
    }

    /// Sets the command line for a profiler; `None` if no profiler can reach it.
    pub(super) fn reached_by(self, direct: Option<Vec<String>>) -> Self {
        Self { direct, ..self }
    }

    /// Returns messages about its servers that ended by themselves since the last call.
    pub fn ended(&self) -> Vec<String> {
        self.ended.take()
    }

    pub(super) fn parse_command(text: &str) -> Result<Self> {
        let command: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        let name = command.first().context("an empty command line")?;
        let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
        Ok(Self::new(&label_of(&name), Kind::of(&name), command))
    }

    /// Creates a peer from its name and its own command line.
    ///
    /// # Errors
    /// If the command line is empty.
    pub fn peer(name: &str, text: &str) -> Result<Self> {
        let kind = if name == "memcached" { Kind::Memcached } else { Kind::Peer };
        let program = Self::parse_command(text)?;
        Ok(Self { label: name.to_owned(), kind, ..program })
    }

    /// Returns its command line without folders, so that it is the same on every machine.
    pub fn words(&self) -> String {
        let file = |word: &String| Path::new(word).file_name()?.to_str().map(str::to_owned);
        let words = self.command.iter().map(|word| file(word).unwrap_or_default());
        words.collect::<Vec<_>>().join(" ")
    }

    /// Returns the null server in the folder of the running program.
    ///
    /// # Errors
    /// If it was not built.
    pub fn null() -> Result<Self> {
        let path = env::current_exe()?.with_file_name("varve-null");
        if !path.exists() {
            bail!("{} is missing: build the package bench", path.display());
        }
        let command = vec![path.to_string_lossy().into_owned()];
        Ok(Self::new("null", Kind::Null, command))
    }

    /// Checks that its path leads to a file.
    ///
    /// # Errors
    /// If it is a path without a file.
    pub fn must_be_there(&self) -> Result<()> {
        let path = Path::new(&self.command[0]);
        // A bare name is searched for in PATH.
        if path.components().count() > 1 && !path.is_file() {
            bail!("there is no server {}: build it, or name one by --server", path.display());
        }
        Ok(())
    }

    /// Returns the program under a profiler, whose command begins with `words`; `None` if the
    /// profiler cannot reach it.
    pub fn profiled(&self, words: &[String]) -> Option<Self> {
        let command = [words, self.direct.as_ref()?].concat();
        Some(Self { command, ..self.clone() })
    }

    /// Returns the program with the file system of this process, which the script of the peers
    /// would hide from it; `None` if it cannot be run like that.
    pub fn among_our_files(&self) -> Option<Self> {
        self.profiled(&[])
    }

    /// Appends arguments to the command line.
    #[must_use]
    pub fn with_arguments(mut self, words: &[String]) -> Self {
        self.command.extend_from_slice(words);
        self
    }
}

fn label_of(name: &str) -> String {
    name.strip_suffix("-server").unwrap_or(name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Kind, Program};

    #[test]
    fn a_peer_of_any_name_is_what_it_is_called() {
        let peer = |name, text| Program::peer(name, text).map(|it| (it.label, it.kind)).unwrap();
        assert_eq!(peer("valkey", "/opt/kv/serve"), ("valkey".to_owned(), Kind::Peer));
        assert_eq!(peer("memcached", "/opt/mc -v"), ("memcached".to_owned(), Kind::Memcached));
        assert!(Program::peer("redis", " ").is_err());
        assert_eq!(Program::peer("redis", "/a/b run /c/d").unwrap().words(), "b run d");
    }

    #[test]
    fn the_label_is_the_short_name() {
        let program = Program::parse("target/release/varve-server --hz 10").unwrap();
        assert_eq!((program.label.as_str(), program.kind), ("varve", Kind::Varve));
    }

    #[test]
    fn only_the_name_of_the_program_tells_its_kind() {
        let kind = |text| Program::parse(text).unwrap().kind;
        assert_eq!(kind("/src/redis-server-x/varve-server"), Kind::Varve);
        assert_eq!(kind("/memcached/varve --dir /data/valkey-server"), Kind::Varve);
        assert_eq!(kind("/varve-null.d/redis-server-8.0 --hz 10"), Kind::Peer);
        assert_eq!(kind("./valkey-server"), Kind::Peer);
        assert_eq!(kind("/redis-server/memcached -v"), Kind::Memcached);
        assert_eq!(kind("target/varve-null"), Kind::Null);
    }
}
