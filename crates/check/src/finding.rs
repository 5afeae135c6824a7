//! What was found at a path, and how it is told.

use crate::aof_file::{self, AofFacts, Behind, Broken};
use crate::flaws::Flaws;
use crate::rdb_file::{Counts, RdbFacts};
use crate::servers::{Asked, SERVERS, Server};
use crate::source::{Source, Stamp};
use crate::walk::Sum;
use journal::disk::File;
use journal::reader::Why;
use std::fmt::{self, Display, Write};
use std::io;
use std::path::{Path, PathBuf};
use text::quote;

/// First bytes of an RDB file.
const MAGICS: [&[u8]; 2] = [b"REDIS", b"VALKEY"];
/// Longest text about a file that is shown.
const NOTE_BYTES_MAX: usize = 200;

/// A file, and what it holds.
#[derive(Debug)]
pub struct FileFinding {
    /// Its path.
    pub path: PathBuf,
    /// Which file it was when it was read.
    pub stamp: Stamp,
    /// What it holds.
    pub facts: AofFacts,
    /// True if its name says that it is an RDB file, and no manifest says otherwise.
    pub is_named_rdb: bool,
    /// Databases of the server that is to load it.
    pub databases: u64,
    /// Why a server refuses its function libraries.
    pub refused_libraries: Option<String>,
}

/// Returns why a server refuses function libraries, by their sources.
pub type JudgeLibraries = fn(&[Vec<u8>]) -> Result<(), String>;

/// How files are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Number of the largest keys that are named.
    pub largest: usize,
    /// Databases of the server that is to load them.
    pub databases: u64,
    /// What that server says of function libraries.
    pub judge_libraries: JudgeLibraries,
}

/// Whether a file can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// All of it can.
    Whole,
    /// All of it can once a setting of the server, or a function library, is another.
    Refused(String),
    /// Servers that count the entries of streams refuse it; that can be mended.
    Miscounted(Flaws),
    /// All but its end, which was never safe, or whose command was never finished.
    Torn(Broken),
    /// Its commands are damaged in the middle, or what follows them is no torn end.
    Damaged(Broken),
    /// Its RDB part is damaged, or it is something else, which nothing repairs.
    Lost(String),
}

/// Reads a file of a manifest.
///
/// # Errors
/// Those of the disk.
pub fn read(path: &Path, look: Look) -> io::Result<FileFinding> {
    read_as(path, Behind::Commands, look)
}

/// Reads a file that no manifest names: with the name of an RDB file it must be one.
///
/// # Errors
/// Those of the disk.
pub fn read_alone(path: &Path, look: Look) -> io::Result<FileFinding> {
    let is_named_rdb = path.extension().is_some_and(|it| it == "rdb");
    let behind = if is_named_rdb { Behind::Nothing } else { Behind::Either };
    Ok(FileFinding { is_named_rdb, ..read_as(path, behind, look)? })
}

fn read_as(path: &Path, behind: Behind, look: Look) -> io::Result<FileFinding> {
    let source = Source::open(path)?;
    let stamp = source.stamp()?;
    let mut begin = [0; 6];
    let read = source.read_at(0, &mut begin)?;
    let is_rdb = MAGICS.iter().any(|magic| begin[..read].starts_with(magic));
    let facts = aof_file::describe(&source, is_rdb, behind, look.largest)?;
    let libraries = facts.preamble.iter().map(|it| &it.functions[..]).filter(|it| !it.is_empty());
    let refused_libraries = libraries.map(look.judge_libraries).find_map(Result::err);
    Ok(FileFinding {
        path: path.to_owned(),
        stamp,
        facts,
        is_named_rdb: false,
        databases: look.databases,
        refused_libraries,
    })
}

impl FileFinding {
    /// True if no commands follow the RDB part.
    pub fn is_rdb(&self) -> bool {
        let facts = &self.facts;
        let ends = |it: &RdbFacts| facts.bytes == it.end + facts.unread;
        facts.preamble.as_ref().is_some_and(|it| ends(it) || it.sum.is_none())
    }

    /// True if it is no RDB file, though its name says so.
    fn is_something_else(&self) -> bool {
        self.is_named_rdb && self.facts.preamble.is_none()
    }

