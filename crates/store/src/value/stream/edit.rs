//! Changes of the tree of blocks, entry by entry.

use super::Id;
use super::block::{Block, BlockLeaf, NAMES_BYTES_MAX, packed_mut};
use super::entry::{self, Bytes, Names, Packed, STARTS};
use crate::value::list::element_bytes;
use packed::{Element, PackedList, Place};
use smallvec::SmallVec;
use tree::{CELL_BYTES_MAX, NODE_BYTES, NoRoom, NodeId, NodesMut, Path, Root, Tree, View};

/// Tree of the entries of a stream.
pub(super) type Entries<'n, N> = Tree<'n, N, BlockLeaf>;

/// Divisor of the length for the slack of a growing block.
const SLACK_PART: usize = 8;
/// Most bytes of a record besides its content.
const RECORD_BYTES: usize = 64;

/// Multiplier of the hash of names: odd, with well mixed bits.
const HASH_FACTOR: u32 = 0x9e37_79b1;

/// Total bytes of texts above which an entry goes to a node of its own without being tried in a
/// block.
const TEXT_BYTES_MAX: usize = 2 * CELL_BYTES_MAX;

/// Content of a new entry: names and values in turn.
#[derive(Clone)]
pub(super) struct NewEntry<T> {
    texts: T,
    pairs: usize,
    /// Bytes of all texts.
    len: usize,
}

/// Sizes of an entry in a listpack.
#[derive(Clone, Copy)]
pub(super) struct Listpack {
    pub pairs: i64,
    /// Bytes of all names.
    pub names: usize,
    /// Bytes of all values.
    pub values: usize,
    /// Hash of the names, equal for entries with equal names.
    pub names_hash: u32,
}

impl<'t, T: Iterator<Item = &'t [u8]> + Clone> NewEntry<T> {
    /// Returns the entry with these names and values.
    pub fn new(texts: T) -> NewEntry<T> {
        let count = |(count, len), text: &[u8]| (count + 1, len + text.len());
        let (count, len) = texts.clone().fold((0, 0), count);
        NewEntry { texts, pairs: count / 2, len }
    }

    /// Bytes of all names and values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the sizes that the entry has in a listpack.
    pub fn in_listpack(&self) -> Listpack {
        let bytes = |text: &[u8]| element_bytes(Element::of(text));
        let names = self.texts.clone().step_by(2);
        let values = self.texts.clone().skip(1).step_by(2);
        let names_hash = names.clone().fold(0, |hash, name| {
            // Collisions are harmless: they only change where a node ends.
            let add = |hash: u32, byte: &u8| (hash ^ u32::from(*byte)).wrapping_mul(HASH_FACTOR);
            name.iter().fold(hash ^ narrow::to_u32(name.len()), add).rotate_left(5)
        });
        Listpack {
            pairs: self.pairs as i64,
            names: names.map(bytes).sum(),
            values: values.map(bytes).sum(),
            names_hash,
        }
    }

    /// Returns the names as a block keeps them; none if they are too long for that.
    fn names(&self) -> (usize, Bytes) {
        let mut names = Bytes::new();
        self.texts.clone().step_by(2).for_each(|name| entry::push(&mut names, name));
        if names.len() > NAMES_BYTES_MAX { (0, Bytes::new()) } else { (self.pairs, names) }
    }

    /// Returns true if the names are those of a block.
    #[inline]
    fn is_named_by(&self, names: Names<'_>) -> bool {
        let mut rest = names.bytes;
        names.count == self.pairs
            && self.texts.clone().step_by(2).all(|name| {
                let Some((element, behind)) = Element::read_inline(rest) else { return false };
                rest = behind;
                element == Element::of(name)
            })
    }

    /// Writes the entry for a block; false if its body is too long for one.
    #[inline]
    fn write(&self, id: Id, starts: bool, base: Id, names: Names<'_>, to: &mut Bytes) -> bool {
        if self.len > TEXT_BYTES_MAX {
            return false;
        }
        let is_named_by_block = self.is_named_by(names);
        entry::write_head(id, base, starts, !is_named_by_block, to);
        let begin = to.len();
        if is_named_by_block {
            self.texts.clone().skip(1).step_by(2).for_each(|value| entry::push(to, value));
        } else {
            self.write_named(to);
        }
        to.len() - begin <= CELL_BYTES_MAX
    }

    /// Writes a body with names.
    fn write_named(&self, to: &mut Bytes) {
        entry::write_pairs(self.pairs, to);
        self.texts.clone().for_each(|text| entry::push(to, text));
    }
}

/// Creates a tree without entries, in a small node that may grow.
pub(super) fn new_tree<N: NodesMut>(nodes: &mut N) -> Result<Root, NoRoom> {
    let leaf = Block::empty(Id::MIN, Names { count: 0, bytes: &[] });
    nodes.ensure(leaf.len() + RECORD_BYTES)?;
    let node = nodes.allocate(leaf.len(), leaf.len());
    nodes.bytes_mut(node).copy_from_slice(&leaf);
    Ok(Root { node, height: 0, count: 0 })
}

