//! Rows of elements, the content of leaves, in one of several orders.

use crate::leaf::Separator;
use crate::node::Nodes;
use packed::{Element, Far, Iter, PackedList, PackedListMut, Place};
use std::cmp::Ordering;

pub(crate) const HEAD_BYTES: usize = 4;
const TAG_BYTES_MAX: usize = 4;
/// Number of tags by which the room for them grows, so that most insertions do not move the
/// elements behind them.
const TAGS_PER_STEP: usize = 8;
/// Bytes behind the expected place of a row within which it most probably begins.
const ABOUT_BYTES: usize = 96;

/// Order of the rows of a tree.
pub trait Order {
    /// Bytes of the tag that each row has and by which rows are ordered; zero in orders without
    /// tags.
    const TAG_BYTES: usize = 0;
    /// True if rows are searched by separators, and not by their positions alone.
    const IS_SEARCHED: bool = true;

    /// Returns the separator of two leaves: see [`Leaf::separator`](crate::Leaf::separator).
    fn separator<'n>(nodes: impl Nodes<'n>, left: Rows<'_>, right: Rows<'_>) -> Separator;

    /// Returns true if a row is below a separator.
    fn is_below<'n>(nodes: impl Nodes<'n>, rows: Rows<'_>, row: usize, separator: &[u8]) -> bool;

    /// Compares two rows of a leaf.
    fn cmp_rows<'n>(nodes: impl Nodes<'n>, rows: Rows<'_>, row: usize, other: usize) -> Ordering;
}

/// View of the rows of a leaf for reading.
///
/// ```text
/// | rows 2 | stride 1 | tag bytes 1 | tag x rows, and room | packed list of all elements |
/// ```
/// A tag is the upper bytes of a hash of 32 bits, little-endian.
///
/// Leaves of one tree may have different strides: a leaf gets a further column when a row of it
/// needs one.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    bytes: &'a [u8],
    len: usize,
    stride: usize,
    tag_bytes: usize,
    packed: PackedList<'a>,
}

/// Returns the bytes for the tags of `rows` rows, including the room for more.
#[inline]
pub(crate) fn tags_bytes(tag_bytes: usize, rows: usize) -> usize {
    tag_bytes * rows.next_multiple_of(TAGS_PER_STEP)
}

