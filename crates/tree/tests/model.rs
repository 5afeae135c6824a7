//! Model tests: trees behave like vectors and ordered maps, and are sound after every change.

use packed::Element;
use proptest::prelude::{any, prop_assert_eq, proptest};
use std::collections::BTreeMap;
use tree::{
    Builder, ByKey, ByPosition, ByShortTag, ByTag, CELL_BYTES_MAX, MemoryNodes, NodesMut, Order,
    RowLeaf, Rows, Tagged, Tree, View, resolve,
};

/// Random numbers that repeat from run to run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, end: usize) -> usize {
        self.next() as usize % end.max(1)
    }

    fn text(&mut self) -> Vec<u8> {
        match self.below(12) {
            0..4 => self.below(100_000).to_string().into_bytes(),
            11 => vec![b'x'; self.below(2 * CELL_BYTES_MAX)],
            _ => (0..self.below(40)).map(|_| self.next() as u8).collect(),
        }
    }
}

fn rows_of<O: Order>(view: &View<'_, &MemoryNodes, RowLeaf<O>>) -> Vec<Vec<Vec<u8>>> {
    let mut path = view.first();
    let mut all = Vec::new();
    loop {
        let rows = Rows::new(view.leaf(&path));
        for row in 0..rows.len() {
            let text = |column| resolve(view.nodes, rows.cell(row, column).unwrap()).to_text();
            all.push((0..rows.stride()).map(text).collect());
        }
        if !view.next(&mut path) {
            return all;
        }
    }
}

fn backward<O: Order>(view: &View<'_, &MemoryNodes, RowLeaf<O>>) -> usize {
    let mut path = view.last();
    let mut count = 0;
    loop {
        count += Rows::new(view.leaf(&path)).len();
        if !view.previous(&mut path) {
            return count;
        }
    }
}

/// Changes a list and a vector alike: `bias` of 16 changes are insertions.
fn list_follows_a_vector(seed: u64, changes: usize, bias: usize) {
    let mut chance = Chance(seed);
    let mut nodes = MemoryNodes::default();
    let root = Tree::<_, RowLeaf<ByPosition>>::empty(&mut nodes, 1).unwrap();
    let mut tree = Tree::<_, RowLeaf<ByPosition>>::new(&mut nodes, root);
    let mut model: Vec<Vec<u8>> = Vec::new();
    for change in 0..changes {
        tree.ensure_change().unwrap();
        if model.is_empty() || chance.below(16) < bias {
            let at = match chance.below(4) {
                0 => 0,
                1 => model.len(),
                _ => chance.below(model.len() + 1),
            };
            let text = chance.text();
            let (path, row) = tree.view().find_position(at as u64);
            let cell = tree.cell(&text).unwrap();
            tree.ensure_change().unwrap();
            tree.insert_row(&path, row as usize, 0, &[cell]);
            model.insert(at, text);
        } else if chance.below(40) == 0 {
            let (at, count) = (chance.below(model.len()), chance.below(model.len() / 4 + 2));
            let mut seen = 0;
            tree.remove_range(at as u64, count as u64, |_, _, _, taken| seen += taken);
            let end = model.len().min(at + count);
            assert_eq!(seen, end - at);
            model.drain(at..end);
        } else {
            let at = match chance.below(4) {
                0 => 0,
                1 => model.len() - 1,
                _ => chance.below(model.len()),
            };
            let (path, row) = tree.view().find_position(at as u64);
            let view = tree.view();
            let found = Rows::new(view.leaf(&path)).cell(row as usize, 0).unwrap();
            assert_eq!(resolve(view.nodes, found).to_text(), model[at]);
            if chance.below(2) == 0 {
                tree.remove_rows(&path, row as usize, 1);
                model.remove(at);
            } else {
                let text = chance.text();
                let cell = tree.cell(&text).unwrap();
                tree.replace_cell(&path, row as usize, 0, cell);
                model[at] = text;
            }
        }
        assert_eq!(tree.root.count, model.len() as u64);
        if change % 16 == 0 {
            let count = tree.view().verify().unwrap();
            assert_eq!(count, tree.nodes.len(), "no node is lost");
        }
    }
    let found: Vec<Vec<u8>> = rows_of(&tree.view()).into_iter().flatten().collect();
    assert_eq!(found, model);
    assert_eq!(backward(&tree.view()), model.len());
}

#[test]
fn a_tree_by_position_is_a_vector_while_it_grows_and_shrinks() {
    for seed in 0..6 {
        list_follows_a_vector(seed, 4_000, 13);
        list_follows_a_vector(seed + 100, 1_500, 8);
    }
}