    /// Whether it can be loaded.
    pub fn state(&self) -> State {
        if let Some(error) = &self.facts.preamble_error {
            return State::Lost(error.to_string());
        }
        if self.is_something_else() {
            let what = if self.facts.bytes == 0 { "the file is empty" } else { "it is none" };
            return State::Lost(format!("its name is that of an RDB file, and {what}"));
        }
        if let Some(state) = self.facts.preamble.as_ref().and_then(state_of_keys) {
            return state;
        }
        match self.facts.broken {
            None => {
                let refused = self.refused_database().or_else(|| self.refused_libraries.clone());
                refused.map_or(State::Whole, State::Refused)
            }
            Some(Broken { offset: 0, why: Why::Format, .. }) => {
                State::Lost("this is neither an RDB file nor one of commands".to_owned())
            }
            Some(broken) if broken.is_torn => State::Torn(broken),
            Some(broken) => State::Damaged(broken),
        }
    }

    /// Why a server with so many databases refuses it.
    fn refused_database(&self) -> Option<String> {
        let number = self.asked().database.filter(|number| *number >= self.databases)?;
        let (limit, wanted) = (self.databases, number.saturating_add(1));
        Some(format!(
            "database {number} is in it, and the server has {limit}: set `databases {wanted}` \
             there, and check with --databases {wanted}"
        ))
    }

    /// What it asks of a server that reads it.
    pub fn asked(&self) -> Asked {
        let mut asked = self.facts.asked();
        asked.preamble &= !self.is_rdb();
        asked
    }
}

/// What a load says of keys that could be read.
fn state_of_keys(facts: &RdbFacts) -> Option<State> {
    if let Some(first) = facts.refused.told.first() {
        return Some(State::Lost(first.to_string()));
    }
    let has_miscounts = facts.miscounted.count > 0;
    has_miscounts.then(|| State::Miscounted(facts.miscounted.clone()))
}

impl Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Whole => write!(f, "whole"),
            State::Refused(why) => write!(f, "whole, but refused: {why}"),
            State::Miscounted(streams) => {
                let count = streams.count;
                write!(f, "damaged: {count} streams say a wrong number of entries")
            }
            State::Torn(Broken { offset, why, .. }) => write!(f, "torn at byte {offset}: {why}"),
            State::Damaged(Broken { offset, why, .. }) => {
                write!(f, "damaged at byte {offset}: {why}")
            }
            State::Lost(why) => write!(f, "damaged: {why}"),
        }
    }
}

/// The whole finding, line by line.
impl Display for FileFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts = &self.facts;
        let form = match &facts.preamble {
            Some(_) if self.is_rdb() => "RDB file",
            Some(_) => "append-only file that begins with an RDB part",
            None if self.is_something_else() => "no RDB file",
            None => "append-only file",
        };
        writeln!(f, "{}: {form}, {} bytes", self.path.display(), facts.bytes)?;
        if let Some(preamble) = &facts.preamble {
            format_rdb(f, preamble)?;
        }
        if !self.is_rdb() && !self.is_something_else() {
            format_commands(f, facts)?;
        }
        if facts.unread > 0 {
            let (count, end) = (facts.unread, facts.whole);
            line(
                f,
                "note",
                format_args!("{count} bytes behind byte {end}, which no server reads"),
            )?;
        }
        let state = self.state();
        line(f, "state", &state)?;
        if let State::Torn(_) | State::Damaged(_) = state {
            let (whole, behind) = (facts.whole, facts.bytes_behind());
            line(f, "", format_args!("whole up to byte {whole}; {behind} bytes behind it"))?;
        }
        Ok(())
    }
}

fn line(f: &mut impl Write, name: &str, value: impl Display) -> fmt::Result {
    writeln!(f, "  {name:<12} {value}")
}

fn format_rdb(f: &mut fmt::Formatter<'_>, facts: &RdbFacts) -> fmt::Result {
    line(f, "version", facts.version)?;
    for (name, text) in &facts.notes {
        let text = &text[..text.len().min(NOTE_BYTES_MAX)];
        line(f, "note", format_args!("{} {}", shown(name), shown(text)))?;
    }
    if facts.notes_more > 0 {
        line(f, "note", format_args!("{} more", facts.notes_more))?;
    }
    format_counts(f, facts)?;
    if facts.timed_fields > 0 {
        line(f, "fields", format_args!("{} with a deadline", facts.timed_fields))?;
    }
    if facts.with_attributes > 0 {
        let strings = facts.with_attributes;
        line(f, "attributes", format_args!("{strings} strings, which Varve alone reads"))?;
    }
    for key in facts.largest_first() {
        let (bytes, elements, name) = (key.bytes, key.elements, quote(&key.name));
        let place = format_args!("{} of {elements} in database {}", key.kind, key.database);
        line(f, "large", format_args!("{bytes} bytes: {name}, {place}"))?;
    }
    for function in &facts.functions {
        let first = function.split(|byte| *byte == b'\n').next().unwrap_or_default();
        line(f, "functions", shown(&first[..first.len().min(NOTE_BYTES_MAX)]))?;
    }
    if facts.empty > 0 {
        line(f, "empty", format_args!("{} collections, which a load leaves out", facts.empty))?;
    }
    format_flaws(f, &facts.refused)?;
    format_flaws(f, &facts.miscounted)?;
    for module in facts.modules() {
        line(f, "module", module)?;
    }
    match facts.sum {
        Some(Sum::Right) => line(f, "checksum", "right"),
        Some(Sum::NotWritten) => line(f, "checksum", "not written"),
        Some(Sum::None) => line(f, "checksum", "none in this version"),
        None => line(f, "checksum", "not reached, or wrong"),
    }
}

