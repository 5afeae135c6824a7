//! Collections of all kinds that hold numbers without a gap: they grow at one end and shrink at the
//! other, so a reader notices an element that is lost, doubled or torn.

use base::Millis;
use std::ops::Range;
use store::value::hash::{self, Deadline, HashLimit, HashMut};
use store::value::list::{self, End, ListLimit};
use store::value::set::{self, SetLimit};
use store::value::sorted_set::{self, SortedSetLimit, Terms};
use store::value::stream::{self, Add, Bound, Id, NewId, NodeLimit, Trim};
use store::{Access, Fault, Key, Kind};

/// The kinds of collections.
pub const KINDS: [Kind; 5] = [Kind::List, Kind::Set, Kind::SortedSet, Kind::Hash, Kind::Stream];

const SET_LIMIT: SetLimit = SetLimit { integers: 64, members: 32, member_bytes: 64 };
const HASH_LIMIT: HashLimit = HashLimit { fields: 32, text_bytes: 64 };
const SCORE_LIMIT: SortedSetLimit = SortedSetLimit { members_max: 32, member_bytes_max: 64 };
const NODE_LIMIT: NodeLimit = NodeLimit { entries: 100, bytes: 4096 };

fn list_limit() -> ListLimit {
    ListLimit::of_setting(32)
}

/// Contents of a key: the numbers of a range, as texts that tell whose they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    pub kind: Kind,
    /// Zero for texts that are integers.
    pub salt: u64,
    pub numbers: Range<u64>,
}

/// The text of a number. One in 64 gets a node of its own.
fn text_of(salt: u64, number: u64) -> Vec<u8> {
    if salt == 0 {
        return number.to_string().into_bytes();
    }
    let mut text = format!("{salt:x}:{number}:").into_bytes();
    text.resize(text.len() + padding_of(salt, number), b'p');
    text
}

