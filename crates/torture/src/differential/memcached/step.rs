//! Lines of Memcached's protocol, with what each server fills into them.

use super::base64;
use std::collections::HashMap;

/// Last CAS number that a server has told of each key.
pub type Told = HashMap<Vec<u8>, u64>;

/// Word of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// The same for both servers.
    Text(Vec<u8>),
    /// Length of the block, and by how much the line lies.
    Length(i64),
    /// The CAS number that the server told last of the line's key, or one that is lower by so much,
    /// behind a letter.
    Cas(&'static str, u64),
    /// Unix time in so many seconds, behind a letter.
    Time(&'static str, i64),
}

/// Data block, and what ends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Data.
    pub bytes: Vec<u8>,
    /// Bytes behind them.
    pub end: &'static [u8],
}

/// Line of a client, with its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Key that it names, decoded; of several, the first.
    pub key: Vec<u8>,
    /// Words; an empty one gives a further blank.
    pub words: Vec<Word>,
    /// Bytes that end the line; none for one that never ends, which servers close.
    pub end: &'static [u8],
    /// Block behind it.
    pub block: Option<Block>,
}

impl Word {
    /// Creates a word from text.
    pub fn text(text: impl AsRef<[u8]>) -> Word {
        Word::Text(text.as_ref().to_vec())
    }

    /// Returns the bytes of a word that is the same for both.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Word::Text(bytes) => bytes,
            _ => b"",
        }
    }
}

impl Step {
    /// Creates a line without a block.
    pub fn line(key: &[u8], words: Vec<Word>) -> Step {
        Step { key: key.to_vec(), words, end: b"\r\n", block: None }
    }

    /// Creates a line from its words.
    pub fn of(key: &[u8], words: &[&[u8]]) -> Step {
        Step::line(key, words.iter().map(Word::text).collect())
    }

    /// Creates a meta command with these flags, and the key in base64 if it needs that.
    pub fn meta(name: &[u8], key: &[u8], flags: &[&[u8]]) -> Step {
        if base64::is_needed(key) {
            Step::of(key, &[&[name, &base64::encode(key), b"b"], flags].concat())
        } else {
            Step::of(key, &[&[name, key], flags].concat())
        }
    }

    /// Returns the key that its words name, decoded.
    pub fn named(&self) -> Option<Vec<u8>> {
        let words: Vec<_> =
            self.words.iter().filter(|word| **word != Word::Text(Vec::new())).collect();
        let at = if matches!(words.first()?.bytes(), b"gat" | b"gats") { 2 } else { 1 };
        let given = words.get(at)?.bytes();
        let is_meta = matches!(words[0].bytes(), b"mg" | b"ms" | b"md" | b"ma");
        let decoded = base64::decode(given).filter(|_| is_meta && self.has_flag("b"));
        Some(decoded.unwrap_or_else(|| given.to_vec()))
    }

    /// Returns the command.
    pub fn name(&self) -> String {
        let first = self.words.first().map(Word::bytes).unwrap_or_default();
        String::from_utf8_lossy(first).into_owned()
    }

    /// Returns true for a line of keys, one of which is too long.
    pub fn has_long_key(&self) -> bool {
        let name = self.words.first().map(Word::bytes);
        matches!(name, Some(b"get" | b"gets" | b"gat" | b"gats"))
            && self.words.iter().any(|word| word.bytes().len() > KEY_MAX)
    }

    /// Returns the first flag of a letter, without that.
    pub fn flag(&self, letter: u8) -> Option<&[u8]> {
        let mut flags = self.words.iter().skip(2).filter_map(|word| word.bytes().split_first());
        flags.find(|(first, _)| **first == letter).map(|(_, rest)| rest)
    }

    /// Returns true if there is a flag of a letter.
    pub fn has_flag(&self, letter: &str) -> bool {
        self.words.iter().skip(2).any(|word| match word {
            Word::Text(bytes) => bytes.starts_with(letter.as_bytes()),
            Word::Time(own, _) | Word::Cas(own, _) => *own == letter,
            Word::Length(_) => false,
        })
    }

    /// Returns true if Memcached may drop answers to lines before it, as it refuses it or closes.
    pub fn is_sent_first(&self) -> bool {
        let closes = |word: &Word| word.bytes().starts_with(b"HTTP/") || word.bytes() == b"quit";
        self.has_long_key() || self.words.iter().any(closes)
    }

    /// Returns true if all items go at once.
    pub fn flushes(&self) -> bool {
        let words: Vec<_> =
            self.words.iter().map(Word::bytes).filter(|word| !word.is_empty()).collect();
        let words = words.strip_suffix(&[&b"noreply"[..]]).unwrap_or(&words);
        matches!(words, [b"flush_all"] | [b"flush_all", b"0" | b"-1", ..])
    }

    /// Returns true if it may change an item's number.
    pub fn reckons(&self) -> bool {
        matches!(self.words.first().map(Word::bytes), Some(b"incr" | b"decr" | b"ma"))
    }