impl<'a> Rows<'a> {
    /// Returns the rows in a leaf.
    ///
    /// # Panics
    /// If the bytes are not a leaf.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Rows<'a> {
        let head: [u8; HEAD_BYTES] = *bytes.first_chunk().expect("a leaf has a head");
        let len = usize::from(u16::from_le_bytes([head[0], head[1]]));
        let tag_bytes = usize::from(head[3]);
        let packed = PackedList::new(&bytes[HEAD_BYTES + tags_bytes(tag_bytes, len)..]);
        Rows { bytes, len, stride: usize::from(head[2]), tag_bytes, packed }
    }

    /// Returns the bytes of a leaf without rows.
    pub fn empty<O: Order>(stride: usize) -> Vec<u8> {
        let mut bytes = vec![0, 0, narrow::to_u8(stride), narrow::to_u8(O::TAG_BYTES)];
        bytes.extend_from_slice(&packed::EMPTY);
        bytes
    }

    /// Returns the bytes of a leaf whose rows are the elements of a packed list, `stride` of them
    /// each, in an order without tags.
    pub fn of_packed(packed: PackedList<'_>, stride: usize) -> Vec<u8> {
        let mut bytes = narrow::to_u16(packed.len() / stride).to_le_bytes().to_vec();
        bytes.extend([narrow::to_u8(stride), 0]);
        packed::concat(stride, &[(packed, packed.front(), packed.end())], &mut bytes);
        bytes
    }

    /// Returns the bytes of a leaf whose rows are the elements of a packed list, `stride` of them
    /// each, with these tags, which are in ascending order.
    pub fn of_tagged_packed<O: Order>(
        tags: &[u32],
        packed: PackedList<'_>,
        stride: usize,
    ) -> Vec<u8> {
        debug_assert_eq!(tags.len() * stride, packed.len());
        let mut bytes = tagged_front::<O>(tags.iter().copied(), stride);
        packed::concat(stride, &[(packed, packed.front(), packed.end())], &mut bytes);
        bytes
    }

    /// Returns the bytes of a leaf of rows with tags, in their order. Each row is given by its tag,
    /// and the places where its elements begin and end in a packed list.
    pub fn of_tagged_rows<O: Order>(
        packed: PackedList<'_>,
        stride: usize,
        rows: &[(u32, Place, Place)],
    ) -> Vec<u8> {
        let mut bytes = tagged_front::<O>(rows.iter().map(|(tag, _, _)| *tag), stride);
        let pieces: Vec<_> = rows.iter().map(|(_, from, end)| (packed, *from, *end)).collect();
        packed::concat(stride, &pieces, &mut bytes);
        bytes
    }

    /// Returns the number of rows.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no rows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of elements of a row.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// Returns all elements, row by row.
    #[inline]
    pub fn packed(&self) -> PackedList<'a> {
        self.packed
    }

    /// Returns the tag of a row: the bytes that are stored, above zeros.
    #[inline]
    pub fn tag(&self, row: usize) -> u32 {
        let at = HEAD_BYTES + self.tag_bytes * row;
        // Bytes read beyond a short tag are shifted out.
        let mut tag = [0; size_of::<u32>()];
        tag.copy_from_slice(&self.bytes[at..at + size_of::<u32>()]);
        u32::from_le_bytes(tag) << (u32::BITS - u8::BITS * narrow::to_u32(self.tag_bytes))
    }

    /// Returns the bytes of the tags of rows `from` to `to`, without the latter.
    #[inline]
    pub(crate) fn tag_bytes(&self, from: usize, to: usize) -> &'a [u8] {
        &self.bytes[HEAD_BYTES + self.tag_bytes * from..HEAD_BYTES + self.tag_bytes * to]
    }

    /// Returns the first row whose tag is not below `tag`.
    #[inline]
    pub fn find_tag(&self, tag: u32) -> usize {
        let tags = self.tag_bytes(0, self.len);
        if self.tag_bytes == 3 {
            let (tags, _) = tags.as_chunks();
            tags.partition_point(|[low, middle, high]| {
                u32::from_le_bytes([0, *low, *middle, *high]) < tag
            })
        } else {
            let (tags, _) = tags.as_chunks();
            tags.partition_point(|other| u32::from_le_bytes(*other) < tag)
        }
    }

    /// Returns the codes of the elements, which hold their kinds and lengths.
    #[inline]
    pub fn codes(&self) -> &'a [u8] {
        self.packed.codes()
    }

    /// Returns the bytes around the expected place of a row, given that all rows have about the
    /// same length.
    #[inline]
    pub fn about(&self, row: usize) -> &'a [u8] {
        let bytes = self.packed.element_bytes();
        let at = bytes.len() * row / self.len.max(1);
        &bytes[at.saturating_sub(ABOUT_BYTES / 2)..bytes.len().min(at + ABOUT_BYTES)]
    }

    /// Returns the reference of a far element; `None` for any other.
    #[inline]
    pub fn far(&self, row: usize, column: usize) -> Option<Far> {
        self.packed.far_ones(row * self.stride + column, 1).next()
    }

    /// Returns the place where a row begins.
    #[inline]
    pub fn place(&self, row: usize) -> Place {
        self.packed.place(row * self.stride)
    }

    /// Returns one element of a row.
    #[inline]
    pub fn cell(&self, row: usize, column: usize) -> Option<Element<'a>> {
        self.packed.get(row * self.stride + column)
    }

    /// Returns the elements of a row and of all that follow.
    #[inline]
    pub fn cells_from(&self, row: usize) -> Iter<'a> {
        self.packed.iter_from(self.place(row))
    }

    /// Returns the first row for which `is_below` returns false; it returns true for all rows
    /// before.
    #[inline]
    pub fn partition(&self, mut is_below: impl FnMut(usize) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len);
        while low < high {
            let middle = low.midpoint(high);
            if is_below(middle) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Returns the first of the rows from `low`, which is at `place`, up to `high` for whose place
    /// `is_below` returns false, and its place; `high` if there is none. `is_below` returns true
    /// for all rows before. Rows are passed once, not once per comparison.
    #[inline]
    pub fn partition_from(
        &self,
        (mut low, mut place): (usize, Place),
        mut high: usize,
        is_below: impl Fn(Place) -> bool,
    ) -> (usize, Place) {
        while low < high {
            let middle = low.midpoint(high);
            let middle_place = self.packed.forward(place, middle * self.stride);
            if is_below(middle_place) {
                low = middle + 1;
                place = self.packed.forward(middle_place, low * self.stride);
            } else {
                high = middle;
            }
        }
        (low, place)
    }

    /// Returns the bytes of the leaf without gaps.
    #[inline]
    pub fn dense_len(&self) -> usize {
        self.packed_begin() + self.packed.dense_len()
    }

    #[inline]
    pub(crate) fn packed_begin(&self) -> usize {
        HEAD_BYTES + tags_bytes(self.tag_bytes, self.len)
    }

    /// Returns the bytes of the leaf without gaps and with a code for each element.
    pub(crate) fn full_len(&self) -> usize {
        self.packed_begin() + self.packed.full_len()
    }

    /// Returns the bytes of the leaf with one more row, at most and without gaps.
    #[inline]
    pub fn len_with(&self, cells: &[Element<'_>]) -> usize {
        HEAD_BYTES + tags_bytes(self.tag_bytes, self.len + 1) + self.packed.len_with(cells)
    }

    /// Returns the bytes by which the leaf must grow to take a row.
    #[inline]
    pub fn growth_for(&self, cells: &[Element<'_>]) -> usize {
        self.len_with(cells).saturating_sub(self.bytes.len())
    }
}

/// Returns the bytes before the packed list in a leaf of rows with these tags.
fn tagged_front<O: Order>(tags: impl ExactSizeIterator<Item = u32>, stride: usize) -> Vec<u8> {
    let count = tags.len();
    let mut bytes = narrow::to_u16(count).to_le_bytes().to_vec();
    bytes.extend([narrow::to_u8(stride), narrow::to_u8(O::TAG_BYTES)]);
    for tag in tags {
        bytes.extend_from_slice(&tag.to_le_bytes()[TAG_BYTES_MAX - O::TAG_BYTES..]);
    }
    bytes.resize(HEAD_BYTES + tags_bytes(O::TAG_BYTES, count), 0);
    bytes
}

/// Mutable view of the rows of a leaf, in bytes that are long enough.
#[derive(Debug)]
pub struct RowsMut<'a> {
    bytes: &'a mut [u8],
    tag_bytes: usize,
}

impl<'a> RowsMut<'a> {
    /// Returns a view of the rows in a leaf.
    #[inline]
    pub fn new(bytes: &'a mut [u8]) -> RowsMut<'a> {
        let tag_bytes = usize::from(bytes[3]);
        RowsMut { bytes, tag_bytes }
    }

    /// Returns a view for reading.
    #[inline]
    pub fn as_rows(&self) -> Rows<'_> {
        Rows::new(self.bytes)
    }

    /// Returns the bytes of the leaf; the memory behind them is free.
    #[inline]
    pub fn byte_len(&self) -> usize {
        let rows = self.as_rows();
        rows.packed_begin() + rows.packed.byte_len()
    }

    /// Inserts a row. The leaf must have grown by [`Rows::growth_for`] before.
    ///
    /// # Panics
    /// If it has not.
    #[inline]
    pub fn insert(&mut self, row: usize, tag: u32, cells: &[Element<'_>]) {
        let rows = self.as_rows();
        let (len, stride, begin) = (rows.len, rows.stride, rows.packed_begin());
        debug_assert_eq!(cells.len(), stride);
        let (mut packed_begin, width) = (begin, self.tag_bytes);
        if width > 0 {
            let room = tags_bytes(width, len + 1) - tags_bytes(width, len);
            if room > 0 {
                self.close_packed_gaps_for(begin, room);
                let end = self.byte_len();
                self.bytes.copy_within(begin..end, begin + room);
                self.bytes[begin..begin + room].fill(0);
                packed_begin += room;
            }
            let (at, end) = (HEAD_BYTES + width * row, HEAD_BYTES + width * len);
            self.bytes.copy_within(at..end, at + width);
            self.bytes[at..at + width].copy_from_slice(&tag.to_le_bytes()[TAG_BYTES_MAX - width..]);
        }
        self.set_len(len + 1);
        let mut packed = PackedListMut::new(&mut self.bytes[packed_begin..]);
        let place = packed.as_list().place(row * stride);
        packed.insert_row(place, cells).expect("the leaf has grown");
    }

    /// Closes gaps if the packed list could not move by `bytes` otherwise.
    #[inline]
    fn close_packed_gaps_for(&mut self, packed_begin: usize, bytes: usize) {
        if self.byte_len() + bytes > self.bytes.len() {
            PackedListMut::new(&mut self.bytes[packed_begin..]).close_gaps();
        }
    }

    /// Removes `count` rows from `row` on.
    pub fn remove(&mut self, row: usize, count: usize) {
        let rows = self.as_rows();
        let (len, stride, begin) = (rows.len, rows.stride, rows.packed_begin());
        let mut packed = PackedListMut::new(&mut self.bytes[begin..]);
        let place = packed.as_list().place(row * stride);
        packed.remove(place, count * stride);
        let width = self.tag_bytes;
        if width > 0 {
            let packed_end = self.byte_len();
            let (from, end) = (HEAD_BYTES + width * (row + count), HEAD_BYTES + width * len);
            self.bytes.copy_within(from..end, from - width * count);
            let room = tags_bytes(width, len) - tags_bytes(width, len - count);
            self.bytes.copy_within(begin..packed_end, begin - room);
        }
        self.set_len(len - count);
    }

    /// Replaces an element of a row.
    ///
    /// # Errors
    /// The number of bytes by which the leaf must grow first.
    pub fn replace(&mut self, row: usize, column: usize, cell: Element<'_>) -> Result<(), usize> {
        let rows = self.as_rows();
        let (at, begin) = (row * rows.stride + column, rows.packed_begin());
        let memory = self.bytes.len() - begin;
        let mut packed = PackedListMut::new(&mut self.bytes[begin..]);
        let place = packed.as_list().place(at);
        packed.replace(place, cell).map_err(|full| full.needed - memory)
    }

    #[inline]
    fn set_len(&mut self, len: usize) {
        self.bytes[..2].copy_from_slice(&narrow::to_u16(len).to_le_bytes());
    }
}

/// Order by position: each row stays where it was inserted.
#[derive(Debug)]
pub enum ByPosition {}

impl Order for ByPosition {
    const IS_SEARCHED: bool = false;

    fn separator<'n>(_: impl Nodes<'n>, _: Rows<'_>, _: Rows<'_>) -> Separator {
        Separator::new()
    }

    fn is_below<'n>(_: impl Nodes<'n>, _: Rows<'_>, _: usize, _: &[u8]) -> bool {
        false
    }

    fn cmp_rows<'n>(_: impl Nodes<'n>, _: Rows<'_>, _: usize, _: usize) -> Ordering {
        Ordering::Less
    }
}