#[test]
fn a_tree_that_grew_large_shrinks_to_one_leaf_again() {
    let mut nodes = MemoryNodes::default();
    let root = Tree::<_, RowLeaf<ByPosition>>::empty(&mut nodes, 1).unwrap();
    let mut tree = Tree::<_, RowLeaf<ByPosition>>::new(&mut nodes, root);
    let count = 200_000_u64;
    for number in 0..count {
        tree.ensure_change().unwrap();
        let is_front = number % 3 == 0;
        let (path, row) = tree.view().find_position(if is_front { 0 } else { number });
        tree.insert_row(&path, row as usize, 0, &[Element::Bytes(b"sixteen bytes ..")]);
    }
    tree.view().verify().unwrap();
    let per_row = tree.nodes.byte_len() as f64 / count as f64;
    assert!(per_row < 17.3, "appended rows fill their leaves: {per_row} bytes each");
    assert!(tree.root.height >= 2);
    for left in (0..count).rev() {
        let at = if left % 2 == 0 { 0 } else { left };
        let (path, row) = tree.view().find_position(at);
        tree.remove_rows(&path, row as usize, 1);
        if left % 10_000 == 0 {
            tree.view().verify().unwrap();
        }
    }
    assert_eq!((tree.root.count, tree.root.height, tree.nodes.len()), (0, 0, 1));
}

