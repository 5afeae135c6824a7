//! Reading of flags, the same for all meta commands.

use crate::base64::{KEY_ROOM, decode};
use crate::{KEY_BYTES_MAX, Refusal, number};

/// Most words of a meta command, with its name and key.
pub const WORDS_MAX: usize = 20;
/// Most bytes of the text behind flag O.
pub const OPAQUE_BYTES_MAX: usize = 31;
/// Most flags that are echoed.
const ECHOES_MAX: usize = WORDS_MAX - 2;

/// Letters of flags that come back in the reply, in the order in which the client gave them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Echoes {
    letters: [u8; ECHOES_MAX],
    count: u8,
}

impl Echoes {
    /// Returns the letters.
    pub fn letters(&self) -> &[u8] {
        &self.letters[..usize::from(self.count)]
    }

    fn push(&mut self, letter: u8) {
        if let Some(place) = self.letters.get_mut(usize::from(self.count)) {
            *place = letter;
            self.count += 1;
        }
    }
}

/// What each meta command has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Common<'a> {
    /// b: the key is given in base64.
    pub is_base64: bool,
    /// q: the usual reply is left out: `HD` of ms, md and ma, `EN` of mg.
    pub is_quiet: bool,
    /// Flags to echo.
    pub echoes: Echoes,
    /// O: text to echo, without its letter.
    pub opaque: &'a [u8],
}

/// Returns true if each word begins like a flag.
#[inline]
pub(crate) fn have_first_letters<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> bool {
    words.all(|word| matches!(word.first(), Some(b'0'..=b'9' | b'A'..=b'z')))
}

/// Set of letters of flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Letters(u128);

impl Letters {
    const fn of(letters: &[u8]) -> Letters {
        let (mut set, mut at) = (0, 0);
        while at < letters.len() {
            set |= 1 << (letters[at] & ASCII_MAX);
            at += 1;
        }
        Letters(set)
    }

    fn contains(self, letter: u8) -> bool {
        letter <= ASCII_MAX && self.0 >> letter & 1 == 1
    }
}

/// Flags of a line.
#[derive(Clone, Copy, Default)]
pub(super) struct Flags<'a> {
    letters: Letters,
    echoes: Echoes,
    opaque: &'a [u8],
    pub(super) compare: Option<u64>,
    new_cas: Option<u64>,
    pub(super) delta: Option<u64>,
    pub(super) initial: Option<u64>,
    pub(super) item_flags: Option<u32>,
    pub(super) expiry: Option<i32>,
    pub(super) vivify: Option<i32>,
    pub(super) recache: Option<i32>,
    /// What is behind the letter of the mode.
    pub(super) mode: Option<&'a [u8]>,
}

impl<'a> Flags<'a> {
    /// Returns true if the line has a flag.
    pub(super) fn has(&self, letter: u8) -> bool {
        self.letters.contains(letter)
    }

    /// Returns what each command has.
    pub(super) fn common(&self) -> Common<'a> {
        Common {
            is_base64: self.has(b'b'),
            is_quiet: self.has(b'q'),
            echoes: self.echoes,
            opaque: self.opaque,
        }
    }

    /// Returns the CAS value for the item; 0 is that of none, and gives it none.
    pub(super) fn new_cas(&self) -> Option<u64> {
        self.new_cas.filter(|cas| *cas != 0)
    }

    /// Refuses a text of O that is too long.
    pub(super) fn check_opaque(&self) -> Result<(), Refusal> {
        if self.opaque.len() > OPAQUE_BYTES_MAX { Err(Refusal::OpaqueTooLong) } else { Ok(()) }
    }

    /// Takes the value of a flag.
    fn take(&mut self, letter: u8, value: &'a [u8], key: &[u8]) -> Result<(), Refusal> {
        let number = |it: Option<u64>| it.ok_or(Refusal::FlagNumber).map(Some);
        let expiry = || number::signed32(value).ok_or(Refusal::FlagNumber).map(Some);
        match letter {
            b'b' => {
                let mut room = KEY_ROOM;
                decode(key, &mut room).ok_or(Refusal::KeyEncoding)?;
            }
            b'C' => self.compare = number(number::unsigned64(value))?,
            b'E' => self.new_cas = number(number::unsigned64(value))?,
            b'D' => self.delta = Some(number::unsigned64(value).ok_or(Refusal::FlagDelta)?),
            b'J' => self.initial = Some(number::unsigned64(value).ok_or(Refusal::FlagInitial)?),
            b'F' => self.item_flags = Some(number::unsigned32(value).ok_or(Refusal::Format)?),
            b'T' => self.expiry = expiry()?,
            b'N' => self.vivify = expiry()?,
            b'R' => self.recache = expiry()?,
            b'M' => self.mode = Some(value),
            b'O' => self.opaque = value,
            _ => {}
        }
        Ok(())
    }
}

