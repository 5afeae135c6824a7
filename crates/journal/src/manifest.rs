//! The manifest: which files of the directory make up the data, as Redis and Valkey write it.
//!
//! ```text
//! file appendonly.aof.2.base.rdb seq 2 type b
//! file appendonly.aof.3.incr.aof seq 3 type h      not needed, to be removed
//! file appendonly.aof.4.incr.aof seq 4 type i      in this order behind the base
//! ```

use std::collections::HashSet;
use std::fmt;
use text::{parse_u64, quote, split_args};

/// Longest line, its end included.
const LINE_BYTES_MAX: usize = 1024;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The data at a position.
    Base,
    /// What followed.
    Incremental,
    /// A file that a newer base has replaced.
    History,
}

/// A file of the set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the directory.
    pub name: String,
    /// Its number: counted apart for bases and incremental files.
    pub sequence: u64,
}

/// The files of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The base, if there is one.
    pub base: Option<Entry>,
    /// Files to be removed.
    pub history: Vec<Entry>,
    /// Incremental files, in order.
    pub incrementals: Vec<Entry>,
}

/// A manifest that cannot be used; the operator has to repair it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ManifestError {
    /// Number of the line, from one.
    pub line: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a line of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Problem {
    #[error("the manifest is empty")]
    Empty,
    #[error("the line is longer than 1024 bytes, or has no end")]
    LineLength,
    #[error("the line is not `file NAME seq NUMBER type b|i|h`")]
    Format,
    #[error("the name of a file may not be a path")]
    Path,
    #[error("there is a second base")]
    SecondBase,
    #[error("the file was named before")]
    Duplicate,
    #[error("the sequence number is not above that of the file before")]
    Order,
    #[error("the type of the file is not known")]
    Type,
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Manifest, ManifestError> {
        let mut manifest = Manifest::default();
        if bytes.is_empty() {
            return Err(ManifestError { line: 1, problem: Problem::Empty });
        }
        let mut names = HashSet::new();
        for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            manifest
                .parse_line(line, &mut names)
                .map_err(|problem| ManifestError { line: number + 1, problem })?;
        }
        Ok(manifest)
    }

    fn parse_line(&mut self, line: &[u8], names: &mut HashSet<String>) -> Result<(), Problem> {
        if line.starts_with(b"#") {
            return Ok(());
        }
        if line.len() > LINE_BYTES_MAX || !line.ends_with(b"\n") {
            return Err(Problem::LineLength);
        }
        let words = split_args(line).ok_or(Problem::Format)?;
        // More pairs than three are allowed: later versions may add some.
        if words.len() < 6 || !words.len().is_multiple_of(2) {
            return Err(Problem::Format);
        }
        let (mut name, mut sequence, mut kind) = (None, None, None);
        for pair in words.chunks_exact(2) {
            match pair[0].to_ascii_lowercase().as_slice() {
                b"file" => name = Some(parse_name(&pair[1])?),
                b"seq" => sequence = parse_sequence(&pair[1]),
                b"type" => kind = pair[1].first().copied(),
                _ => {}
            }
        }
        let (Some(name), Some(sequence), Some(kind)) = (name, sequence, kind) else {
            return Err(Problem::Format);
        };
        if !names.insert(name.clone()) {
            return Err(Problem::Duplicate);
        }
        self.add(Entry { name, sequence }, kind)
    }

    fn add(&mut self, entry: Entry, kind: u8) -> Result<(), Problem> {
        match kind {
            b'b' if self.base.is_some() => return Err(Problem::SecondBase),
            b'b' => self.base = Some(entry),
            b'h' => self.history.push(entry),
            b'i' if self.last_incremental() >= entry.sequence => return Err(Problem::Order),
            b'i' => self.incrementals.push(entry),
            _ => return Err(Problem::Type),
        }
        Ok(())
    }

    fn last_incremental(&self) -> u64 {
        self.incrementals.last().map_or(0, |last| last.sequence)
    }

    /// All files, and what they are.
    pub fn files(&self) -> impl Iterator<Item = (&Entry, Kind)> {
        let base = self.base.iter().map(|entry| (entry, Kind::Base));
        let history = self.history.iter().map(|entry| (entry, Kind::History));
        let incrementals = self.incrementals.iter().map(|entry| (entry, Kind::Incremental));
        base.chain(history).chain(incrementals)
    }

    /// The files to be loaded, in order.
    pub fn to_load(&self) -> impl Iterator<Item = &Entry> {
        self.base.iter().chain(&self.incrementals)
    }

    /// Highest number of a base or, if `kind` says so, of an incremental file. Those that have
    /// become history count for both.
    pub fn last_sequence(&self, kind: Kind) -> u64 {
        let counts = |of: Kind| of == kind || of == Kind::History;
        self.files()
            .filter(|(_, of)| counts(*of))
            .map(|(entry, _)| entry.sequence)
            .max()
            .unwrap_or(0)
    }
}

