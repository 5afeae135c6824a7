//! Function libraries: what a server has, how they are handed over, and how two servers differ.
//!
//! They go one by one, by FUNCTION LOAD REPLACE, which other makers and versions read too: a
//! library of the same name is replaced, others stay.

use crate::error::Error;
use crate::resp::Reply;
use crate::server::Link;
use crate::tally::Tally;
use std::sync::atomic::Ordering::Relaxed;

/// A library of functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// Its name.
    pub name: Vec<u8>,
    /// Its source, which begins with a line that names it.
    pub source: Vec<u8>,
}

impl Library {
    /// The library with a source.
    pub fn of_source(source: &[u8]) -> Library {
        let line = source.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let name = line.split(u8::is_ascii_whitespace).find_map(|word| word.strip_prefix(b"name="));
        Library { name: name.unwrap_or(line).to_vec(), source: source.to_vec() }
    }

    /// The library that a command loads, if it does that.
    pub fn of_command(words: &[&[u8]]) -> Option<Library> {
        let [name, action, .., source] = words else { return None };
        let is_one = name.eq_ignore_ascii_case(b"FUNCTION") && action.eq_ignore_ascii_case(b"LOAD");
        is_one.then(|| Library::of_source(source))
    }

    /// Hands it over. What the server refuses is counted.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn load(&self, link: &mut Link, tally: &Tally) -> Result<(), Error> {
        let reply = link.ask(&[&b"FUNCTION"[..], b"LOAD", b"REPLACE", &self.source])?;
        match reply.error() {
            Some(error) => tally.fail_library(&self.name, &error),
            None => drop(tally.libraries.fetch_add(1, Relaxed)),
        }
        Ok(())
    }
}

/// All libraries of a server; none if it does not know such things.
///
/// # Errors
/// When the connection breaks or the server refuses.
pub fn of_server(link: &mut Link) -> Result<Vec<Library>, Error> {
    let reply = link.ask(&["FUNCTION", "LIST", "WITHCODE"])?;
    if reply.error().is_some_and(|error| error.starts_with("ERR unknown")) {
        return Ok(Vec::new());
    }
    let libraries = reply.array().and_then(|rows| rows.iter().map(library).collect());
    libraries.ok_or_else(|| link.refused("FUNCTION LIST WITHCODE", &reply))
}

fn library(row: &Reply) -> Option<Library> {
    let fields = row.array()?;
    let field = |name: &[u8]| {
        let mut pairs = fields.chunks_exact(2);
        pairs.find(|pair| pair[0].bytes() == Some(name))?[1].bytes().map(<[u8]>::to_vec)
    };
    Some(Library { name: field(b"library_name")?, source: field(b"library_code")? })
}

/// Names of libraries that another list has with other code, lacks, and has alone.
pub fn differences<'l>(
    first: &'l [Library],
    second: &'l [Library],
) -> Vec<(&'l [u8], &'static str, bool)> {
    let same = |name: &[u8], list: &'l [Library]| list.iter().find(|it| it.name == name);
    let mut found = Vec::new();
    for library in first {
        match same(&library.name, second) {
            None => found.push((&library.name[..], "only in the first", true)),
            Some(other) if other.source != library.source => {
                found.push((&library.name[..], "another code", true));
            }
            Some(_) => {}
        }
    }
    let alone = second.iter().filter(|it| same(&it.name, first).is_none());
    found.extend(alone.map(|it| (&it.name[..], "only in the second", false)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_has_the_name_of_its_first_line() {
        let name = |source: &[u8]| Library::of_source(source).name;
        assert_eq!(name(b"#!lua name=l x=y\nreturn 1"), b"l");
        assert_eq!(name(b"#!lua\nname=l"), b"#!lua");
        let words: [&[u8]; 4] = [b"function", b"load", b"REPLACE", b"#!lua name=l\n"];
        assert_eq!(Library::of_command(&words).expect("one").name, b"l");
        assert_eq!(Library::of_command(&[b"FUNCTION", b"FLUSH"]), None);
    }

    #[test]
    fn libraries_differ_by_their_code_and_by_being_alone() {
        let of = |names: &[&str]| -> Vec<Library> {
            names.iter().map(|it| Library::of_source(it.as_bytes())).collect()
        };
        let (first, second) =
            (of(&["name=a\n1", "name=b", "name=c"]), of(&["name=a\n2", "name=d", "name=c"]));
        let found = differences(&first, &second);
        let expected: [(&[u8], &str, bool); 3] = [
            (b"a", "another code", true),
            (b"b", "only in the first", true),
            (b"d", "only in the second", false),
        ];
        assert_eq!(found, expected);
    }
}
