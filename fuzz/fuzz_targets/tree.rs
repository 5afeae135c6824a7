//! Trees of rows in every order are changed as a vector is, are sound after each change, and
//! refuse what there is no room for before anything happens.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use packed::Element;
use tree::{
    ByKey, ByPosition, ByShortTag, ByTag, CELL_BYTES_MAX, MemoryNodes, NoRoom, NodesMut, Order,
    Path, RowLeaf, Rows, Tagged, Tree, View, resolve,
};

/// Columns that a leaf is widened to, at most.
const STRIDE_MAX: usize = 4;
/// Rows of one tag: all of them stand in one leaf.
const SAME_TAG_MAX: usize = 20;
/// Rows up to which all of them are compared after each change.
const COMPARED_MAX: usize = 300;
/// Bytes of a packed list that a tree is made of.
const PACKED_BYTES: usize = 60_000;

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Text<'a> {
    Bytes(&'a [u8]),
    Number(i32),
    /// About as long as what gets a node of its own.
    Long(u16),
}

impl Text<'_> {
    fn bytes(self) -> Vec<u8> {
        match self {
            Text::Bytes(bytes) => bytes.to_vec(),
            Text::Number(number) => number.to_string().into_bytes(),
            Text::Long(len) => vec![len as u8; usize::from(len) % (3 * CELL_BYTES_MAX)],
        }
    }
}