/// The manifest as a file.
impl fmt::Display for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (entry, kind) in self.files() {
            let letter = match kind {
                Kind::Base => 'b',
                Kind::Incremental => 'i',
                Kind::History => 'h',
            };
            let is_plain = entry
                .name
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\'));
            let name = if is_plain { entry.name.clone() } else { quote(entry.name.as_bytes()) };
            writeln!(f, "file {name} seq {} type {letter}", entry.sequence)?;
        }
        Ok(())
    }
}

fn parse_name(name: &[u8]) -> Result<String, Problem> {
    let leads_elsewhere = |byte: &u8| matches!(byte, b'/' | b'\\' | 0);
    if matches!(name, b"" | b"." | b"..") || name.iter().any(leads_elsewhere) {
        return Err(Problem::Path);
    }
    String::from_utf8(name.to_vec()).map_err(|_| Problem::Format)
}

fn parse_sequence(digits: &[u8]) -> Option<u64> {
    parse_u64(digits).filter(|number| (1..=i64::MAX.unsigned_abs()).contains(number))
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    fn problem(text: &str) -> (usize, Problem) {
        let error = Manifest::parse(text.as_bytes()).expect_err("refused");
        (error.line, error.problem)
    }

    #[test]
    fn a_manifest_of_redis_is_read_and_written_again() {
        let text = "file a.2.base.rdb seq 2 type b\n\
                    file a.1.base.rdb seq 1 type h\n\
                    file a.3.incr.aof seq 3 type i\n\
                    file \"with blank\" seq 4 type i\n";
        let manifest = Manifest::parse(text.as_bytes()).expect("a manifest");
        assert_eq!(manifest.base.as_ref().expect("a base").sequence, 2);
        assert_eq!(manifest.incrementals[1].name, "with blank");
        assert_eq!(manifest.to_string(), text);
        assert_eq!(manifest.to_load().count(), 3);
    }

    #[test]
    fn comments_other_pairs_and_capitals_are_allowed() {
        let text = "# made by hand\nSEQ 7 later \"x y\" Type i FILE 'a b'\r\n";
        let manifest = Manifest::parse(text.as_bytes()).expect("a manifest");
        assert_eq!(manifest.incrementals, [Entry { name: "a b".into(), sequence: 7 }]);
        assert_eq!(Manifest::parse(b"# nothing\n"), Ok(Manifest::default()));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        assert_eq!(problem(""), (1, Problem::Empty));
        assert_eq!(problem("# x\n\n"), (2, Problem::Format));
        assert_eq!(problem("file a seq 1 type i"), (1, Problem::LineLength));
        let long = format!("file {} seq 1 type i\n", "a".repeat(LINE_BYTES_MAX));
        assert_eq!(problem(&long), (1, Problem::LineLength));
        for line in ["file a seq 1\n", "file a seq 1 type\n", "file a seq 0 type i\n"] {
            assert_eq!(problem(line), (1, Problem::Format), "{line}");
        }
        for line in ["file a seq -1 type i\n", "file a seq 1x type i\n", "file \"a seq 1 type i\n"]
        {
            assert_eq!(problem(line), (1, Problem::Format), "{line}");
        }
        assert_eq!(problem("file a seq 9223372036854775808 type i\n"), (1, Problem::Format));
        assert_eq!(problem("file a seq 1 type x\n"), (1, Problem::Type));
    }

    #[test]
    fn names_that_are_paths_are_refused() {
        for name in ["..", ".", "../a", "/etc/passwd", "a\\\\b", "\"\"", "\"a\\x00b\""] {
            let expected = if name == "a\\\\b" { "a\\\\b" } else { name };
            assert_eq!(problem(&format!("file {expected} seq 1 type i\n")), (1, Problem::Path));
        }
    }

    #[test]
    fn files_are_named_once_and_in_order() {
        let two = |second: &str| problem(&format!("file a seq 2 type i\n{second}\n"));
        assert_eq!(two("file a seq 3 type i"), (2, Problem::Duplicate));
        assert_eq!(two("file a seq 3 type h"), (2, Problem::Duplicate));
        assert_eq!(two("file b seq 2 type i"), (2, Problem::Order));
        let bases = "file a seq 1 type b\nfile b seq 2 type b\n";
        assert_eq!(problem(bases), (2, Problem::SecondBase));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            names in proptest::collection::btree_set("[^/\\\\\0]{3,20}", 1..6),
            base in any::<bool>(),
            history in 0..3usize,
        ) {
            let mut manifest = Manifest::default();
            for (number, name) in names.into_iter().enumerate() {
                let entry = Entry { name, sequence: number as u64 + 1 };
                match number {
                    0 if base => manifest.base = Some(entry),
                    number if number <= history => manifest.history.push(entry),
                    _ => manifest.incrementals.push(entry),
                }
            }
            prop_assert_eq!(Manifest::parse(manifest.to_string().as_bytes()), Ok(manifest));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Err(error) = Manifest::parse(&bytes) {
                prop_assert!(error.line >= 1);
            }
        }
    }
}
