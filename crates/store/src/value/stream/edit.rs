//! Entries into and out of the tree of blocks.

use super::Id;
use super::block::{Block, BlockLeaf, NAMES_BYTES_MAX, run_mut};
use super::entry::{self, Body, Bytes, Names, Packed, STARTS};
use packed::{Element, Place, Run};
use smallvec::SmallVec;
use tree::{CELL_BYTES_MAX, NODE_BYTES, NoRoom, NodeId, NodesMut, Path, Root, Tree, View};

/// The tree of the entries of a stream.
pub(super) type Entries<'n, N> = Tree<'n, N, BlockLeaf>;

/// A growing block gets so great a part of its length as room for more.
const SLACK_PART: usize = 8;
/// Bytes that a record takes besides its content, at most.
const RECORD_BYTES: usize = 64;

/// What a new entry holds, in the forms that it may take in a block.
pub(super) struct NewEntry<'t, T> {
    /// Names and values in turn.
    texts: T,
    pairs: usize,
    names: Bytes,
    text: std::marker::PhantomData<&'t ()>,
}

impl<'t, T: Iterator<Item = &'t [u8]> + Clone> NewEntry<'t, T> {
    /// The entry with these names and values, which come in turn.
    pub fn new(texts: T, pairs: usize) -> NewEntry<'t, T> {
        let mut names = Bytes::new();
        texts.clone().step_by(2).for_each(|name| entry::push(&mut names, name));
        NewEntry { texts, pairs, names, text: std::marker::PhantomData }
    }

    fn names(&self) -> Names<'_> {
        if self.names.len() > NAMES_BYTES_MAX {
            return Names { count: 0, bytes: &[] };
        }
        Names { count: self.pairs, bytes: &self.names }
    }

    /// Its values, or with names if it does not have those of a block.
    fn body(&self, names: Names<'_>) -> Bytes {
        let mut body = Bytes::new();
        if self.is_named_by(names) {
            self.texts.clone().skip(1).step_by(2).for_each(|value| entry::push(&mut body, value));
        } else {
            entry::write_pairs(self.pairs, &mut body);
            self.texts.clone().for_each(|text| entry::push(&mut body, text));
        }
        body
    }

    fn is_named_by(&self, names: Names<'_>) -> bool {
        names.count > 0 && names == self.names()
    }

    /// What `body` made for a block.
    fn form<'b>(&self, names: Names<'_>, body: &'b Bytes) -> Body<'b> {
        if self.is_named_by(names) { Body::Values(body) } else { Body::Named(body) }
    }
}

/// A tree of entries without any, in a small node that may grow.
pub(super) fn new_tree<N: NodesMut>(nodes: &mut N) -> Result<Root, NoRoom> {
    let leaf = Block::empty(Id::MIN, Names { count: 0, bytes: &[] });
    nodes.ensure(leaf.len() + RECORD_BYTES)?;
    let node = nodes.allocate(leaf.len(), leaf.len());
    nodes.bytes_mut(node).copy_from_slice(&leaf);
    Ok(Root { node, height: 0, weight: 0 })
}

/// Adds an entry behind all others.
pub(super) fn append<'t, N: NodesMut>(
    tree: &mut Entries<'_, N>,
    id: Id,
    starts: bool,
    new: &NewEntry<'t, impl Iterator<Item = &'t [u8]> + Clone>,
) -> Result<(), NoRoom> {
    tree.ensure_change()?;
    let path = tree.view().last();
    let block = Block::new(tree.nodes.bytes(path.leaf));
    if block.run.is_empty() {
        let empty = Block::empty(id, new.names());
        tree.nodes.resize(path.leaf, empty.len()).copy_from_slice(&empty);
        return append_to(tree, &path, id, starts, new);
    }
    append_to(tree, &path, id, starts, new)
}