fn format_flaws(f: &mut fmt::Formatter<'_>, flaws: &Flaws) -> fmt::Result {
    flaws.told.iter().try_for_each(|flaw| line(f, "flaw", flaw))?;
    match flaws.count - flaws.told.len() as u64 {
        0 => Ok(()),
        more => line(f, "flaw", format_args!("{more} more like that")),
    }
}

fn format_counts(f: &mut fmt::Formatter<'_>, facts: &RdbFacts) -> fmt::Result {
    let head = ["keys", "deadline", "elements", "bytes"].map(|word| format!("{word:>12}"));
    line(f, "", format_args!("{:<12}{}", "", head.concat()))?;
    let counts = |name: &str, of: &Counts| {
        let numbers = [of.keys, of.with_deadline, of.elements, of.bytes];
        format!("{name:<12}{}", numbers.map(|number| format!("{number:>12}")).concat())
    };
    line(f, "keys", counts("all", &facts.all()))?;
    for (name, of) in &facts.types {
        line(f, "type", counts(name, of))?;
    }
    for (number, of) in &facts.databases {
        line(f, "database", counts(&number.to_string(), of))?;
    }
    Ok(())
}

fn format_commands(f: &mut fmt::Formatter<'_>, facts: &AofFacts) -> fmt::Result {
    let (units, framed) = (facts.units, facts.transactions);
    line(f, "units", format_args!("{units}, {framed} of them transactions"))?;
    let mut commands: Vec<(&String, &u64)> = facts.commands.iter().collect();
    commands.sort_unstable_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
    for (name, count) in commands {
        line(f, "command", format_args!("{count:>12} {}", shown(name.as_bytes())))?;
    }
    if facts.noted > 0 {
        let commands = facts.noted;
        line(f, "attributes", format_args!("of {commands} commands, which Varve alone reads"))?;
    }
    let databases: Vec<String> = facts.databases.keys().map(u64::to_string).collect();
    if !databases.is_empty() {
        line(f, "databases", format_args!("{} are selected", databases.join(", ")))?;
    }
    if let Some((position, id)) = facts.position {
        line(f, "position", format_args!("{position} of {}", id.as_str()))?;
    }
    Ok(())
}

/// A text that can be shown as it is, or quoted.
fn shown(text: &[u8]) -> String {
    let is_plain = text.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    match std::str::from_utf8(text) {
        Ok(text) if is_plain => text.to_owned(),
        _ => quote(text),
    }
}

/// Lines about who can read what asks for `asked` and is in this state: one server, or all.
pub fn servers_text(asked: &Asked, state: &State, only: Option<&Server>) -> String {
    let is_damaged = matches!(state, State::Damaged(_) | State::Lost(_));
    let mut lines = String::new();
    for server in SERVERS.iter().filter(|it| only.is_none_or(|only| only.name == it.name)) {
        let mut obstacles = server.obstacles(asked);
        if is_damaged {
            obstacles.insert(0, "it is damaged".to_owned());
        }
        if let State::Refused(why) = state {
            obstacles.push(why.clone());
        }
        let verdict = match state {
            _ if !obstacles.is_empty() => format!("does not: {}", obstacles.join("; ")),
            State::Torn(_) => "reads it, without the torn end".to_owned(),
            _ => "reads it".to_owned(),
        };
        // Writing to a string cannot fail.
        let _ = line(&mut lines, "reader", format_args!("{:<12}{verdict}", server.name));
    }
    lines
}