fn padding_of(salt: u64, number: u64) -> usize {
    let mixed = (salt ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    if mixed >> 58 == 0 { 1_000 } else { (mixed >> 40) as usize % 40 }
}

#[track_caller]
fn number_of(text: &[u8]) -> (u64, u64) {
    intact_number_of(text).unwrap_or_else(|| panic!("a torn text: {}", text.escape_ascii()))
}

/// Reads a text that is, byte by byte, the one of its salt and number. Nothing is allocated: most
/// time of the tests goes here.
fn intact_number_of(text: &[u8]) -> Option<(u64, u64)> {
    let mut parts = text.split(|byte| *byte == b':');
    match (parts.next()?, parts.next(), parts.next(), parts.next()) {
        (number, None, ..) => Some((0, digits(number, 10)?)),
        (salt, Some(number), Some(padding), None) => {
            let (salt, number) = (digits(salt, 16)?, digits(number, 10)?);
            let is_whole = padding.len() == padding_of(salt, number);
            let is_intact = is_whole && padding.iter().all(|byte| *byte == b'p');
            (salt > 0 && is_intact).then_some((salt, number))
        }
        _ => None,
    }
}

/// Reads digits that are written as `format!` writes them: small ones, and no zero before others.
fn digits(text: &[u8], radix: u32) -> Option<u64> {
    let digit = |byte: u8| char::from(byte).to_digit(radix).filter(|_| !byte.is_ascii_uppercase());
    let is_plain = text == b"0" || !text.starts_with(b"0") && !text.is_empty();
    let add = |sum: u64, byte: &u8| {
        sum.checked_mul(u64::from(radix))?.checked_add(u64::from(digit(*byte)?))
    };
    text.iter().try_fold(0, add).filter(|_| is_plain)
}

/// Reads a key; `None` if it holds nothing.
#[track_caller]
pub fn read(access: &Access<'_>, key: &Key<'_>) -> Option<Window> {
    let kind = access.lookup_without_touch(key)?.kind;
    let mut texts = texts(access, key, kind).expect("of the kind that was seen");
    if matches!(kind, Kind::Set | Kind::Hash) {
        texts.sort_by_key(|text| number_of(text).1);
    }
    let (salt, first) = number_of(texts.first()?);
    for (number, text) in (first..).zip(&texts) {
        assert_eq!(number_of(text), (salt, number), "{kind:?} of {} elements", texts.len());
    }
    Some(Window { kind, salt, numbers: first..first + texts.len() as u64 })
}

fn texts(access: &Access<'_>, key: &Key<'_>, kind: Kind) -> Result<Vec<Vec<u8>>, Fault> {
    Ok(match kind {
        Kind::List => {
            let list = list::lookup_without_touch(access, key)?.into_iter();
            list.flat_map(|list| list.iter_from(0)).map(|it| it.to_text()).collect()
        }
        Kind::Set => {
            let set = set::lookup_without_touch(access, key)?.into_iter();
            set.flat_map(|set| set.members()).map(|it| it.to_text()).collect()
        }
        Kind::SortedSet => {
            let set = sorted_set::lookup_without_touch(access, key)?.expect("it was seen");
            let pairs = set.iter_from(0).map(|(member, score)| (member.to_text(), score));
            pairs
                .inspect(|(member, score)| assert_eq!(set.score(member), Some(*score)))
                .map(|(member, _)| member)
                .collect()
        }
        Kind::Hash => {
            let hash = hash::lookup_without_touch(access, key)?.expect("it was seen");
            let pairs = hash.iter().map(|pair| (pair.field.to_text(), pair.value.to_text()));
            pairs
                .inspect(|(field, value)| assert_eq!(field, value))
                .map(|(field, _)| field)
                .collect()
        }
        Kind::Stream => {
            let entries = stream::lookup_without_touch(access, key)?
                .expect("it was seen")
                .range(Id::MIN, Id::MAX);
            entries.map(|mut it| it.pairs.next().expect("a pair").1.to_text()).collect()
        }
        Kind::String => unreachable!("no key holds a string"),
    })
}

/// Adds numbers to what a key holds, or to nothing.
///
/// # Errors
/// When there is no room; some of the numbers may be there then.
pub fn grow(
    access: &mut Access<'_>,
    key: &Key<'_>,
    kind: Kind,
    salt: u64,
    numbers: Range<u64>,
) -> Result<(), Fault> {
    let texts: Vec<Vec<u8>> = numbers.clone().map(|number| text_of(salt, number)).collect();
    let slices = texts.iter().map(Vec::as_slice);
    match kind {
        Kind::List => {
            list::push(access, key, End::Back, slices, list_limit(), false)?;
        }
        Kind::Set => assert_eq!(set::add(access, key, slices, SET_LIMIT)?, texts.len() as u64),
        Kind::SortedSet => {
            let pairs: Vec<_> = numbers.map(|number| number as f64).zip(slices).collect();
            sorted_set::add(access, key, &pairs, Terms::default(), SCORE_LIMIT)?;
        }
        Kind::Hash => {
            let mut hash = HashMut::open(access, key, HASH_LIMIT)?;
            for text in slices {
                hash.set(text, text, Deadline::Keep)?;
            }
        }
        _ => {
            for (number, text) in numbers.zip(slices) {
                let id = NewId::Given(Id { ms: number, seq: 0 });
                let how = Add { id, only_existing: false, trim: None, limit: NODE_LIMIT };
                let added = stream::add(access, key, how, [&b"n"[..], text].into_iter());
                assert!(added.map_err(|_| store::NoSpace)?.is_some());
            }
        }
    }
    Ok(())
}

/// Removes the lowest numbers, up to `to` or all of them.
pub fn shrink(access: &mut Access<'_>, key: &Key<'_>, window: &Window, to: u64) {
    if to >= window.numbers.end {
        assert!(access.remove(key));
        return;
    }
    let numbers = window.numbers.start..to;
    let texts: Vec<Vec<u8>> = numbers.map(|number| text_of(window.salt, number)).collect();
    let (count, slices) = (texts.len() as u64, texts.iter().map(Vec::as_slice));
    let removed = match window.kind {
        Kind::List => list::pop(access, key, End::Front, count, list_limit(), |_| ()),
        Kind::Set => set::remove(access, key, slices).map(Some),
        Kind::SortedSet => sorted_set::remove(access, key, slices).map(Some),
        Kind::Hash => {
            let mut hash = HashMut::open(access, key, HASH_LIMIT).expect("a hash");
            Ok(Some(slices.map(|text| u64::from(hash.remove(text))).sum()))
        }
        _ => {
            let how = Trim { to: Bound::Id(Id { ms: to, seq: 0 }), whole_nodes: None };
            stream::trim(access, key, how).map(Some)
        }
    };
    assert_eq!(removed, Ok(Some(count)));
}

/// Makes the lowest field of a hash expire.
///
/// # Errors
/// When there is no room.
pub fn expire_lowest(
    access: &mut Access<'_>,
    key: &Key<'_>,
    window: &Window,
    at: Millis,
) -> Result<(), Fault> {
    if window.kind == Kind::Hash {
        let field = text_of(window.salt, window.numbers.start);
        let mut hash = HashMut::open(access, key, HASH_LIMIT)?;
        assert!(hash.set_deadline(&field, Some(at))?);
    }
    Ok(())
}