fn append_to<'t, N: NodesMut>(
    tree: &mut Entries<'_, N>,
    path: &Path,
    id: Id,
    starts: bool,
    new: &NewEntry<'t, impl Iterator<Item = &'t [u8]> + Clone>,
) -> Result<(), NoRoom> {
    let block = Block::new(tree.nodes.bytes(path.leaf));
    let body = new.body(block.names);
    if body.len() > CELL_BYTES_MAX {
        let node = far_body(tree.nodes, new)?;
        return append_far(tree, path, id, starts, node);
    }
    let bytes = entry::write(id, block.base, starts, new.form(block.names, &body));
    let needed = block.dense_len() + Element::Bytes(&bytes).cost();
    if needed <= NODE_BYTES {
        push(tree, path, needed, &bytes);
        return Ok(());
    }
    close(tree, path);
    // A body of values for these names may be longer as one with other names, or the reverse.
    let empty = Block::empty(id, new.names());
    let names = Block::new(&empty).names;
    let body = new.body(names);
    insert_block(tree, path, &empty, &entry::write(id, id, starts, new.form(names, &body)));
    Ok(())
}

/// Gives the names and values of an entry a node of their own.
#[cold]
fn far_body<'t, N: NodesMut>(
    nodes: &mut N,
    new: &NewEntry<'t, impl Iterator<Item = &'t [u8]> + Clone>,
) -> Result<NodeId, NoRoom> {
    let body = new.body(Names { count: 0, bytes: &[] });
    nodes.ensure(body.len() + RECORD_BYTES)?;
    let node = nodes.allocate(body.len(), body.len());
    nodes.bytes_mut(node).copy_from_slice(&body);
    Ok(node)
}

#[cold]
fn append_far<N: NodesMut>(
    tree: &mut Entries<'_, N>,
    path: &Path,
    id: Id,
    starts: bool,
    node: NodeId,
) -> Result<(), NoRoom> {
    if let Err(error) = tree.ensure_change() {
        tree.nodes.free(node);
        return Err(error);
    }
    let block = Block::new(tree.nodes.bytes(path.leaf));
    let bytes = entry::write(id, block.base, starts, Body::Far(node));
    let needed = block.dense_len() + Element::Bytes(&bytes).cost();
    if needed <= NODE_BYTES {
        push(tree, path, needed, &bytes);
        return Ok(());
    }
    let empty = Block::empty(id, block.names);
    close(tree, path);
    insert_block(tree, path, &empty, &entry::write(id, id, starts, Body::Far(node)));
    Ok(())
}

/// Adds an entry to the block of a path, which takes `needed` bytes then.
#[inline]
fn push<N: NodesMut>(tree: &mut Entries<'_, N>, path: &Path, needed: usize, bytes: &Bytes) {
    let len = tree.nodes.bytes(path.leaf).len();
    if needed > len {
        tree.nodes.resize(path.leaf, (needed + needed / SLACK_PART).min(NODE_BYTES));
    }
    let mut run = run_mut(tree.nodes.bytes_mut(path.leaf));
    run.push_back(Element::Bytes(bytes)).expect("the block has grown");
    tree.changed(path, 1);
}

/// Takes from a block that is full what it does not use.
fn close<N: NodesMut>(tree: &mut Entries<'_, N>, path: &Path) {
    run_mut(tree.nodes.bytes_mut(path.leaf)).close_gaps();
    let used = Block::new(tree.nodes.bytes(path.leaf)).dense_len();
    tree.nodes.resize(path.leaf, used);
}

/// Puts a block with one entry behind that of a path.
fn insert_block<N: NodesMut>(tree: &mut Entries<'_, N>, path: &Path, empty: &[u8], bytes: &Bytes) {
    let element = Element::Bytes(bytes);
    tree.insert_leaf(path, true, empty.len() + element.cost(), |leaf| {
        leaf[..empty.len()].copy_from_slice(empty);
        run_mut(leaf).push_back(element).expect("the block is long enough");
    });
}