/// Takes what another file of the same set asks for too.
pub fn ask_more(asked: &mut Asked, more: Asked) {
    asked.version = asked.version.max(more.version);
    asked.slots |= more.slots;
    asked.timed_fields |= more.timed_fields;
    asked.functions |= more.functions;
    asked.miscounted |= more.miscounted;
    asked.database = asked.database.max(more.database);
    asked.lines |= more.lines;
    asked.preamble |= more.preamble;
    asked.modules.extend(more.modules);
    asked.words.extend(more.words);
    for (name, count) in more.commands {
        *asked.commands.entry(name).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look = Look { largest: 10, databases: 16, judge_libraries: |_| Ok(()) };

    fn finding(bytes: &[u8]) -> FileFinding {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, bytes).expect("written");
        read(&path, LOOK).expect("read")
    }

    const SET: &[u8] = b"*3\r\n$3\r\nset\r\n$1\r\na\r\n$1\r\n1\r\n";

    #[test]
    fn commands_are_counted_by_their_names() {
        let multi = [b"*1\r\n$5\r\nMULTI\r\n", SET, SET, b"*1\r\n$4\r\nEXEC\r\n"].concat();
        let select = b"*2\r\n$6\r\nSELECT\r\n$1\r\n3\r\n";
        let found = finding(&[select, &multi[..], SET].concat());
        assert_eq!(found.state(), State::Whole);
        assert_eq!((found.facts.units, found.facts.transactions), (3, 1));
        assert_eq!(found.facts.commands["SET"], 3);
        assert!(found.to_string().contains("3 are selected"), "{found}");
    }

    #[test]
    fn attributes_are_counted_and_are_no_commands() {
        let note = b"*2\r\n$4\r\nECHO\r\n$8\r\nvarve:f5\r\n";
        let found = finding(&[&note[..], SET, SET, note, SET].concat());
        assert_eq!((found.facts.units, found.facts.noted), (3, 2));
        assert_eq!(found.facts.commands.get("ECHO"), None);
        assert!(found.to_string().contains("attributes   of 2 commands"), "{found}");
    }

    #[test]
    fn a_truncated_command_is_torn_and_a_hole_before_others_is_damage() {
        let torn = finding(&[SET, &SET[..9]].concat());
        assert!(
            matches!(torn.state(), State::Torn(Broken { offset, .. }) if offset == SET.len() as u64)
        );
        assert!(torn.to_string().contains("9 bytes behind it"), "{torn}");
        let damaged = finding(&[SET, b"*x\r\n", SET].concat());
        assert!(matches!(damaged.state(), State::Damaged(_)), "{damaged}");
    }

    #[test]
    fn an_empty_file_is_whole_and_anything_else_is_damaged() {
        assert_eq!(finding(b"").state(), State::Whole);
        assert!(matches!(finding(b"something else").state(), State::Lost(_)));
        assert!(matches!(finding(b"REDIS0011").state(), State::Lost(_)));
    }

    #[test]
    fn nobody_reads_what_is_damaged() {
        let valkey = crate::servers::find("valkey-9.1");
        let verdict = |bytes: &[u8]| {
            let found = finding(bytes);
            servers_text(&found.asked(), &found.state(), valkey)
        };
        assert!(verdict(SET).ends_with("reads it\n"));
        assert!(verdict(&[SET, &SET[..9]].concat()).ends_with("reads it, without the torn end\n"));
        for damaged in [&[SET, b"*x\r\n", SET].concat()[..], b"something else", b"REDIS0011"] {
            assert!(verdict(damaged).ends_with("does not: it is damaged\n"));
        }
    }

    #[test]
    fn a_file_with_the_name_of_an_rdb_file_must_be_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("dump.rdb");
        for bytes in [&b""[..], SET, b"REDI"] {
            std::fs::write(&path, bytes).expect("written");
            let found = read_alone(&path, LOOK).expect("read");
            assert!(matches!(found.state(), State::Lost(_)), "{found}");
        }
        std::fs::write(&path, [&b"REDIS0011\xff"[..], &[0; 8]].concat()).expect("written");
        assert_eq!(read_alone(&path, LOOK).expect("read").state(), State::Whole);
    }

    #[test]
    fn commands_may_follow_an_rdb_part() {
        let rdb = [&b"REDIS0011\xff"[..], &[0; 8]].concat();
        let alone = finding(&rdb);
        assert!(alone.is_rdb() && alone.state() == State::Whole);
        let both = finding(&[&rdb[..], SET].concat());
        assert!(!both.is_rdb() && both.facts.units == 1);
        let torn = finding(&[&rdb[..], &SET[..5]].concat());
        assert!(matches!(torn.state(), State::Torn(_)));
    }
}
