//! One script: its source, and what its first line says of it.

use script::FunctionFlags;
use script::proof::CallSite;
use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// SHA-1 of a source, as 40 hexadecimal digits in lower case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest([u8; 40]);

impl Hash for Digest {
    /// Some of its digits are enough: nobody can choose sources that have so many in common.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (first, rest) = self.0.split_first_chunk().unwrap_or((&[0; 8], &[]));
        let (second, _) = rest.split_first_chunk().unwrap_or((&[0; 8], &[]));
        let (first, second) = (u64::from_le_bytes(*first), u64::from_le_bytes(*second));
        state.write_u64(first ^ second.rotate_left(4));
    }
}

/// What has the digest of a script, and is found by it.
#[derive(Debug)]
pub(super) struct OfDigest<T>(pub T);

/// What is found by the digests of scripts, which are kept with the scripts alone.
pub(super) type OfDigests<T> = HashSet<OfDigest<T>, BuildHasherDefault<DigestHasher>>;

impl<T: AsRef<Script>> Borrow<Digest> for OfDigest<T> {
    fn borrow(&self) -> &Digest {
        &self.0.as_ref().digest
    }
}

impl<T: AsRef<Script>> Hash for OfDigest<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ref().digest.hash(state);
    }
}

impl<T: AsRef<Script>> PartialEq for OfDigest<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_ref().digest == other.0.as_ref().digest
    }
}

impl<T: AsRef<Script>> Eq for OfDigest<T> {}

/// Hasher of digests, whose digits are as good as random.
#[derive(Clone, Copy, Debug, Default)]
pub struct DigestHasher(u64);

impl Hasher for DigestHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(self.0 ^ u64::from(*byte)));
    }

    fn write_u64(&mut self, digits: u64) {
        self.0 = digits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

impl Digest {
    /// The digest of a source.
    pub fn of(source: &[u8]) -> Digest {
        Digest(script::sha1_hex(source))
    }

    /// Reads a digest in either case; `None` if it has not the length of one.
    pub fn parse(text: &[u8]) -> Option<Digest> {
        let mut digits: [u8; 40] = text.try_into().ok()?;
        digits.make_ascii_lowercase();
        Some(Digest(digits))
    }

    /// Its digits.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

/// A script that can be run, until it is forgotten.
#[derive(Debug)]
pub struct Script {
    /// Digest of its source.
    pub digest: Digest,
    /// What its first line says of it; `None` for one without such a line.
    pub flags: Option<FunctionFlags>,
    source: Box<[u8]>,
    /// True if the name of a command that closes the gate stands in it.
    has_gate_word: bool,
    /// What it may reach, once that was found out.
    reach: OnceLock<Reach>,
    is_forgotten: AtomicBool,
    /// True if SCRIPT LOAD has given it, so that it stays until SCRIPT FLUSH.
    is_loaded: AtomicBool,
    /// Reading of the stopwatch when it was used last.
    used: AtomicU64,
}

/// What a script may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Any key.
    Anything,
    /// The keys that it declares, if the commands that its arguments name here keep to them.
    ItsKeys(Box<[CallSite]>),
}

/// What is wrong with the first line of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShebangError {
    /// It has no end.
    Endless,
    /// A quote is left open.
    Quotes,
    /// It names another engine.
    Engine(Vec<u8>),
    /// It has an option that is not known.
    Option(Vec<u8>),
    /// It has a flag that is not known.
    Flag(Vec<u8>),
}

impl Script {
    /// Reads what the first line of a source says. `has_gate_word` tells whether the name of a
    /// command that closes the gate stands in it.
    ///
    /// # Errors
    /// When it begins as such a line does, and is none.
    pub fn of(digest: Digest, source: &[u8], has_gate_word: bool) -> Result<Script, ShebangError> {
        let (flags, _) = declared(source)?;
        Ok(Script {
            digest,
            flags,
            source: source.into(),
            has_gate_word,
            reach: OnceLock::new(),
            is_forgotten: AtomicBool::new(false),
            is_loaded: AtomicBool::new(false),
            used: AtomicU64::new(0),
        })
    }

    /// The whole source.
    pub fn source(&self) -> &[u8] {
        &self.source
    }

    /// What is compiled of it: all behind the first line, if that says something, with its line
    /// end left, so that lines are counted from the begin of the source.
    pub fn body(&self) -> &[u8] {
        let end = self.flags.and_then(|_| self.source.iter().position(|byte| *byte == b'\n'));
        &self.source[end.unwrap_or(0)..]
    }