/// Order by tags: 32 bits of a hash. Rows with the same tag are in no particular order.
#[derive(Debug)]
pub enum ByTag {}

/// Order by short tags: the upper 24 bits of a hash, above eight zero bits. For rows that hold
/// their member, so that equal tags of different members cost little.
#[derive(Debug)]
pub enum ByShortTag {}

/// Orders by tags.
pub trait Tagged: Order {}

impl Tagged for ByTag {}
impl Tagged for ByShortTag {}

/// Returns a tag as a separator.
fn separator_of(tag: u32) -> [u8; TAG_BYTES_MAX] {
    tag.to_be_bytes()
}

impl Order for ByTag {
    const TAG_BYTES: usize = 4;

    fn separator<'n>(_: impl Nodes<'n>, _: Rows<'_>, right: Rows<'_>) -> Separator {
        Separator::from_slice(&separator_of(right.tag(0)))
    }

    fn is_below<'n>(_: impl Nodes<'n>, rows: Rows<'_>, row: usize, separator: &[u8]) -> bool {
        separator_of(rows.tag(row))[..] < *separator
    }

    fn cmp_rows<'n>(_: impl Nodes<'n>, rows: Rows<'_>, row: usize, other: usize) -> Ordering {
        rows.tag(row).cmp(&rows.tag(other))
    }
}

