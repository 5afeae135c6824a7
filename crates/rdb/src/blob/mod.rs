//! Blobs: many elements packed into one text.

mod bytes;
mod intset;
mod listpack;
mod ziplist;
mod zipmap;

pub use intset::intset;
pub use listpack::Listpack;

use bytes::Damage;
pub(crate) use intset::Integers;
use listpack::Elements as ListpackElements;
use packed::Element;
use ziplist::Elements as ZiplistElements;
use zipmap::Texts;

/// Elements of a blob. Ends with the first damage, if there is one.
#[derive(Debug)]
pub(crate) enum Elements<'b> {
    Listpack(ListpackElements<'b>),
    Ziplist(ZiplistElements<'b>),
    Zipmap(Texts<'b>),
    Intset(Integers<'b>),
}

/// Format of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Listpack,
    Ziplist,
    Zipmap,
    Intset,
}

impl Format {
    /// Elements of a blob in this format.
    pub fn elements(self, bytes: &[u8]) -> Result<Elements<'_>, Damage> {
        Ok(match self {
            Format::Listpack => Elements::Listpack(ListpackElements::new(bytes)?),
            Format::Ziplist => Elements::Ziplist(ZiplistElements::new(bytes)?),
            Format::Zipmap => Elements::Zipmap(Texts::new(bytes)?),
            Format::Intset => Elements::Intset(Integers::new(bytes)?),
        })
    }
}

impl<'b> Iterator for Elements<'b> {
    type Item = Result<Element<'b>, Damage>;

    #[inline]
    fn next(&mut self) -> Option<Result<Element<'b>, Damage>> {
        match self {
            Elements::Listpack(elements) => elements.next(),
            Elements::Ziplist(elements) => elements.next(),
            Elements::Zipmap(texts) => texts.next(),
            Elements::Intset(integers) => integers.next(),
        }
    }
}