    /// Returns true if it may make an item without a block, empty it or extend it.
    pub fn empties(&self) -> bool {
        match self.words.first().map(Word::bytes) {
            Some(b"md") => self.has_flag("x"),
            Some(b"mg" | b"ma") => self.has_flag("N"),
            Some(b"ms") => self.extends(),
            _ => false,
        }
    }

    /// Returns true if nothing is left of an item over which it is stored.
    pub fn replaces(&self) -> bool {
        match self.words.first().map(Word::bytes) {
            Some(b"set" | b"add" | b"replace" | b"cas") => true,
            Some(b"ms") => !self.extends(),
            _ => false,
        }
    }

    fn extends(&self) -> bool {
        self.has_flag("MA") || self.has_flag("MP")
    }

    /// Encodes it for a server that has told these CAS numbers.
    pub fn encoded(&self, told: &Told, now: i64) -> Vec<u8> {
        let number = |below: u64| told.get(&self.key).map_or(1, |it| it.wrapping_sub(below));
        self.filled(|below| number(below).to_string(), now)
    }

    fn filled(&self, cas: impl Fn(u64) -> String, now: i64) -> Vec<u8> {
        let len = self.block.as_ref().map_or(0, |block| block.bytes.len() as i64);
        let word = |word: &Word| match word {
            Word::Text(bytes) => bytes.clone(),
            Word::Length(by) => (len + by).to_string().into_bytes(),
            Word::Cas(letter, below) => format!("{letter}{}", cas(*below)).into_bytes(),
            Word::Time(letter, later) => format!("{letter}{}", now + later).into_bytes(),
        };
        let mut out = self.words.iter().map(word).collect::<Vec<_>>().join(&b' ');
        out.extend_from_slice(self.end);
        if let Some(Block { bytes, end }) = &self.block {
            out.extend_from_slice(bytes);
            out.extend_from_slice(end);
            out.extend(self.bytes_to_swallow());
        }
        out
    }

    /// Returns bytes that are taken for the rest of a block which is shorter than announced.
    fn bytes_to_swallow(&self) -> Vec<u8> {
        let lies = self.words.iter().find_map(|word| match word {
            Word::Length(by) => usize::try_from(*by).ok(),
            _ => None,
        });
        match lies {
            None | Some(0) => Vec::new(),
            Some(by) => [&vec![b'x'; by][..], b"\r\n"].concat(),
        }
    }

    /// Formats it as a case of `tests/memcached`.
    pub fn case(&self) -> String {
        let cas = |below| match below {
            0 => "{CAS}".to_owned(),
            below => format!("{{CAS-{below}}}"),
        };
        let asks = self.words.iter().any(|word| matches!(word, Word::Cas(..)));
        let bytes = self.filled(cas, 0);
        let bytes = bytes.strip_suffix(b"\r\n").unwrap_or(&bytes);
        let lines = split_lines(bytes).into_iter().map(|line| format!("> {}\n", shown(line)));
        // What stands in a case is sent at once.
        if asks { "\n" } else { "" }.to_owned() + &lines.collect::<String>()
    }
}

fn split_lines(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    while let Some(at) = bytes.windows(2).position(|pair| pair == b"\r\n") {
        lines.push(&bytes[..at]);
        bytes = &bytes[at + 2..];
    }
    lines.push(bytes);
    lines
}

/// Formats a line with escapes where needed; long runs of one byte as `{x*200}`.
pub fn shown(line: &[u8]) -> String {
    let mut out = String::new();
    for run in line.chunk_by(|one, other| one == other) {
        let byte = match run[0] {
            byte @ (b' '..=b'~') if byte != b'\\' => char::from(byte).to_string(),
            byte => format!("\\x{byte:02x}"),
        };
        if run.len() >= RUN_MIN && byte.len() == 1 {
            out += &format!("{{{byte}*{}}}", run.len());
        } else {
            out += &byte.repeat(run.len());
        }
    }
    out
}

/// Most bytes of a key.
pub const KEY_MAX: usize = 250;
const RUN_MIN: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_lines_flush() {
        let flushes = |line: &str| {
            let words: Vec<_> = line.split(' ').map(str::as_bytes).collect();
            Step::of(b"", &words).flushes()
        };
        for line in ["flush_all", " flush_all noreply", "flush_all 0", "flush_all -1 x noreply"] {
            assert!(flushes(line), "{line:?}");
        }
        for line in ["flush_all noreply noreply", "flush_all x", "FLUSH_ALL", "get flush_all"] {
            assert!(!flushes(line), "{line:?}");
        }
    }

    #[test]
    fn each_server_gets_the_numbers_that_it_told() {
        let words = ["cas", "k", "0", "0"].map(Word::text);
        let words = words.into_iter().chain([Word::Length(1), Word::Cas("", 1)]).collect();
        let block = Some(Block { bytes: b"ab".to_vec(), end: b"\r\n" });
        let step = Step { block, ..Step::line(b"k", words) };
        let told = Told::from([(b"k".to_vec(), 7)]);
        assert_eq!(step.encoded(&told, 0), b"cas k 0 0 3 6\r\nab\r\nx\r\n");
        assert_eq!(step.case(), "\n> cas k 0 0 3 {CAS-1}\n> ab\n> x\n");
    }
}
