//! Attributes of strings, which clients of Memcached give and ask for.
//!
//! ```text
//! Access::set_string_with ──▶ flags, CAS, stale, won, base64 ──▶ ValueRef::attributes
//! Access::draw_cas        ──▶ a CAS, when it is asked for
//! Access::note_fetched    ──▶ one bit of the value tag, beside all of these
//! ```
//! A record has bytes for the attributes that it was given and for no others; the first that needs
//! more has it written anew. What becomes of them depends on what is written ([`NextValue`]):
//!
//! | what is written | flags | CAS | stale, won, base64 | fetched |
//! |---|---|---|---|---|
//! | another value: SET, GETSET, MSET, BITOP, collections | gone | gone | gone | gone |
//! | another value with attributes | given | given | given | gone |
//! | a change: APPEND, SETRANGE, SETBIT, BITFIELD, INCR, PFADD | stay | void | stay | stays |
//! | the same value: another deadline, place or form | stay | stays | stay | stays |
//! | the same value under another key: RENAME, MOVE, COPY | stay | void | stay | stays |
//!
//! That a key was given in base64 stays while its name does. A value that is no string has no
//! attributes. A place whose CAS is void stays when the value changes, also in a record that is
//! written anew: a client that has asked once will ask again. It is left behind by the cleaner,
//! and under another key.
//!
//! Invariant: all that makes a record of a key anew, or changes its value in place, stands here,
//! and does with attributes what the table says.
//!
//! | place | what it writes |
//! |---|---|
//! | `Guard::replace` | another value |
//! | `Guard::replace_any` | another value, with the attributes that it is given |
//! | `Access::change_string` | a change of all bytes: INCR, INCRBYFLOAT, dense sketches |
//! | `KeyMut::resize_as`, `KeyMut::shrink` | a change of the length |
//! | `KeyMut::begin_change` | a change of bytes where they lie |
//! | `Access::open_long` | a change of a long string, or into one |
//! | `KeyMut::set_value_tag`, `KeyMut::set_deadline` | the same value |
//! | `KeyMut::set_attributes`, `KeyMut::draw_cas` | the same value, with other attributes |
//! | `Guard::copy_value` | the same value under another key |
//! | `copy_out` in `shard/append.rs` | the same value in another segment |
//! | `Copies::push` in `shard/cut/copies.rs` | all bytes of the record, for a snapshot |
//!
//! Files and replicas are told of all but a drawn CAS and *fetched* ([`Attributes::note`]).
//!
//! Of a long string they stand in the record of its roots. A snapshot reads them by
//! [`Copied::attributes`](crate::Copied::attributes). While it is under way, a CAS that is drawn
//! and *fetched* are like the access history: they change without anything being handed over, so
//! what it reads of them may be younger than the cut.

use base::Millis;
use crossbeam_utils::CachePadded;
use heap::Attributes as Kept;
use std::num::NonZeroU64;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use text::AttributeNote;

/// Number that stands for one version of a value, by which a client learns that it has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cas {
    /// There is none: nobody has asked since the value was written.
    #[default]
    None,
    /// Drawn by this server because a client asked. It means nothing to another one.
    Drawn(NonZeroU64),
    /// Given by a client with the value, and as much data as flags are.
    Given(NonZeroU64),
}

impl Cas {
    /// The number, if there is one.
    pub fn number(self) -> Option<NonZeroU64> {
        match self {
            Cas::None => None,
            Cas::Drawn(number) | Cas::Given(number) => Some(number),
        }
    }
}

/// Attributes of a string. A string without any has the default ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Number that clients keep with the value.
    pub flags: u32,
    /// Number of the value's version.
    pub cas: Cas,
    /// True if the value was marked as out of date.
    pub is_stale: bool,
    /// True if a client was told that it is the one to write the value anew.
    pub is_won: bool,
    /// True if the client that wrote the value gave its key in base64.
    pub is_key_in_base64: bool,
}

