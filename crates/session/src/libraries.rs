//! Function libraries of files that were loaded. They are kept as they came, shown and saved with
//! the data, and nothing runs them.

use crate::refusal::Refusal;
use rdb::Checks;

/// Sources of function libraries.
#[derive(Clone, Debug, Default)]
pub struct Libraries(Vec<Vec<u8>>);

/// What the first line of a library tells of it: `#!engine name=NAME`.
pub struct Library<'l> {
    /// Name of the engine that runs it.
    pub engine: Vec<u8>,
    /// Its name.
    pub name: &'l [u8],
    /// Its source.
    pub code: &'l [u8],
}

/// What a command of a file has made of the libraries.
#[derive(Debug)]
pub enum Kept {
    /// They are others, or were given anew.
    Changed,
    /// They are not touched by it.
    Same,
    /// It fails, here as in any server, so they are what they were.
    Refused(Refusal),
    /// There is no such command.
    Unknown,
}

impl<'l> Library<'l> {
    fn of(code: &'l [u8]) -> Option<Library<'l>> {
        let line = code.split(|byte| *byte == b'\n').next()?.strip_prefix(b"#!")?;
        let mut words = line.split(u8::is_ascii_whitespace);
        let engine = words.next()?.to_ascii_uppercase();
        let name = words.find_map(|word| word.strip_prefix(b"name="))?;
        Some(Library { engine, name, code })
    }
}

impl Libraries {
    /// The sources.
    pub fn sources(&self) -> &[Vec<u8>] {
        &self.0
    }

    /// The libraries whose first lines tell what they are.
    pub fn iter(&self) -> impl Iterator<Item = Library<'_>> {
        self.0.iter().filter_map(|code| Library::of(code))
    }

    /// Removes all of them.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a library of an RDB file.
    pub fn add(&mut self, code: Vec<u8>) {
        self.0.push(code);
    }

    /// Executes a FUNCTION of a command file, given by the words behind that name.
    pub fn follow(&mut self, words: &[&[u8]]) -> Kept {
        let upper: Vec<_> = words.iter().take(3).map(|word| word.to_ascii_uppercase()).collect();
        let upper: Vec<&[u8]> = upper.iter().map(Vec::as_slice).collect();
        let done = match (words, &upper[..]) {
            ([_, code], [b"LOAD", _]) => self.load(code, false),
            ([_, _, code], [b"LOAD", b"REPLACE", _]) => self.load(code, true),
            ([_, name], [b"DELETE", _]) => self.delete(name),
            ([_] | [_, _], [b"FLUSH"] | [b"FLUSH", b"ASYNC" | b"SYNC"]) => {
                self.clear();
                Ok(())
            }
            ([_, payload, _], [b"RESTORE", _, b"REPLACE"]) => {
                self.restore(payload, self.clone(), true)
            }
            ([_, payload, policy @ ..], [b"RESTORE", ..]) if policy.len() < 2 => {
                let is_flush = upper.ends_with(&[b"FLUSH"]);
                let before = if is_flush { Libraries::default() } else { self.clone() };
                self.restore(payload, before, false)
            }
            (_, [b"DUMP" | b"HELP" | b"KILL" | b"LIST" | b"STATS", ..]) => return Kept::Same,
            (_, [b"LOAD" | b"DELETE" | b"FLUSH" | b"RESTORE", ..]) => Err(Refusal::SYNTAX),
            _ => return Kept::Unknown,
        };
        done.map_or_else(Kept::Refused, |()| Kept::Changed)
    }

    fn load(&mut self, code: &[u8], replaces: bool) -> Result<(), Refusal> {
        let library = Library::of(code).ok_or(Refusal::of("ERR Missing library metadata"))?;
        match self.position(library.name) {
            Some(_) if !replaces => {
                return Err(Refusal::naming("ERR Library '{}' already exists", &[library.name]));
            }
            Some(at) => self.0[at] = code.to_vec(),
            None => self.add(code.to_vec()),
        }
        Ok(())
    }