/// Reader of the flags of a command.
pub(super) struct Reader {
    echoed: Letters,
    /// Words before the flags.
    words_before: usize,
    /// True if the command has no mode, so that the length of O comes next.
    is_without_mode: bool,
}

impl Reader {
    pub(super) const GET: Reader =
        Reader { echoed: Letters::of(b"cfhklOst"), words_before: 2, is_without_mode: true };
    pub(super) const SET: Reader =
        Reader { echoed: Letters::of(b"ckOs"), words_before: 3, is_without_mode: false };
    pub(super) const DELETE: Reader =
        Reader { echoed: Letters::of(b"kO"), words_before: 2, is_without_mode: true };
    pub(super) const ARITHMETIC: Reader =
        Reader { echoed: Letters::of(b"ckOt"), words_before: 2, is_without_mode: false };

    /// Reads the flags of a command for `key`.
    #[inline]
    pub(super) fn read<'a>(
        self,
        key: &[u8],
        words: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<Flags<'a>, Refusal> {
        if key.len() > KEY_BYTES_MAX {
            return Err(Refusal::Format);
        }
        if words.clone().nth(WORDS_MAX - self.words_before).is_some() {
            return Err(Refusal::TooManyFlags);
        }
        let mut flags = Flags::default();
        for word in words.clone() {
            let letter = word.first().copied().unwrap_or(0);
            if !KNOWN.contains(letter) {
                return Err(Refusal::InvalidFlag);
            }
            if flags.has(letter) {
                return Err(Refusal::DuplicateFlag);
            }
            flags.letters.0 |= 1 << letter;
            if self.echoed.contains(letter) {
                flags.echoes.push(letter);
            }
        }
        if flags.letters.0 & WITH_VALUE.0 != 0 {
            take_values(&mut flags, key, words)?;
        }
        if self.is_without_mode {
            flags.check_opaque()?;
        }
        Ok(flags)
    }
}

/// Takes the values of all flags. The last wrong one names the refusal; F does where it is alone.
fn take_values<'a>(
    flags: &mut Flags<'a>,
    key: &[u8],
    words: impl Iterator<Item = &'a [u8]>,
) -> Result<(), Refusal> {
    let mut refusal = None;
    for word in words {
        let Some((letter, value)) = word.split_first() else { continue };
        match flags.take(*letter, value, key) {
            Err(Refusal::Format) => refusal = refusal.or(Some(Refusal::Format)),
            Err(other) => refusal = Some(other),
            Ok(()) => {}
        }
    }
    refusal.map_or(Ok(()), Err)
}

const ASCII_MAX: u8 = 127;
/// Letters that are a flag of some meta command.
const KNOWN: Letters = Letters::of(b"bcfhklqstuvxCDEFIJLMNOPRT");
/// Letters whose words are looked into.
const WITH_VALUE: Letters = Letters::of(b"bCDEFJMNORT");
const _: () = assert!(ECHOES_MAX < u8::MAX as usize);