impl Attributes {
    /// What files and replicas are told of them: all but a number that was drawn.
    pub fn note(self) -> AttributeNote {
        let Attributes { flags, cas, is_stale, is_won, is_key_in_base64 } = self;
        let cas = if let Cas::Given(number) = cas { Some(number) } else { None };
        AttributeNote { flags, cas, is_stale, is_won, is_key_in_base64 }
    }
}

impl From<AttributeNote> for Attributes {
    fn from(note: AttributeNote) -> Attributes {
        let AttributeNote { flags, cas, is_stale, is_won, is_key_in_base64 } = note;
        let cas = cas.map_or(Cas::None, Cas::Given);
        Attributes { flags, cas, is_stale, is_won, is_key_in_base64 }
    }
}

const STALE: u8 = 1 << 0;
const WON: u8 = 1 << 1;
const KEY_IN_BASE64: u8 = 1 << 2;
/// Mark of a CAS that a client has given.
const CAS_IS_GIVEN: u8 = 1 << 3;

impl Attributes {
    #[inline]
    pub(crate) fn of_record(kept: Option<Kept>) -> Attributes {
        let Some(Kept { flags, cas, marks }) = kept else { return Attributes::default() };
        let cas = match cas.and_then(NonZeroU64::new) {
            Some(number) if marks & CAS_IS_GIVEN != 0 => Cas::Given(number),
            Some(number) => Cas::Drawn(number),
            None => Cas::None,
        };
        Attributes {
            flags,
            cas,
            is_stale: marks & STALE != 0,
            is_won: marks & WON != 0,
            is_key_in_base64: marks & KEY_IN_BASE64 != 0,
        }
    }

    /// Returns what a record keeps of them that takes the place of one that kept `before`: a place
    /// for a CAS stays.
    pub(crate) fn in_place_of(self, before: Option<Kept>) -> Option<Kept> {
        let mark = |is_set, mark| if is_set { mark } else { 0 };
        let is_given = matches!(self.cas, Cas::Given(_));
        let place = before.and_then(|before| before.cas).map(|_| 0);
        let kept = Kept {
            flags: self.flags,
            cas: self.cas.number().map(NonZeroU64::get).or(place),
            marks: mark(self.is_stale, STALE)
                | mark(self.is_won, WON)
                | mark(self.is_key_in_base64, KEY_IN_BASE64)
                | mark(is_given, CAS_IS_GIVEN),
        };
        unless_nothing(kept)
    }
}

/// What a write means for the value of a key, and hence for its attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextValue {
    /// It is another one: all attributes are gone.
    Another,
    /// It has changed: the CAS is void, all others stay.
    Changed,
    /// It is the same, in another form or with another deadline: all stay.
    Same,
}

impl NextValue {
    /// Returns what a record keeps after the write of what the one before has kept.
    #[inline]
    pub fn attributes(self, before: Option<Kept>) -> Option<Kept> {
        match self {
            NextValue::Another => None,
            NextValue::Changed => before.map(with_void_cas).and_then(unless_nothing),
            NextValue::Same => before,
        }
    }
}

fn with_void_cas(kept: Kept) -> Kept {
    Kept { cas: kept.cas.map(|_| 0), marks: kept.marks & !CAS_IS_GIVEN, ..kept }
}

/// Returns what the record of another key, which may have the same name in another database, keeps
/// of a value that it gets.
pub(crate) fn under_another_key(before: Option<Kept>, has_same_name: bool) -> Option<Kept> {
    let Kept { flags, marks, .. } = before?;
    let of_name = if has_same_name { KEY_IN_BASE64 } else { 0 };
    unless_nothing(Kept { flags, cas: None, marks: marks & (STALE | WON | of_name) })
}

/// Returns what a record keeps that is moved to another segment: no place in which nothing stands.
#[inline]
pub(crate) fn when_moved(before: Option<Kept>) -> Option<Kept> {
    let kept = before?;
    unless_nothing(Kept { cas: kept.cas.filter(|cas| *cas != 0), ..kept })
}

fn unless_nothing(kept: Kept) -> Option<Kept> {
    (kept != Kept::default()).then_some(kept)
}

/// Seconds from 1970 to the begin of 2026.
const BEGIN_OF_2026: u64 = 1_767_225_600;