/// What is left of nodes, as clients count them, when entries go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Removed {
    /// Nodes that are gone with them.
    pub nodes: u32,
    /// Whether the last node is among those.
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
    run_mut(tree.nodes.bytes_mut(path.leaf)).remove(place, 1);
    shrink(tree, &path);
    tree.changed(&path, -1);
    Some(removed)
}

fn packed_at<'t, N: NodesMut>(tree: &'t Entries<'_, N>, path: &Path, place: Place) -> Packed<'t> {
    let block = Block::new(tree.nodes.bytes(path.leaf));
    block.at(place).expect("an entry stands there")
}

/// The entry behind one.
fn following<'n, N: tree::Nodes<'n>>(
    view: &View<'n, N, BlockLeaf>,
    path: &Path,
    place: Place,
) -> Option<(Path, Place)> {
    let run = Block::new(view.leaf(path)).run;
    let next = run.after(place);
    if next.index() < run.len() {
        return Some((path.clone(), next));
    }
    let mut path = path.clone();
    view.next(&mut path).then(|| {
        let front = Block::new(view.leaf(&path)).run.front();
        (path, front)
    })
}

/// Marks an entry as the first of a node.
fn mark_start<N: NodesMut>(tree: &mut Entries<'_, N>, path: &Path, place: Place) {
    let mut run = run_mut(tree.nodes.bytes_mut(path.leaf));
    let Some(Element::Bytes(bytes)) = run.as_run().at(place) else { return };
    let mut bytes = Bytes::from_slice(bytes);
    bytes[0] |= STARTS;
    run.replace(place, Element::Bytes(&bytes)).expect("as long as it was");
}

/// Gives back what a block does not use, where that is a good part of it.
fn shrink<N: NodesMut>(tree: &mut Entries<'_, N>, path: &Path) {
    let leaf = tree.nodes.bytes(path.leaf);
    let (len, used) = (leaf.len(), Block::new(leaf).dense_len());
    if len - used > len / SLACK_PART * 2 {
        close(tree, path);
    }
}

/// Removes the first `count` entries, or those that there are.
pub(super) fn remove_front<N: NodesMut>(tree: &mut Entries<'_, N>, count: u64) -> Removed {
    let (mut left, mut nodes) = (count.min(tree.root.weight), 0);
    let is_all = left == tree.root.weight;
    while left > 0 {
        let path = tree.view().first();
        let run = Block::new(tree.nodes.bytes(path.leaf)).run;
        let (len, taken) = (run.len(), run.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
        nodes += forget(tree, &path, taken);
        if taken == len && !tree.view().is_last(&path) {
            tree.remove_leaf(&path);
        } else {
            let front = Run::front(&Block::new(tree.nodes.bytes(path.leaf)).run);
            run_mut(tree.nodes.bytes_mut(path.leaf)).remove(front, taken);
            shrink(tree, &path);
            tree.changed(&path, -(taken as i64));
        }
        left -= taken as u64;
    }
    if is_all {
        return Removed { nodes, is_tail_gone: true };
    }
    let path = tree.view().first();
    let front = Block::new(tree.nodes.bytes(path.leaf)).run.front();
    if !packed_at(tree, &path, front).starts() {
        mark_start(tree, &path, front);
        nodes -= 1;
    }
    Removed { nodes, is_tail_gone: false }
}

/// Frees what the first entries of a block keep elsewhere, and counts the nodes that they start.
fn forget<N: NodesMut>(tree: &mut Entries<'_, N>, path: &Path, count: usize) -> u32 {
    let (mut nodes, mut far) = (0, SmallVec::<[NodeId; 8]>::new());
    for entry in Block::new(tree.nodes.bytes(path.leaf)).iter().take(count) {
        nodes += u32::from(entry.starts());
        far.extend(entry.far());
    }
    far.into_iter().for_each(|node| tree.nodes.free(node));
    nodes
}