/// Places are taken modulo the length.
#[derive(Arbitrary, Debug)]
enum Op<'a> {
    Insert {
        at: u16,
        text: Text<'a>,
    },
    /// So many, each `step` places from the one before.
    InsertMany {
        at: u16,
        step: i8,
        count: u8,
        text: Text<'a>,
    },
    Replace {
        at: u16,
        text: Text<'a>,
    },
    Remove {
        at: u16,
    },
    /// Those rows of a leaf whose bits are set.
    RemoveSome {
        at: u16,
        bits: u32,
    },
    RemoveRange {
        at: u16,
        count: u16,
    },
    Widen {
        at: u16,
    },
    /// The next change has so many bytes.
    Starve {
        bytes: u16,
    },
}

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    Positions { begin: Vec<Text<'a>>, ops: Vec<Op<'a>> },
    Tags { begin: Option<Vec<(u16, Text<'a>)>>, ops: Vec<Op<'a>> },
    ShortTags { begin: Option<Vec<(u16, Text<'a>)>>, ops: Vec<Op<'a>> },
    Keys { ops: Vec<Op<'a>> },
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    tag: u32,
    cells: Vec<Vec<u8>>,
}

/// An order in which the fuzzer puts rows.
trait Placed: Order + Sized {
    /// The row of an insertion, where a vector has it, and the leaf and row where the tree has it;
    /// `None` if it is not to be inserted.
    fn place(world: &World<'_, Self>, at: u16, text: Vec<u8>) -> Option<(Row, usize, Path, usize)>;
}

impl Placed for ByPosition {
    fn place(world: &World<'_, Self>, at: u16, text: Vec<u8>) -> Option<(Row, usize, Path, usize)> {
        let position = usize::from(at) % (world.model.len() + 1);
        let (path, row) = world.tree.view().find_position(position as u64);
        Some((Row { tag: 0, cells: vec![text] }, position, path, row as usize))
    }
}

/// A tag of as many bytes as the order keeps.
fn tag_of<O: Order>(at: u16) -> u32 {
    u32::from(at).wrapping_mul(0x9E37_79B1) & u32::MAX << (32 - 8 * O::TAG_BYTES)
}

fn place_by_tag<O: Tagged>(
    world: &World<'_, O>,
    at: u16,
    text: Vec<u8>,
) -> Option<(Row, usize, Path, usize)> {
    let tag = tag_of::<O>(at);
    let position = world.model.partition_point(|row| row.tag < tag);
    let same = world.model[position..].iter().take_while(|row| row.tag == tag).count();
    let path = world.tree.view().find_tag(tag);
    let rows = Rows::new(world.tree.view().leaf(&path));
    let mut cells = vec![text];
    cells.resize(world.stride, at.to_string().into_bytes());
    (same < SAME_TAG_MAX).then(|| (Row { tag, cells }, position, path, rows.find_tag(tag)))
}

impl Placed for ByTag {
    fn place(world: &World<'_, Self>, at: u16, text: Vec<u8>) -> Option<(Row, usize, Path, usize)> {
        place_by_tag(world, at, text)
    }
}

impl Placed for ByShortTag {
    fn place(world: &World<'_, Self>, at: u16, text: Vec<u8>) -> Option<(Row, usize, Path, usize)> {
        place_by_tag(world, at, text)
    }
}

impl Placed for ByKey {
    fn place(world: &World<'_, Self>, at: u16, text: Vec<u8>) -> Option<(Row, usize, Path, usize)> {
        let mut key = text.clone();
        key.truncate(CELL_BYTES_MAX - 2);
        key.extend(at.to_be_bytes());
        let position = world.model.partition_point(|row| row.cells[0] < key);
        let is_there = world.model.get(position).is_some_and(|row| row.cells[0] == key);
        let path = world.tree.view().find(|separator| separator <= &key[..]);
        let rows = Rows::new(world.tree.view().leaf(&path));
        let row = rows.partition(|row| ByKey::key(rows, row) < &key[..]);
        (!is_there).then(|| (Row { tag: 0, cells: vec![key, text] }, position, path, row))
    }
}

struct World<'n, O: Order> {
    tree: Tree<'n, MemoryNodes, RowLeaf<O>>,
    model: Vec<Row>,
    /// Columns that are looked at; those beyond hold zeros.
    stride: usize,
    /// Whether the first column is the key, which is no integer and does not change.
    has_key: bool,
}

impl<O: Placed> World<'_, O> {
    fn play(&mut self, ops: &[Op<'_>]) {
        self.check(true);
        for op in ops {
            // What was refused is as it was before; the next change has room again.
            let _ = self.apply(op);
            if !matches!(op, Op::Starve { .. }) {
                self.tree.nodes.budget = None;
            }
            self.check(self.model.len() <= COMPARED_MAX);
        }
        self.check(true);
        self.tree.remove_range(0, u64::MAX, |_, _, _, _| ());
        assert_eq!((self.tree.root.count, self.tree.nodes.len()), (0, 1));
    }

    fn at(&self, at: u16) -> usize {
        usize::from(at) % self.model.len()
    }

    fn apply(&mut self, op: &Op<'_>) -> Result<(), NoRoom> {
        match *op {
            Op::Insert { at, text } => return self.insert(at, text.bytes()),
            Op::InsertMany { mut at, step, count, text } => {
                for _ in 0..count {
                    self.insert(at, text.bytes())?;
                    at = at.wrapping_add_signed(step.into());
                }
            }
            Op::Starve { bytes } => self.tree.nodes.budget = Some(bytes.into()),
            _ if self.model.is_empty() => {}
            Op::Replace { at, text } => return self.replace(self.at(at), text.bytes()),
            Op::Remove { at } => self.remove(self.at(at)),
            Op::RemoveSome { at, bits } => self.remove_some(self.at(at), bits),
            Op::RemoveRange { at, count } => self.remove_range(self.at(at), count.into()),
            Op::Widen { at } => {
                let (path, _) = self.tree.view().find_position(self.at(at) as u64);
                let stride = Rows::new(self.tree.view().leaf(&path)).stride();
                if stride < STRIDE_MAX {
                    self.tree.ensure_change()?;
                    self.tree.widen_leaf(&path, stride + 1);
                }
            }
        }
        Ok(())
    }

    /// Makes sure of room for a change after the elements were made, which it frees if there is
    /// none.
    fn ensure(&mut self, cells: &[Element<'_>]) -> Result<(), NoRoom> {
        let ensured = self.tree.ensure_change();
        if ensured.is_err() {
            for cell in cells {
                if let Element::Far(far) = cell {
                    self.tree.nodes.free(far.node);
                }
            }
        }
        ensured
    }

    fn insert(&mut self, at: u16, text: Vec<u8>) -> Result<(), NoRoom> {
        let Some((new, position, path, row)) = O::place(self, at, text) else { return Ok(()) };
        assert_eq!(self.tree.view().count_before(&path) + row as u64, position as u64);
        let stride = Rows::new(self.tree.view().leaf(&path)).stride();
        let mut cells = Vec::new();
        for (column, text) in new.cells.iter().enumerate() {
            let is_key = self.has_key && column == 0;
            match if is_key { Ok(Element::Bytes(text)) } else { self.tree.cell(text) } {
                Ok(cell) => cells.push(cell),
                Err(NoRoom) => {
                    self.tree.nodes.budget = Some(0);
                    return self.ensure(&cells);
                }
            }
        }
        self.ensure(&cells)?;
        cells.resize(stride, Element::Integer(0));
        self.tree.insert_row(&path, row, new.tag, &cells);
        self.model.insert(position, new);
        Ok(())
    }

    fn replace(&mut self, at: usize, text: Vec<u8>) -> Result<(), NoRoom> {
        let column = self.stride - 1;
        let cell = self.tree.cell(&text)?;
        self.ensure(&[cell])?;
        let (path, row) = self.tree.view().find_position(at as u64);
        self.tree.replace_cell(&path, row as usize, column, cell);
        self.model[at].cells[column] = text;
        Ok(())
    }

    fn remove(&mut self, at: usize) {
        let (path, row) = self.tree.view().find_position(at as u64);
        self.tree.remove_rows(&path, row as usize, 1);
        self.model.remove(at);
    }

    fn remove_some(&mut self, at: usize, bits: u32) {
        let (path, _) = self.tree.view().find_position(at as u64);
        let len = Rows::new(self.tree.view().leaf(&path)).len();
        let numbers: Vec<usize> = (0..len).filter(|row| bits >> (row % 32) & 1 == 1).collect();
        if numbers.is_empty() {
            return;
        }
        let before = self.tree.view().count_before(&path) as usize;
        self.tree.remove_some_rows(&path, &numbers);
        numbers.iter().rev().for_each(|row| drop(self.model.remove(before + row)));
    }

    fn remove_range(&mut self, at: usize, count: usize) {
        let (mut seen, end) = (Vec::new(), self.model.len().min(at + count));
        self.tree.remove_range(at as u64, count as u64, |nodes, rows, from, taken| {
            seen.extend((from..from + taken).map(|row| first_text(nodes, rows, row)));
        });
        let gone = self.model.drain(at..end).map(|row| row.cells[0].clone());
        assert!(gone.eq(seen));
    }

    fn check(&self, compares: bool) {
        let view = self.tree.view();
        assert_eq!(view.verify(), Ok(self.tree.nodes.len()), "no node is lost");
        assert_eq!(view.root.count, self.model.len() as u64);
        if compares {
            self.compare(view);
        }
    }

    fn compare(&self, view: View<'_, &MemoryNodes, RowLeaf<O>>) {
        let (mut path, mut expected) = (view.first(), self.model.iter());
        loop {
            let rows = Rows::new(view.leaf(&path));
            for row in 0..rows.len() {
                let cells = (0..rows.stride()).map(|column| {
                    resolve(view.nodes, rows.cell(row, column).expect("a cell")).to_text()
                });
                let wanted = expected.next().expect("a row");
                let mut all = wanted.cells.clone();
                all.resize(rows.stride(), b"0".to_vec());
                assert!(cells.eq(all));
                assert!(O::TAG_BYTES == 0 || rows.tag(row) == wanted.tag);
            }
            if !view.next(&mut path) {
                return assert_eq!(expected.next(), None);
            }
        }
    }
}

fn first_text(nodes: &MemoryNodes, rows: Rows<'_>, row: usize) -> Vec<u8> {
    resolve(nodes.read(), rows.cell(row, 0).expect("a cell")).to_text()
}

fn by_position(begin: &[Text<'_>], ops: &[Op<'_>]) {
    let (mut packed, mut model) = (packed::EMPTY.to_vec(), Vec::new());
    for text in begin.iter().map(|text| text.bytes()) {
        if packed.len() + text.len() < PACKED_BYTES {
            packed::push(&mut packed, Element::of(&text));
            model.push(Row { tag: 0, cells: vec![text] });
        }
    }
    let mut nodes = MemoryNodes::default();
    let leaf = Rows::of_packed(packed::PackedList::new(&packed), 1);
    let tree = Tree::of_rows(&mut nodes, &leaf).expect("room");
    World::<ByPosition> { tree, model, stride: 1, has_key: false }.play(ops);
}

fn by_tag<O: Tagged + Placed>(begin: Option<&[(u16, Text<'_>)]>, ops: &[Op<'_>]) {
    let row =
        |(at, text): &(u16, Text<'_>)| Row { tag: tag_of::<O>(*at), cells: vec![text.bytes()] };
    let mut model: Vec<Row> = begin.unwrap_or_default().iter().map(row).collect();
    model.sort_by_key(|row| row.tag);
    let is_many =
        model.chunk_by(|one, other| one.tag == other.tag).any(|it| it.len() > SAME_TAG_MAX);
    if is_many {
        return;
    }
    let mut nodes = MemoryNodes::default();
    let (root, stride) = if begin.is_some() {
        let rows = model.iter().map(|row| (row.tag, Element::of(&row.cells[0])));
        (Tree::<_, RowLeaf<O>>::of_tagged(&mut nodes, rows), 1)
    } else {
        (Tree::<_, RowLeaf<O>>::empty(&mut nodes, 2), 2)
    };
    let tree = Tree::new(&mut nodes, root.expect("room"));
    World::<O> { tree, model, stride, has_key: false }.play(ops);
}

fn by_key(ops: &[Op<'_>]) {
    let mut nodes = MemoryNodes::default();
    let root = Tree::<_, RowLeaf<ByKey>>::empty(&mut nodes, 2).expect("room");
    let tree = Tree::new(&mut nodes, root);
    World::<ByKey> { tree, model: Vec::new(), stride: 2, has_key: true }.play(ops);
}

fuzz_target!(|input: Input<'_>| match input {
    Input::Positions { begin, ops } => by_position(&begin, &ops),
    Input::Tags { begin, ops } => by_tag::<ByTag>(begin.as_deref(), &ops),
    Input::ShortTags { begin, ops } => by_tag::<ByShortTag>(begin.as_deref(), &ops),
    Input::Keys { ops } => by_key(&ops),
});
