//! Lists, written as listpacks, which is how Valkey keeps them: a list that clients know as one
//! listpack as one, others as listpacks of up to 8 KiB.

use rdb::{Listpack, Output};
use store::value::list;
use store::{Access, Element, Encoding, Key};

/// Most bytes of a listpack; a longer element stands alone.
const LISTPACK_BYTES_MAX: usize = 8 << 10;

/// Writes a list. Its containers are counted before any is written, since their number stands in
/// front.
pub(crate) fn write_list(access: &Access<'_>, key: &Key<'_>, to: &mut Output) {
    let Ok(Some(list)) = list::lookup_without_touch(access, key) else { return };
    let is_one =
        access.lookup_without_touch(key).is_some_and(|it| it.encoding == Encoding::Listpack);
    if is_one {
        to.length(1);
        to.length(PACKED);
        return to.blob(&listpack_of(list.iter_from(0)));
    }
    let mut count = Split::default();
    let containers = list.iter_from(0).filter(|element| count.begins(*element)).count();
    to.length(containers as u64);
    let (mut split, mut listpack) = (Split::default(), Listpack::default());
    for element in list.iter_from(0) {
        if split.begins(element) {
            finish(&mut listpack, to);
        }
        if is_long(element) {
            to.length(PLAIN);
            element.with_text(|text| to.blob(text));
        } else {
            listpack.push(element);
        }
    }
    finish(&mut listpack, to);
}

const PLAIN: u64 = 1;
const PACKED: u64 = 2;

fn finish(listpack: &mut Listpack, to: &mut Output) {
    let listpack = std::mem::take(listpack);
    if !listpack.is_empty() {
        to.length(PACKED);
        to.blob(&listpack.into_bytes());
    }
}

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