/// Source of CAS numbers, the same for all keys.
#[derive(Debug, Default)]
pub(crate) struct CasNumbers(CachePadded<AtomicU64>);

impl CasNumbers {
    /// Draws a number. The first one is the time in seconds since 2026, so that those of a later
    /// life of the server are above those of an earlier one, unless it drew more than one in each
    /// second. For four billion draws they have 32 bits, which is all that some clients keep.
    pub fn draw(&self, now: Millis) -> NonZeroU64 {
        if self.0.load(Relaxed) == 0 {
            let first = (now.0 / 1000).saturating_sub(BEGIN_OF_2026).max(1);
            // Another thread may have begun them meanwhile.
            let _ = self.0.compare_exchange(0, first, Relaxed, Relaxed);
        }
        NonZeroU64::new(self.0.fetch_add(1, Relaxed)).unwrap_or(NonZeroU64::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Attributes> {
        let seven = NonZeroU64::MIN.saturating_add(6);
        let cas = [Cas::None, Cas::Drawn(seven), Cas::Given(seven)];
        let marks = (0..8).map(|bits| (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0));
        marks.flat_map(move |(is_stale, is_won, is_key_in_base64)| {
            [0, 7, u32::MAX].into_iter().flat_map(move |flags| {
                cas.map(|cas| Attributes { flags, cas, is_stale, is_won, is_key_in_base64 })
            })
        })
    }

    #[test]
    fn a_record_keeps_what_it_is_given() {
        let places = [None, Some(Kept { flags: 3, cas: Some(9), marks: 255 })];
        for (attributes, before) in all().flat_map(|it| places.map(|before| (it, before))) {
            let kept = attributes.in_place_of(before);
            assert_eq!(Attributes::of_record(kept), attributes);
            let has_place = kept.is_some_and(|kept| kept.cas.is_some());
            assert_eq!(has_place, before.is_some() || attributes.cas != Cas::None);
        }
    }

    #[test]
    fn what_is_noted_is_all_but_a_number_that_was_drawn() {
        for attributes in all() {
            let is_drawn = matches!(attributes.cas, Cas::Drawn(_));
            let cas = if is_drawn { Cas::None } else { attributes.cas };
            assert_eq!(Attributes::from(attributes.note()), Attributes { cas, ..attributes });
        }
    }

    #[test]
    fn a_change_makes_the_number_void_and_leaves_the_rest() {
        for attributes in all() {
            let kept = attributes.in_place_of(None);
            let without = Attributes { cas: Cas::None, ..attributes };
            let after = |kept| Attributes::of_record(kept);
            assert_eq!(after(NextValue::Changed.attributes(kept)), without);
            assert_eq!(after(under_another_key(kept, true)), without);
            let renamed = Attributes { is_key_in_base64: false, ..without };
            assert_eq!(after(under_another_key(kept, false)), renamed);
            assert_eq!(after(NextValue::Same.attributes(kept)), attributes);
            assert_eq!(after(when_moved(kept)), attributes);
            assert_eq!(NextValue::Another.attributes(kept), None);
        }
    }

    #[test]
    fn a_place_in_which_nothing_stands_is_left_behind_by_the_cleaner_alone() {
        let void = Some(Kept { flags: 0, cas: Some(0), marks: 0 });
        assert_eq!(NextValue::Changed.attributes(void), void);
        assert_eq!(when_moved(void), None);
        assert_eq!(under_another_key(void, true), None);
        let flags = Some(Kept { flags: 1, cas: None, marks: 0 });
        assert_eq!(when_moved(flags), flags);
    }

    #[test]
    fn numbers_begin_at_seconds_since_2026_and_rise() {
        let numbers = CasNumbers::default();
        let drawn = [Millis(1_767_225_677_999), Millis(1), Millis(0)].map(|now| numbers.draw(now));
        assert_eq!(drawn.map(NonZeroU64::get), [77, 78, 79]);
        for early in [0, 1_700_000_000_000, 1_767_225_600_000] {
            assert_eq!(CasNumbers::default().draw(Millis(early)), NonZeroU64::MIN);
        }
    }
}