    /// Returns true if the name of a command that closes the gate stands in the source.
    #[inline]
    pub fn has_gate_word(&self) -> bool {
        self.has_gate_word
    }

    /// Returns what it may reach, by `find`, which is asked once.
    #[inline]
    pub fn reach(&self, find: impl FnOnce() -> Reach) -> &Reach {
        self.reach.get_or_init(find)
    }

    /// Returns what it may reach, if that was found out.
    #[inline]
    pub fn known_reach(&self) -> Option<&Reach> {
        self.reach.get()
    }

    /// Returns true if the cache has it no more: it is not run again.
    #[inline]
    pub fn is_forgotten(&self) -> bool {
        self.is_forgotten.load(Relaxed)
    }

    /// Returns true if SCRIPT LOAD has given it.
    #[inline]
    pub fn is_loaded(&self) -> bool {
        self.is_loaded.load(Relaxed)
    }

    /// Notes that it is used at a reading of the stopwatch.
    #[inline]
    pub fn note_use(&self, reading: u64) {
        if !self.is_loaded() {
            self.used.store(reading, Relaxed);
        }
    }

    pub(super) fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    pub(super) fn keep(&self) {
        self.is_loaded.store(true, Relaxed);
    }

    pub(super) fn forget(&self) {
        self.is_forgotten.store(true, Relaxed);
    }

    /// Bytes of memory that it takes, approximately.
    pub fn bytes(&self) -> usize {
        size_of::<Script>() + self.source.len()
    }
}

/// Returns what the first line of a source says, and where that line ends.
///
/// # Errors
/// When it begins as such a line does, and is none.
pub fn declared(source: &[u8]) -> Result<(Option<FunctionFlags>, usize), ShebangError> {
    let Some(rest) = source.strip_prefix(b"#!") else { return Ok((None, 0)) };
    let length = rest.iter().position(|byte| *byte == b'\n').ok_or(ShebangError::Endless)?;
    let words = text::split_args(&rest[..length]).ok_or(ShebangError::Quotes)?;
    // Behind a blank there is no engine.
    let has_engine = rest.first().is_some_and(|byte| !byte.is_ascii_whitespace());
    let (engine, options) = match words.split_first() {
        Some((engine, options)) if has_engine => (&engine[..], options),
        _ => (&[][..], &words[..]),
    };
    let mut flags = FunctionFlags::default();
    for word in options {
        let Some(names) = word.strip_prefix(b"flags=") else {
            return Err(ShebangError::Option(word.clone()));
        };
        for name in names.split(|byte| *byte == b',').filter(|_| !names.is_empty()) {
            if !flags.set(name) {
                return Err(ShebangError::Flag(name.to_vec()));
            }
        }
    }
    if !engine.eq_ignore_ascii_case(b"lua") {
        return Err(ShebangError::Engine(engine.to_vec()));
    }
    Ok((Some(flags), 2 + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(source: &str) -> Result<Script, ShebangError> {
        Script::of(Digest::of(source.as_bytes()), source.as_bytes(), false)
    }

    #[test]
    fn the_first_line_says_what_a_script_may_do_and_is_not_compiled() {
        let plain = script("return 1").expect("a script");
        assert_eq!((plain.flags, plain.body()), (None, &b"return 1"[..]));
        let declared = script("#!LUA flags=no-writes,allow-stale\nreturn 1").expect("a script");
        let flags = declared.flags.expect("flags");
        assert!(flags.no_writes && flags.allow_stale && !flags.allow_oom);
        assert_eq!(declared.body(), b"\nreturn 1");
    }

    #[test]
    fn a_first_line_that_is_none_is_refused() {
        assert_eq!(script("#!lua").unwrap_err(), ShebangError::Endless);
        assert_eq!(script("#!js\n").unwrap_err(), ShebangError::Engine(b"js".to_vec()));
        assert_eq!(script("#! lua\n").unwrap_err(), ShebangError::Option(b"lua".to_vec()));
        assert_eq!(script("#!lua 'a\n").unwrap_err(), ShebangError::Quotes);
        assert_eq!(script("#!lua a=b\n").unwrap_err(), ShebangError::Option(b"a=b".to_vec()));
        assert_eq!(script("#!lua flags=x\n").unwrap_err(), ShebangError::Flag(b"x".to_vec()));
    }

    #[test]
    fn a_digest_is_read_in_either_case() {
        let digest = Digest::of(b"return 1");
        assert_eq!(digest.as_bytes(), b"e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
        let upper = digest.as_bytes().to_ascii_uppercase();
        assert_eq!(Digest::parse(&upper), Some(digest));
        assert_eq!(Digest::parse(&upper[1..]), None);
    }
}