impl Order for ByShortTag {
    const TAG_BYTES: usize = 3;

    fn separator<'n>(nodes: impl Nodes<'n>, left: Rows<'_>, right: Rows<'_>) -> Separator {
        ByTag::separator(nodes, left, right)
    }

    fn is_below<'n>(nodes: impl Nodes<'n>, rows: Rows<'_>, row: usize, separator: &[u8]) -> bool {
        ByTag::is_below(nodes, rows, row, separator)
    }

    fn cmp_rows<'n>(nodes: impl Nodes<'n>, rows: Rows<'_>, row: usize, other: usize) -> Ordering {
        ByTag::cmp_rows(nodes, rows, row, other)
    }
}

/// Order by the bytes of the first element, which is never kept as an integer.
#[derive(Debug)]
pub enum ByKey {}

impl ByKey {
    /// Returns the key of a row: its first element.
    #[inline]
    pub fn key<'a>(rows: Rows<'a>, row: usize) -> &'a [u8] {
        match rows.cell(row, 0) {
            Some(Element::Bytes(key)) => key,
            _ => &[],
        }
    }
}

impl Order for ByKey {
    fn separator<'n>(_: impl Nodes<'n>, left: Rows<'_>, right: Rows<'_>) -> Separator {
        let (below, above) = (Self::key(left, left.len() - 1), Self::key(right, 0));
        shortest_between(below, above)
    }

    fn is_below<'n>(_: impl Nodes<'n>, rows: Rows<'_>, row: usize, separator: &[u8]) -> bool {
        Self::key(rows, row) < separator
    }

    fn cmp_rows<'n>(_: impl Nodes<'n>, rows: Rows<'_>, row: usize, other: usize) -> Ordering {
        Self::key(rows, row).cmp(Self::key(rows, other))
    }
}

/// Returns the shortest prefix of `above` that is above `below`.
pub fn shortest_between(below: &[u8], above: &[u8]) -> Separator {
    let shared = below.iter().zip(above).take_while(|(one, other)| one == other).count();
    Separator::from_slice(&above[..above.len().min(shared + 1)])
}
