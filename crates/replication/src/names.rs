//! Names of commands in a stream that passes by in pieces: for readers that do not know all of
//! them.
//!
//! ```text
//! *3 \r\n $3 \r\n SET \r\n $1 \r\n k \r\n $5 \r\n value \r\n *2 ...
//! Count   Size    Name     Size    Word   Size    Word       Count
//! ```
//! Nothing is kept but a name that has not come as a whole.

/// Longest name that is looked at.
const NAME_BYTES_MAX: usize = 32;

/// Commands about deadlines of fields, which Valkey knows since 9.0 and Redis since 7.4 or 8.0.
const OF_FIELD_DEADLINES: [&[u8]; 8] = [
    b"HPEXPIREAT",
    b"HPERSIST",
    b"HSETEX",
    b"HGETEX",
    b"HGETDEL",
    b"HPEXPIRE",
    b"HEXPIREAT",
    b"HEXPIRE",
];

/// True if only readers that know deadlines of fields know the command.
pub fn is_about_field_deadlines(name: &[u8]) -> bool {
    OF_FIELD_DEADLINES.iter().any(|it| it.eq_ignore_ascii_case(name))
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The number of words of a command: its digits so far.
    Count(u64),
    /// The length of a word: its digits so far.
    Size(u64),
    /// So many bytes of a name, and the end of its line.
    Name(u64),
    /// So many bytes of another word, the end of its line counted.
    Word(u64),
    /// Nobody knows: what has come is no stream of commands.
    Unknown,
}

/// A look at the names of a stream.
#[derive(Clone, Debug)]
pub struct Names {
    next: Next,
    /// Words of the command that are to come.
    words: u64,
    /// True if the next word is a name.
    is_first: bool,
    name: Vec<u8>,
}

impl Default for Names {
    fn default() -> Names {
        Names { next: Next::Count(0), words: 0, is_first: true, name: Vec::new() }
    }
}

impl Names {
    /// Passes over the next bytes. Returns the first name among theirs that is `wanted`; what
    /// stands behind it was not looked at then.
    pub fn find(&mut self, mut bytes: &[u8], wanted: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        while let Some((byte, rest)) = bytes.split_first() {
            match self.next {
                Next::Count(digits) => {
                    bytes = rest;
                    self.next = match byte {
                        b'*' | b'\r' => Next::Count(digits),
                        b'0'..=b'9' => digit(digits, *byte).map_or(Next::Unknown, Next::Count),
                        b'\n' if digits > 0 => {
                            (self.words, self.is_first) = (digits, true);
                            Next::Size(0)
                        }
                        _ => Next::Unknown,
                    };
                }
                Next::Size(digits) => {
                    bytes = rest;
                    self.next = match byte {
                        b'$' | b'\r' => Next::Size(digits),
                        b'0'..=b'9' => digit(digits, *byte).map_or(Next::Unknown, Next::Size),
                        b'\n' if std::mem::take(&mut self.is_first) => Next::Name(digits),
                        b'\n' => Next::Word(digits + 2),
                        _ => Next::Unknown,
                    };
                }
                Next::Name(left) => {
                    let (name, rest) = split(bytes, left);
                    let room = NAME_BYTES_MAX - self.name.len();
                    self.name.extend_from_slice(&name[..name.len().min(room)]);
                    let left = left - name.len() as u64;
                    self.next = Next::Name(left);
                    bytes = rest;
                    if left == 0 {
                        self.next = Next::Word(2);
                        let name = std::mem::take(&mut self.name);
                        if wanted(&name) {
                            return Some(name);
                        }
                    }
                }
                Next::Word(left) => {
                    let (word, rest) = split(bytes, left);
                    let left = left - word.len() as u64;
                    self.next = Next::Word(left);
                    bytes = rest;
                    if left == 0 {
                        self.words -= 1;
                        self.next = if self.words == 0 { Next::Count(0) } else { Next::Size(0) };
                    }
                }
                Next::Unknown => return None,
            }
        }
        None
    }
}

fn digit(number: u64, byte: u8) -> Option<u64> {
    // Two more are added to a length.
    let most = u64::from(u32::MAX);
    (number * 10).checked_add(u64::from(byte - b'0')).filter(|number| *number <= most)
}

/// The next `left` bytes, as far as they are there, and the rest.
fn split(bytes: &[u8], left: u64) -> (&[u8], &[u8]) {
    bytes.split_at(usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    fn encoded(words: &[&[u8]]) -> Vec<u8> {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            bytes.extend_from_slice(word);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes
    }

    fn all(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let (mut names, seen) = (Names::default(), std::cell::RefCell::new(Vec::new()));
        for piece in pieces {
            let note = |name: &[u8]| {
                seen.borrow_mut().push(name.to_vec());
                false
            };
            assert_eq!(names.find(piece, note), None);
        }
        seen.into_inner()
    }

    proptest! {
        /// Whatever arguments hold, and wherever a stream is cut, its names are found.
        #[test]
        fn names_are_found_wherever_the_stream_is_cut(
            commands in proptest::collection::vec(
                ("[a-zA-Z|]{0,40}", proptest::collection::vec(any::<Vec<u8>>(), 0..4)), 0..6),
            cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..6),
        ) {
            let mut stream = Vec::new();
            for (name, args) in &commands {
                let words = std::iter::once(name.as_bytes()).chain(args.iter().map(Vec::as_slice));
                stream.extend(encoded(&words.collect::<Vec<_>>()));
            }
            let mut cuts: Vec<usize> = cuts.iter().map(|it| it.index(stream.len() + 1)).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|it| &stream[it[0]..it[1]]).collect();
            let names = commands.iter().map(|(name, _)| name.as_bytes());
            let names: Vec<Vec<u8>> = names.map(|it| it[..it.len().min(32)].to_vec()).collect();
            prop_assert_eq!(all(&pieces), names);
        }

        #[test]
        fn what_is_no_stream_is_passed_over(bytes in any::<Vec<u8>>()) {
            all(&[&bytes, &bytes]);
        }
    }

    #[test]
    fn what_is_wanted_is_found_and_a_value_that_looks_like_it_is_not() {
        let wanted = |name: &[u8]| name.eq_ignore_ascii_case(b"HPERSIST");
        let inside = encoded(&[b"SET", b"HPERSIST", &encoded(&[b"HPERSIST", b"h"])]);
        let mut names = Names::default();
        assert_eq!(names.find(&inside, wanted), None);
        assert_eq!(names.find(&encoded(&[b"hpersist", b"h"]), wanted), Some(b"hpersist".to_vec()));
    }
}