/// Last block of a tree, to which entries are added.
///
/// The counts in the nodes above it are brought up to date only when the block is full, or before
/// any other change of the tree. These nodes are the last ones of their levels, so no search
/// depends on their counts until then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tail {
    /// Node of the block; zero if not known yet.
    pub node: NodeId,
    /// Number of entries that the counts in the nodes above lack.
    pub uncounted: u32,
}

impl Tail {
    /// Adds the missing entries to the counts in the nodes above.
    pub fn count_in<N: NodesMut>(&mut self, tree: &mut Entries<'_, N>) {
        let gained = i64::from(std::mem::take(&mut self.uncounted));
        if gained > 0 {
            let path = tree.view().last();
            tree.root.count -= gained as u64;
            tree.add_count(&path, gained);
        }
    }

    #[inline]
    fn gain<N: NodesMut>(&mut self, tree: &mut Entries<'_, N>) {
        self.uncounted += 1;
        tree.root.count += 1;
    }
}

/// Appends an entry after all others.
#[inline]
pub(super) fn append<'t, N: NodesMut>(
    tree: &mut Entries<'_, N>,
    tail: &mut Tail,
    id: Id,
    starts: bool,
    new: &NewEntry<impl Iterator<Item = &'t [u8]> + Clone>,
) -> Result<(), NoRoom> {
    tree.ensure_change()?;
    if tail.node == 0 {
        tail.node = tree.view().last().leaf;
    }
    let block = Block::new(tree.nodes.bytes(tail.node));
    let mut bytes = Bytes::new();
    if !new.write(id, starts, block.base, block.names, &mut bytes) {
        return append_far(tree, tail, id, starts, new);
    }
    if !block.packed.is_empty() && push(tree, tail, &bytes) {
        return Ok(());
    }
    let (count, names) = new.names();
    let names = Names { count, bytes: &names };
    bytes.clear();
    if !new.write(id, starts, id, names, &mut bytes) {
        return append_far(tree, tail, id, starts, new);
    }
    append_block(tree, tail, &Block::empty(id, names), &bytes);
    Ok(())
}

/// Appends an entry whose names and values have a node of their own.
#[cold]
fn append_far<'t, N: NodesMut>(
    tree: &mut Entries<'_, N>,
    tail: &mut Tail,
    id: Id,
    starts: bool,
    new: &NewEntry<impl Iterator<Item = &'t [u8]> + Clone>,
) -> Result<(), NoRoom> {
    let mut body = Bytes::new();
    new.write_named(&mut body);
    let node = tree.nodes.allocate_long(body.len())?;
    tree.nodes.bytes_mut(node).copy_from_slice(&body);
    if let Err(error) = tree.ensure_change() {
        tree.nodes.free(node);
        return Err(error);
    }
    let block = Block::new(tree.nodes.bytes(tail.node));
    let bytes = entry::write_far(id, block.base, starts, node);
    if block.packed.is_empty() || !push(tree, tail, &bytes) {
        let names = Block::new(tree.nodes.bytes(tail.node)).names;
        let empty = Block::empty(id, names);
        append_block(tree, tail, &empty, &entry::write_far(id, id, starts, node));
    }
    Ok(())
}

/// Appends an entry to the last block; false if it is full.
#[inline]
fn push<N: NodesMut>(tree: &mut Entries<'_, N>, tail: &mut Tail, bytes: &Bytes) -> bool {
    let leaf = tree.nodes.bytes(tail.node);
    let element = Element::Bytes(bytes);
    let needed = Block::new(leaf).len_with(element);
    if needed > NODE_BYTES {
        return false;
    }
    if needed > leaf.len() {
        let len = (needed + needed / SLACK_PART).min(NODE_BYTES);
        packed_mut(tree.nodes.resize(tail.node, len)).spread();
    }
    packed_mut(tree.nodes.bytes_mut(tail.node)).push_back(element).expect("the block has grown");
    tail.gain(tree);
    true
}

/// Adds a block with one entry after the last one, or in place of the last one if that is empty.
#[cold]
fn append_block<N: NodesMut>(
    tree: &mut Entries<'_, N>,
    tail: &mut Tail,
    empty: &[u8],
    bytes: &Bytes,
) {
    let element = Element::Bytes(bytes);
    let len = Block::new(empty).len_with(element);
    let fill = |leaf: &mut [u8]| {
        leaf[..empty.len()].copy_from_slice(empty);
        packed_mut(leaf).push_back(element).expect("the block is long enough");
    };
    tail.count_in(tree);
    if Block::new(tree.nodes.bytes(tail.node)).packed.is_empty() {
        fill(tree.nodes.resize(tail.node, len));
        return tail.gain(tree);
    }
    let path = tree.view().last();
    close(tree, &path);
    tree.insert_leaf(&path, true, len, fill);
    tail.node = tree.view().last().leaf;
}

/// Shrinks a full block to the bytes in use.
fn close<N: NodesMut>(tree: &mut Entries<'_, N>, path: &Path) {
    packed_mut(tree.nodes.bytes_mut(path.leaf)).close_gaps();
    let used = Block::new(tree.nodes.bytes(path.leaf)).dense_len();
    tree.nodes.resize(path.leaf, used);
}

