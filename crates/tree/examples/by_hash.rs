//! Compares two indexes of members by hash, a tree and a directory, both with the same leaves.
//!
//! ```text
//! tree        root ──▶ inner ──▶ leaf          separators of 4 bytes, splits of two into three
//! directory   hash's first bits ──▶ leaf       extendible hashing: a leaf splits by the next bit
//! ```
//! `cargo run --release -p tree --example by_hash` prints, for some sizes, nanoseconds per lookup
//! and insertion and bytes per member. Members have 16 bytes.

use packed::Element;
use std::time::Instant;
use tree::{ByTag, MemoryNodes, NODE_BYTES, NodeId, NodesMut, RowLeaf, Rows, RowsMut, Tree, View};

type Leaf = RowLeaf<ByTag>;

fn tag_of(number: u64) -> u32 {
    let mixed = (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32) as u32
}

fn member(number: u64, to: &mut [u8; 16]) -> Element<'_> {
    to[..8].copy_from_slice(&number.to_be_bytes());
    to[8..].copy_from_slice(b"-member-");
    Element::Bytes(to)
}

fn has(rows: Rows<'_>, tag: u32, wanted: Element<'_>) -> bool {
    let first = rows.find_tag(tag);
    (first..rows.len())
        .take_while(|row| rows.tag(*row) == tag)
        .any(|row| rows.cell(row, 0) == Some(wanted))
}

trait Members {
    fn add(&mut self, number: u64);
    fn has(&self, number: u64) -> bool;
    fn bytes(&self) -> usize;
}

struct InTree {
    nodes: MemoryNodes,
    root: tree::Root,
}

impl InTree {
    fn new() -> InTree {
        let mut nodes = MemoryNodes::default();
        let root = Tree::<_, Leaf>::empty(&mut nodes, 1).expect("room");
        InTree { nodes, root }
    }
}

impl Members for InTree {
    fn add(&mut self, number: u64) {
        let (tag, mut bytes) = (tag_of(number), [0; 16]);
        let mut tree = Tree::<_, Leaf>::new(&mut self.nodes, self.root);
        tree.ensure_change().expect("room");
        let path = tree.view().find_tag(tag);
        let row = Rows::new(tree.view().leaf(&path)).find_tag(tag);
        tree.insert_row(&path, row, tag, &[member(number, &mut bytes)]);
        self.root = tree.root;
    }

    fn has(&self, number: u64) -> bool {
        let (tag, mut bytes) = (tag_of(number), [0; 16]);
        let view = View::<_, Leaf>::new(&self.nodes, self.root);
        let path = view.find_tag(tag);
        has(Rows::new(view.leaf(&path)), tag, member(number, &mut bytes))
    }

    fn bytes(&self) -> usize {
        self.nodes.byte_len() + self.nodes.len() * size_of::<u64>()
    }
}

/// Directory of leaves by the first bits of the hash; a leaf with n fewer bits has 2^n entries.
struct InDirectory {
    nodes: MemoryNodes,
    bits: u32,
    entries: Vec<(NodeId, u8)>,
}

impl InDirectory {
    fn new() -> InDirectory {
        let mut nodes = MemoryNodes::default();
        let empty = Rows::empty::<ByTag>(1);
        let leaf = nodes.allocate(empty.len(), NODE_BYTES);
        nodes.bytes_mut(leaf).copy_from_slice(&empty);
        InDirectory { nodes, bits: 0, entries: vec![(leaf, 0)] }
    }

    fn at(&self, tag: u32) -> usize {
        (u64::from(tag) << self.bits >> 32) as usize
    }

    fn split(&mut self, tag: u32) {
        let (leaf, depth) = self.entries[self.at(tag)];
        if u32::from(depth) == self.bits {
            self.entries = self.entries.iter().flat_map(|entry| [*entry, *entry]).collect();
            self.bits += 1;
        }
        let rows = Rows::new(self.nodes.bytes(leaf));
        let boundary = (tag >> (31 - depth) | 1) << (31 - depth);
        let middle = rows.find_tag(boundary);
        let mut halves = [Rows::empty::<ByTag>(1), Rows::empty::<ByTag>(1)];
        for row in 0..rows.len() {
            let half = &mut halves[usize::from(row >= middle)];
            let cell = rows.cell(row, 0).expect("a row");
            let growth = Rows::new(half).growth_for(&[cell]);
            half.resize(half.len() + growth, 0);
            let mut half = RowsMut::new(half);
            let end = half.as_rows().len();
            half.insert(end, rows.tag(row), &[cell]);
        }
        self.nodes.resize(leaf, halves[0].len()).copy_from_slice(&halves[0]);
        let other = self.nodes.allocate(halves[1].len(), NODE_BYTES);
        self.nodes.bytes_mut(other).copy_from_slice(&halves[1]);
        let span = 1_usize << (self.bits - u32::from(depth));
        let begin = self.at(tag) / span * span;
        for (offset, entry) in self.entries[begin..begin + span].iter_mut().enumerate() {
            *entry = (if offset < span / 2 { leaf } else { other }, depth + 1);
        }
    }
}

impl Members for InDirectory {
    fn add(&mut self, number: u64) {
        let (tag, mut bytes) = (tag_of(number), [0; 16]);
        let cells = [member(number, &mut bytes)];
        loop {
            let (leaf, _) = self.entries[self.at(tag)];
            let rows = Rows::new(self.nodes.bytes(leaf));
            if rows.len_with(&cells) > NODE_BYTES {
                self.split(tag);
                continue;
            }
            let (row, growth) = (rows.find_tag(tag), rows.growth_for(&cells));
            let len = self.nodes.bytes(leaf).len() + growth;
            RowsMut::new(self.nodes.resize(leaf, len)).insert(row, tag, &cells);
            return;
        }
    }

    fn has(&self, number: u64) -> bool {
        let (tag, mut bytes) = (tag_of(number), [0; 16]);
        let (leaf, _) = self.entries[self.at(tag)];
        has(Rows::new(self.nodes.bytes(leaf)), tag, member(number, &mut bytes))
    }

    fn bytes(&self) -> usize {
        self.nodes.byte_len() + (self.nodes.len() + self.entries.len()) * size_of::<u64>()
    }
}

fn measure(name: &str, members: &mut dyn Members, from: u64, to: u64) {
    let began = Instant::now();
    (from..to).for_each(|number| members.add(number));
    let insert = began.elapsed().as_nanos() as f64 / (to - from) as f64;
    let lookups = 1_000_000;
    let began = Instant::now();
    let mut found = 0;
    for lookup in 0..lookups {
        let number = (lookup * 0x9E37_79B1) % (2 * to);
        found += u64::from(members.has(number));
    }
    let look = began.elapsed().as_nanos() as f64 / lookups as f64;
    let bytes = members.bytes() as f64 / to as f64;
    println!("| {name} | {to} | {look:.0} | {insert:.0} | {bytes:.1} | {found} |");
}

fn main() {
    println!("| kept in | members | ns per lookup | ns per insertion | bytes per member | found |");
    println!("|---|---|---|---|---|---|");
    let (mut tree, mut directory) = (InTree::new(), InDirectory::new());
    let sizes = [1_000, 10_000, 100_000, 300_000, 1_000_000, 1_500_000, 3_000_000, 5_000_000];
    let mut from = 0;
    for to in sizes {
        measure("tree", &mut tree, from, to);
        measure("directory", &mut directory, from, to);
        from = to;
    }
}