    fn delete(&mut self, name: &[u8]) -> Result<(), Refusal> {
        let at = self.position(name).ok_or(Refusal::of("ERR Library not found"))?;
        self.0.remove(at);
        Ok(())
    }

    /// Adds the libraries of a payload to those of `before`, all or none.
    fn restore(
        &mut self,
        payload: &[u8],
        mut before: Libraries,
        replaces: bool,
    ) -> Result<(), Refusal> {
        let broken = |_| Refusal::of("ERR DUMP payload version or checksum are wrong");
        let codes = rdb::open_libraries(payload, Checks::ALL).map_err(broken)?;
        codes.iter().try_for_each(|code| before.load(code, replaces))?;
        *self = before;
        Ok(())
    }

    fn position(&self, name: &[u8]) -> Option<usize> {
        let is_named = |code: &Vec<u8>| Library::of(code).is_some_and(|it| it.name == name);
        self.0.iter().position(is_named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(libraries: &Libraries) -> Vec<String> {
        libraries.iter().map(|it| String::from_utf8_lossy(it.name).into_owned()).collect()
    }

    fn follow(libraries: &mut Libraries, words: &[&str]) -> bool {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        matches!(libraries.follow(&words), Kept::Changed)
    }

    const ONE: &str = "#!lua name=one\nlocal x";
    const TWO: &str = "#!lua name=two\nlocal y";

    #[test]
    fn libraries_of_a_command_file_come_and_go_by_their_names() {
        let mut libraries = Libraries::default();
        assert!(follow(&mut libraries, &["LOAD", ONE]));
        assert!(!follow(&mut libraries, &["load", ONE]), "it is there");
        assert!(follow(&mut libraries, &["load", "replace", ONE]));
        assert!(follow(&mut libraries, &["LOAD", TWO]));
        assert_eq!(names(&libraries), ["one", "two"]);
        assert!(!follow(&mut libraries, &["DELETE", "three"]));
        assert!(follow(&mut libraries, &["DELETE", "one"]));
        assert_eq!(libraries.sources(), [TWO.as_bytes()]);
        assert!(follow(&mut libraries, &["FLUSH", "async"]));
        assert!(names(&libraries).is_empty());
        assert!(!follow(&mut libraries, &["LOAD", "no first line"]));
        assert!(!follow(&mut libraries, &["LIST"]));
        assert!(!follow(&mut libraries, &["FLUSH", "soon"]));
    }

    #[test]
    fn libraries_are_restored_from_what_function_dump_gives() {
        let mut payload = rdb::Output::new(false);
        payload.function(ONE.as_bytes());
        payload.function(TWO.as_bytes());
        let payload = rdb::seal_payload(payload.take(), rdb::Version::COMMON);
        let mut libraries = Libraries::default();
        let follow = |libraries: &mut Libraries, words: &[&[u8]]| {
            matches!(libraries.follow(words), Kept::Changed)
        };
        assert!(follow(&mut libraries, &[b"RESTORE", &payload]));
        assert_eq!(names(&libraries), ["one", "two"]);
        assert!(!follow(&mut libraries, &[b"RESTORE", &payload]), "they are there");
        for policy in [&b"REPLACE"[..], b"flush"] {
            assert!(follow(&mut libraries, &[b"RESTORE", &payload, policy]));
            assert_eq!(names(&libraries), ["one", "two"]);
        }
        let mut damaged = payload.clone();
        damaged[5] ^= 1;
        for refused in [&damaged[..], b""] {
            for policy in [&b"REPLACE"[..], b"FLUSH"] {
                let kept = libraries.follow(&[b"RESTORE", refused, policy]);
                assert!(matches!(kept, Kept::Refused(_)));
                assert_eq!(names(&libraries), ["one", "two"], "they are what they were");
            }
        }
        assert!(matches!(libraries.follow(&[b"LIST"]), Kept::Same));
        assert!(matches!(libraries.follow(&[b"NONE"]), Kept::Unknown));
    }
}