/// Changes a tree by tags and an ordered map alike; tags have few bits, so that many are equal.
fn map_follows_a_map<O: Tagged>(seed: u64, changes: usize, tag_bits: u32) {
    let mut chance = Chance(seed);
    let mut nodes = MemoryNodes::default();
    let root = Tree::<_, RowLeaf<O>>::empty(&mut nodes, 2).unwrap();
    let mut tree = Tree::<_, RowLeaf<O>>::new(&mut nodes, root);
    let mut model: BTreeMap<(u32, Vec<u8>), Vec<u8>> = BTreeMap::new();
    for change in 0..changes {
        tree.ensure_change().unwrap();
        let field = chance.below(changes / 2).to_string().into_bytes();
        let number =
            field.iter().fold(7_u32, |sum, byte| sum.wrapping_mul(0x9E37_79B1) ^ u32::from(*byte));
        let tag = number.wrapping_mul(0x9E37_79B1) >> (32 - tag_bits) << (32 - tag_bits);
        let path = tree.view().find_tag(tag);
        let rows = Rows::new(tree.view().leaf(&path));
        let first = rows.find_tag(tag);
        let wanted = Element::of(&field);
        let row = (first..rows.len())
            .take_while(|row| rows.tag(*row) == tag)
            .find(|row| rows.cell(*row, 0) == Some(wanted));
        let value = chance.text();
        match row {
            Some(row) if chance.below(3) == 0 => {
                tree.remove_rows(&path, row, 1);
                model.remove(&(tag, field)).unwrap();
            }
            Some(row) => {
                let old = resolve(tree.view().nodes, rows.cell(row, 1).unwrap()).to_text();
                assert_eq!(model.insert((tag, field), value.clone()), Some(old));
                let cell = tree.cell(&value).unwrap();
                tree.replace_cell(&path, row, 1, cell);
            }
            None => {
                assert_eq!(model.insert((tag, field.clone()), value.clone()), None);
                let zero = Element::Integer(0);
                let stride = rows.stride();
                let cells = [wanted, tree.cell(&value).unwrap(), zero];
                tree.insert_row(&path, first, tag, &cells[..stride]);
            }
        }
        if chance.below(50) == 0 {
            let path = tree.view().find_tag(tag);
            if Rows::new(tree.view().leaf(&path)).stride() == 2 {
                tree.ensure_change().unwrap();
                tree.widen_leaf(&path, 3);
            }
        }
        assert_eq!(tree.root.count, model.len() as u64);
        assert!(change % 64 != 0 || tree.view().verify().unwrap() == tree.nodes.len());
    }
    let mut found: Vec<(Vec<u8>, Vec<u8>)> = rows_of(&tree.view())
        .into_iter()
        .map(|mut row| (std::mem::take(&mut row[0]), std::mem::take(&mut row[1])))
        .collect();
    let mut expected: Vec<(Vec<u8>, Vec<u8>)> =
        model.into_iter().map(|((_, field), value)| (field, value)).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_tree_by_tag_is_a_map_with_many_equal_tags_or_none() {
    for seed in 0..4 {
        map_follows_a_map::<ByTag>(seed, 6_000, 32);
        map_follows_a_map::<ByTag>(seed + 50, 3_000, 8);
        map_follows_a_map::<ByShortTag>(seed, 6_000, 24);
        map_follows_a_map::<ByShortTag>(seed + 50, 3_000, 8);
    }
}

#[test]
fn a_tree_by_key_is_searched_by_any_bytes() {
    let mut chance = Chance(9);
    let mut nodes = MemoryNodes::default();
    let root = Tree::<_, RowLeaf<ByKey>>::empty(&mut nodes, 1).unwrap();
    let mut tree = Tree::<_, RowLeaf<ByKey>>::new(&mut nodes, root);
    let mut model: BTreeMap<Vec<u8>, ()> = BTreeMap::new();
    for _ in 0..20_000 {
        tree.ensure_change().unwrap();
        let key = [b"a common beginning/".to_vec(), chance.below(9_000).to_string().into_bytes()]
            .concat();
        let path = tree.view().find(|separator| separator <= &key[..]);
        let rows = Rows::new(tree.view().leaf(&path));
        let row = rows.partition(|row| ByKey::key(rows, row) < &key[..]);
        let is_there = row < rows.len() && ByKey::key(rows, row) == &key[..];
        assert_eq!(is_there, model.contains_key(&key));
        if is_there {
            tree.remove_rows(&path, row, 1);
            model.remove(&key);
        } else {
            tree.insert_row(&path, row, 0, &[Element::Bytes(&key)]);
            model.insert(key, ());
        }
    }
    assert_eq!(tree.view().verify().unwrap(), tree.nodes.len());
    let found: Vec<Vec<u8>> = rows_of(&tree.view()).into_iter().flatten().collect();
    assert_eq!(found, model.into_keys().collect::<Vec<_>>());
}

#[test]
fn nodes_are_parted_by_bytes_where_separators_differ_in_length() {
    let mut nodes = MemoryNodes::default();
    let root = Tree::<_, RowLeaf<ByKey>>::empty(&mut nodes, 1).unwrap();
    let mut tree = Tree::<_, RowLeaf<ByKey>>::new(&mut nodes, root);
    let mut chance = Chance(3);
    for number in 0..4_000 {
        // A long common prefix of keys makes their separators long.
        let shared = [5, 280, CELL_BYTES_MAX - 10][chance.below(3)];
        let key = [vec![shared as u8; shared], chance.next().to_be_bytes().to_vec()].concat();
        let path = tree.view().find(|separator| separator <= &key[..]);
        let rows = Rows::new(tree.view().leaf(&path));
        let row = rows.partition(|row| ByKey::key(rows, row) < &key[..]);
        tree.ensure_change().unwrap();
        tree.insert_row(&path, row, 0, &[Element::Bytes(&key)]);
        assert_eq!(tree.view().verify(), Ok(tree.nodes.len()), "row {number}");
    }
}

#[test]
fn a_change_without_room_is_refused_before_anything_happens() {
    let mut nodes = MemoryNodes::default();
    let root = Tree::<_, RowLeaf<ByPosition>>::empty(&mut nodes, 1).unwrap();
    nodes.budget = Some(100);
    let mut tree = Tree::<_, RowLeaf<ByPosition>>::new(&mut nodes, root);
    assert!(tree.ensure_change().is_err());
    assert_eq!(tree.nodes.bytes(root.node).len(), Rows::empty::<ByPosition>(1).len());
}

proptest! {
    #[test]
    fn positions_are_found_by_weight(seed in any::<u64>()) {
        let mut nodes = MemoryNodes::default();
        let root = Tree::<_, RowLeaf<ByPosition>>::empty(&mut nodes, 1).unwrap();
        let mut tree = Tree::<_, RowLeaf<ByPosition>>::new(&mut nodes, root);
        for number in 0..3_000_u64 {
            tree.ensure_change().unwrap();
            let (path, row) = tree.view().find_position(number);
            tree.insert_row(&path, row as usize, 0, &[Element::Integer(number as i64)]);
        }
        let position = seed % 3_000;
        let view = tree.view();
        let (path, row) = view.find_position(position);
        prop_assert_eq!(view.count_before(&path) + row, position);
        let found = Rows::new(view.leaf(&path)).cell(row as usize, 0);
        prop_assert_eq!(found, Some(Element::Integer(position as i64)));
    }
}

#[test]
fn a_tree_built_from_below_holds_its_rows_in_full_leaves() {
    for count in [0, 1, 2, 60, 61, 5_000_u32] {
        // Every ninth tag is there five times; some rows have a third cell, some a long text.
        let row = |at: u32| {
            let tag = if at % 9 < 5 { at - at % 9 } else { at } << 8;
            let text = if at % 100 == 7 { vec![b'l'; 900] } else { at.to_string().into_bytes() };
            (tag, text, at % 50 == 3)
        };
        let mut nodes = MemoryNodes::default();
        let mut builder: Builder<'_, _, ByShortTag> = Builder::new(&mut nodes, 2).unwrap();
        for (tag, text, is_wide) in (0..count).map(row) {
            let cells = [Element::Integer(tag.into()), Element::Bytes(&text), Element::Integer(5)];
            builder.push(tag, &cells[..if is_wide { 3 } else { 2 }]).unwrap();
        }
        let root = builder.finish().unwrap();
        let tree = Tree::<_, RowLeaf<ByShortTag>>::new(&mut nodes, root);
        assert_eq!(tree.view().verify().unwrap(), tree.nodes.len());
        let rows = rows_of(&tree.view());
        assert_eq!(rows.len(), count as usize);
        for (found, (tag, text, is_wide)) in rows.iter().zip((0..count).map(row)) {
            assert_eq!(found[..2], [tag.to_string().into_bytes(), text]);
            let third: Option<&[u8]> = found.get(2).map(Vec::as_slice);
            assert!(if is_wide { third == Some(b"5") } else { third.is_none_or(|it| it == b"0") });
        }
    }
}
