//! Leaves of rows: splitting, separators, checks.

use crate::leaf::{Leaf, Parts, Separator};
use crate::node::Nodes;
use crate::redistribution::Redistribution;
use crate::rows::{Order, Rows, RowsMut};
use packed::{Element, PackedList};
use std::cmp::Ordering;
use std::marker::PhantomData;

/// Leaves of rows in the order `O`.
#[derive(Debug)]
pub struct RowLeaf<O>(PhantomData<O>);

impl<O: Order> Leaf for RowLeaf<O> {
    #[inline]
    fn count(leaf: &[u8]) -> u64 {
        u64::from(u16::from_le_bytes([leaf[0], leaf[1]]))
    }

    fn redistribute(leaves: &[&[u8]], parts: usize) -> Parts {
        let stride = leaves.iter().map(|leaf| Rows::new(leaf).stride()).max().unwrap_or(1);
        let widened: Vec<Vec<u8>>;
        let is_even = leaves.iter().all(|leaf| Rows::new(leaf).stride() == stride);
        let rows: Vec<Rows<'_>> = if is_even {
            leaves.iter().map(|leaf| Rows::new(leaf)).collect()
        } else {
            widened = leaves.iter().map(|leaf| widen::<O>(Rows::new(leaf), stride)).collect();
            widened.iter().map(|leaf| Rows::new(leaf)).collect()
        };
        Redistribution::<O>::new(&rows, stride).into_parts(parts)
    }

    fn separator<'n>(nodes: impl Nodes<'n>, left: &[u8], right: &[u8]) -> Separator {
        O::separator(nodes, Rows::new(left), Rows::new(right))
    }

    fn far_nodes(leaf: &[u8]) -> usize {
        let rows = Rows::new(leaf);
        rows.packed().far_ones(0, rows.packed().len()).count()
    }

    fn is_sound<'n>(nodes: impl Nodes<'n>, leaf: &[u8], from: &[u8], to: Option<&[u8]>) -> bool {
        let rows = Rows::new(leaf);
        PackedList::readable(&leaf[rows.packed_begin()..]).is_ok()
            && rows.packed().len() == rows.len() * rows.stride()
            && (1..rows.len())
                .all(|row| O::cmp_rows(nodes, rows, row - 1, row) != Ordering::Greater)
            && (0..rows.len()).filter(|_| O::IS_SEARCHED).all(|row| {
                !O::is_below(nodes, rows, row, from)
                    && to.is_none_or(|to| O::is_below(nodes, rows, row, to))
            })
    }
}

/// Returns the bytes of a leaf with the same rows and more columns, which hold zeros.
pub(crate) fn widen<O: Order>(rows: Rows<'_>, stride: usize) -> Vec<u8> {
    let more = stride - rows.stride();
    let zero = Element::Integer(0);
    let grown = rows.full_len() + rows.len() * more * zero.cost();
    let mut leaf = Rows::empty::<O>(stride);
    leaf.resize(grown.max(leaf.len()), 0);
    let mut wide = RowsMut::new(&mut leaf);
    for row in 0..rows.len() {
        let mut cells: Vec<Element<'_>> = rows.cells_from(row).take(rows.stride()).collect();
        cells.resize(stride, zero);
        let tag = if O::TAG_BYTES > 0 { rows.tag(row) } else { 0 };
        wide.insert(row, tag, &cells);
    }
    leaf
}
