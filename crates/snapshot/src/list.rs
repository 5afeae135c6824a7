//! Lists, written as listpacks, which is how Valkey keeps them: a list that clients know as one
//! listpack as one, others as listpacks of up to 8 KiB.

use crate::slice::LOOKED_AT;
use rdb::{Listpack, Output};
use store::value::list::List;
use store::{Element, Encoding, ValueRef};

/// Most bytes of a listpack; a longer element stands alone.
const LISTPACK_BYTES_MAX: usize = 8 << 10;

/// Writing of a list. Its containers are counted before any is written, since their number stands
/// in front.
#[derive(Debug, Default)]
pub(crate) struct ListSlices {
    /// Index of the next element.
    at: u64,
    containers: u64,
    split: Split,
    /// The container that is not yet written.
    open: Listpack,
}

fn is_one_listpack(value: ValueRef<'_>) -> bool {
    value.to_value().encoding == Encoding::Listpack
}

impl ListSlices {
    /// Counts containers; returns true if all are.
    pub fn look(&mut self, value: ValueRef<'_>) -> bool {
        let list = List::of(value);
        if is_one_listpack(value) {
            return true;
        }
        for element in list.iter_from(self.at).take(LOOKED_AT) {
            self.containers += u64::from(self.split.begins(element));
            self.at += 1;
        }
        let is_complete = self.at >= list.len();
        if is_complete {
            (self.at, self.split) = (0, Split::default());
        }
        is_complete
    }

    /// Writes about `most` bytes; returns true if the list is complete.
    pub fn write(
        &mut self,
        value: ValueRef<'_>,
        is_first: bool,
        to: &mut Output,
        most: usize,
    ) -> bool {
        let list = List::of(value);
        if is_one_listpack(value) {
            to.length(1);
            to.length(PACKED);
            to.blob(&listpack_of(list.iter_from(0)));
            return true;
        }
        let end = to.bytes().len().saturating_add(most);
        if is_first {
            to.length(self.containers);
        }
        for element in list.iter_from(self.at) {
            if to.bytes().len() >= end {
                return false;
            }
            self.at += 1;
            if self.split.begins(element) {
                self.finish(to);
            }
            if is_long(element) {
                to.length(PLAIN);
                element.with_text(|text| to.blob(text));
            } else {
                self.open.push(element);
            }
        }
        self.finish(to);
        true
    }

    fn finish(&mut self, to: &mut Output) {
        let listpack = std::mem::take(&mut self.open);
        if !listpack.is_empty() {
            to.length(PACKED);
            to.blob(&listpack.into_bytes());
        }
    }
}

const PLAIN: u64 = 1;
const PACKED: u64 = 2;

fn is_long(element: Element<'_>) -> bool {
    element.text_len() > LISTPACK_BYTES_MAX
}

/// Division of a list into containers.
#[derive(Debug, Default)]
struct Split {
    /// Bytes of the last listpack; zero if no listpack is open.
    bytes: usize,
}

impl Split {
    /// Returns true if a container begins with the next element.
    fn begins(&mut self, element: Element<'_>) -> bool {
        if is_long(element) {
            self.bytes = 0;
            return true;
        }
        let bytes = Listpack::bytes_of(element);
        let begins = self.bytes == 0 || self.bytes + bytes > LISTPACK_BYTES_MAX;
        self.bytes = bytes + if begins { Listpack::EMPTY_BYTES } else { self.bytes };
        begins
    }
}

/// Bytes of the listpack of some elements.
pub(crate) fn listpack_of<'t>(elements: impl Iterator<Item = Element<'t>>) -> Vec<u8> {
    let mut listpack = Listpack::default();
    elements.for_each(|element| listpack.push(element));
    listpack.into_bytes()
}