/// Effect of a removal of entries on nodes as clients count them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Removed {
    /// Number of nodes removed with the entries.
    pub nodes: u32,
    /// True if the last node is one of them.
    pub is_tail_gone: bool,
}

/// Removes the entry with an id; `None` if there is none.
pub(super) fn remove<N: NodesMut>(tree: &mut Entries<'_, N>, id: Id) -> Option<Removed> {
    let key = id.to_bytes();
    let path = tree.view().find(|separator| separator <= &key[..]);
    let block = Block::new(tree.nodes.bytes(path.leaf));
    let place = block.seek(id);
    let gone = block.at(place).filter(|entry| entry.id == id)?;
    let (starts, far) = (gone.starts(), gone.far());
    let mut removed = Removed::default();
    if starts {
        let next = following(&tree.view(), &path, place);
        match next {
            Some((path, place)) if !packed_at(tree, &path, place).starts() => {
                mark_start(tree, &path, place);
            }
            next => removed = Removed { nodes: 1, is_tail_gone: next.is_none() },
        }
    }
    if let Some(node) = far {
        tree.nodes.free(node);
    }
    packed_mut(tree.nodes.bytes_mut(path.leaf)).remove(place, 1);
    shrink(tree, &path);
    tree.changed(&path, -1);
    Some(removed)
}

fn packed_at<'t, N: NodesMut>(tree: &'t Entries<'_, N>, path: &Path, place: Place) -> Packed<'t> {
    let block = Block::new(tree.nodes.bytes(path.leaf));
    block.at(place).expect("an entry stands there")
}

/// Returns the position of the next entry.
fn following<'n, N: tree::Nodes<'n>>(
    view: &View<'n, N, BlockLeaf>,
    path: &Path,
    place: Place,
) -> Option<(Path, Place)> {
    let packed = Block::new(view.leaf(path)).packed;
    let next = packed.after(place);
    if next.index() < packed.len() {
        return Some((path.clone(), next));
    }
    let mut path = path.clone();
    view.next(&mut path).then(|| {
        let front = Block::new(view.leaf(&path)).packed.front();
        (path, front)
    })
}

/// Marks an entry as the first of a node.
fn mark_start<N: NodesMut>(tree: &mut Entries<'_, N>, path: &Path, place: Place) {
    let mut packed = packed_mut(tree.nodes.bytes_mut(path.leaf));
    let Some(Element::Bytes(bytes)) = packed.as_list().at(place) else { return };
    let mut bytes = Bytes::from_slice(bytes);
    bytes[0] |= STARTS;
    packed.replace(place, Element::Bytes(&bytes)).expect("as long as it was");
}

/// Shrinks a block to the bytes in use if a good part of it is unused.
fn shrink<N: NodesMut>(tree: &mut Entries<'_, N>, path: &Path) {
    let leaf = tree.nodes.bytes(path.leaf);
    let (len, used) = (leaf.len(), Block::new(leaf).dense_len());
    if len - used > len / SLACK_PART * 2 {
        close(tree, path);
    }
}

/// Removes the first `count` entries, or all if there are fewer.
pub(super) fn remove_front<N: NodesMut>(tree: &mut Entries<'_, N>, count: u64) -> Removed {
    let (mut left, mut nodes) = (count.min(tree.root.count), 0);
    let is_all = left == tree.root.count;
    while left > 0 {
        let path = tree.view().first();
        let packed = Block::new(tree.nodes.bytes(path.leaf)).packed;
        let (len, taken) =
            (packed.len(), packed.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
        nodes += forget(tree, &path, taken);
        if taken == len && !tree.view().is_last(&path) {
            tree.remove_leaf(&path);
        } else {
            let front = PackedList::front(&Block::new(tree.nodes.bytes(path.leaf)).packed);
            packed_mut(tree.nodes.bytes_mut(path.leaf)).remove(front, taken);
            shrink(tree, &path);
            tree.changed(&path, -(taken as i64));
        }
        left -= taken as u64;
    }
    if is_all {
        return Removed { nodes, is_tail_gone: true };
    }
    let path = tree.view().first();
    let front = Block::new(tree.nodes.bytes(path.leaf)).packed.front();
    if !packed_at(tree, &path, front).starts() {
        mark_start(tree, &path, front);
        nodes -= 1;
    }
    Removed { nodes, is_tail_gone: false }
}

/// Frees the nodes of bodies that belong to the first entries of a block; returns the number of
/// nodes, as clients count them, that these entries start.
fn forget<N: NodesMut>(tree: &mut Entries<'_, N>, path: &Path, count: usize) -> u32 {
    let (mut nodes, mut far) = (0, SmallVec::<[NodeId; 8]>::new());
    for entry in Block::new(tree.nodes.bytes(path.leaf)).iter().take(count) {
        nodes += u32::from(entry.starts());
        far.extend(entry.far());
    }
    far.into_iter().for_each(|node| tree.nodes.free(node));
    nodes
}
