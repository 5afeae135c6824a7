//! Cursor over a large set, in the order of tags.

use super::Leaf;
use crate::shard::ReadNodes;
use packed::{Element, Place};
use tree::{Path, Rows, View, resolve};

/// Number of rows that `seek` passes one by one before it searches.
const NEAR_ROWS: usize = 4;

/// Position of a member of a large set, or its end.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'x> {
    view: View<'x, ReadNodes<'x>, Leaf>,
    path: Path,
    rows: Rows<'x>,
    row: usize,
    /// Place of the current row or of one before it.
    place: Place,
}

impl<'x> Cursor<'x> {
    /// Returns a cursor at the first member.
    pub fn new(view: View<'x, ReadNodes<'x>, Leaf>) -> Cursor<'x> {
        let path = view.first();
        let rows = Rows::new(view.leaf(&path));
        Cursor { view, path, rows, row: 0, place: rows.packed().front() }
    }

    /// Tag of the current member; `None` at the end.
    #[inline]
    pub fn tag(&self) -> Option<u32> {
        (self.row < self.rows.len()).then(|| self.rows.tag(self.row))
    }

    /// Returns the current member.
    ///
    /// # Panics
    /// At the end.
    #[inline]
    pub fn member(&mut self) -> Element<'x> {
        let packed = self.rows.packed();
        self.place = packed.forward(self.place, self.row);
        resolve(self.view.nodes, packed.at(self.place).expect("the cursor is not at the end"))
    }

    /// Advances to the next member.
    #[inline]
    pub fn advance(&mut self) {
        self.row += 1;
        if self.row >= self.rows.len() {
            self.next_leaf();
        }
    }

    /// Advances to the first member whose tag is not below `tag`.
    #[inline]
    pub fn seek(&mut self, tag: u32) {
        let near = self.rows.len().min(self.row + NEAR_ROWS);
        while self.row < near && self.rows.tag(self.row) < tag {
            self.row += 1;
        }
        if self.row == near {
            self.seek_far(tag);
        }
    }

    fn seek_far(&mut self, tag: u32) {
        let is_here =
            |rows: &Rows<'_>| rows.len().checked_sub(1).is_some_and(|at| rows.tag(at) >= tag);
        if !is_here(&self.rows) && self.next_leaf() && !is_here(&self.rows) {
            self.path = self.view.find_tag(tag);
            self.enter();
        }
        self.row = self.row.max(self.rows.find_tag(tag));
        if self.row >= self.rows.len() {
            self.next_leaf();
        }
    }

    /// Advances to the next leaf; at the last one, moves to the end and returns false.
    fn next_leaf(&mut self) -> bool {
        if self.view.next(&mut self.path) {
            self.enter();
            return true;
        }
        self.row = self.rows.len();
        false
    }

    fn enter(&mut self) {
        self.rows = Rows::new(self.view.leaf(&self.path));
        (self.row, self.place) = (0, self.rows.packed().front());
    }

    /// Returns true if one of the members with the current tag equals `wanted`.
    #[inline]
    pub fn has(&mut self, wanted: Element<'_>) -> bool {
        if self.member() == wanted {
            return true;
        }
        let tag = self.rows.tag(self.row);
        (self.row + 1..self.rows.len()).take_while(|row| self.rows.tag(*row) == tag).any(|row| {
            self.rows.cell(row, 0).is_some_and(|cell| resolve(self.view.nodes, cell) == wanted)
        })
    }
}
