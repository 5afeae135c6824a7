//! Common ground of all collections. A small one is one packed list in the key's record; a large
//! one consists of trees, whose roots are in the record.
//!
//! ```text
//! small   | packed list |
//! large   | collection 4 | root 16 | root 16 | ... |
//! ```
//!
//! Nodes of trees are records like any other. A table tells where each node lies, so moving a node
//! changes one entry, and RENAME moves the roots alone. Removing a large collection hands it to
//! lazy free.

use crate::fault::{Fault, NoSpace};
use crate::key::ValueTag;
use crate::shard::{CollectionId, KeyMut, ReadNodes, ValueRef, WriteNodes};
use crate::value::gathered::NotStored;
use base::KeyHasher;
use packed::{Element, PackedList, PackedListMut, Place};
use tree::{Leaf, NoRoom, ROOT_BYTES, Root, Tree, View};

/// 32 bits of a member's hash, the order of rows in the trees of a large sorted set.
#[inline]
pub(crate) fn tag_by(hasher: &KeyHasher, text: &[u8]) -> u32 {
    (hasher.hash(text).0 >> 32) as u32
}

/// The upper 24 bits of [`tag_by`], above zeros. Rows with this tag hold the text itself, so a
/// collision shows when texts are compared.
#[inline]
pub(crate) fn short_tag_by(hasher: &KeyHasher, text: &[u8]) -> u32 {
    tag_by(hasher, text) & !0xff
}

/// Returns the root of tree `number` of a large collection.
pub(crate) fn root(value: &[u8], number: usize) -> Root {
    let root = value.get(root_at(number)..).and_then(Root::read);
    root.expect("the value of a tree has its roots")
}

/// Number of trees of a large collection.
pub(crate) fn roots(value: &[u8]) -> usize {
    (value.len() - CollectionId::BYTES) / ROOT_BYTES
}

fn root_at(number: usize) -> usize {
    CollectionId::BYTES + ROOT_BYTES * number
}

/// Returns the record value of a large collection with these roots.
pub(crate) fn value_of(id: CollectionId, roots: &[Root]) -> Vec<u8> {
    let mut value = vec![0; root_at(roots.len())];
    id.write(&mut value);
    for (number, root) in roots.iter().enumerate() {
        value[root_at(number)..root_at(number + 1)].copy_from_slice(&root.to_bytes());
    }
    value
}

impl<'g> ValueRef<'g> {
    /// Returns a view of tree `number` of a large collection.
    #[inline]
    pub(crate) fn view<L: Leaf>(&self, number: usize) -> View<'g, ReadNodes<'g>, L> {
        View::new(self.nodes(), root(self.bytes(), number))
    }
}

impl<'a> KeyMut<'_, 'a> {
    /// Changes tree `number` of a large collection and stores its new root in the record.
    ///
    /// # Errors
    /// Those of `change`.
    #[inline]
    pub(crate) fn change_tree<L: Leaf, T>(
        &mut self,
        number: usize,
        change: impl FnOnce(&mut Tree<'_, WriteNodes<'_, 'a>, L>) -> Result<T, NoRoom>,
    ) -> Result<T, Fault> {
        let before = root(self.bytes(), number);
        let mut nodes = self.nodes_mut();
        let mut tree = Tree::new(&mut nodes, before);
        let done = change(&mut tree);
        let after = tree.root;
        if after != before {
            let at = root_at(number);
            self.bytes_mut()[at..at + ROOT_BYTES].copy_from_slice(&after.to_bytes());
        }
        Ok(done?)
    }

    /// Changes several trees of a large collection and stores their new roots in the record.
    ///
    /// # Errors
    /// Those of `change`.
    #[inline]
    pub(crate) fn change_trees<T, const N: usize>(
        &mut self,
        change: impl FnOnce(&mut WriteNodes<'_, 'a>, &mut [Root; N]) -> Result<T, NoRoom>,
    ) -> Result<T, Fault> {
        let before: [Root; N] = std::array::from_fn(|number| root(self.bytes(), number));
        let mut roots = before;
        let done = change(&mut self.nodes_mut(), &mut roots);
        if roots != before {
            let value = self.bytes_mut();
            for (number, root) in roots.iter().enumerate() {
                value[root_at(number)..root_at(number + 1)].copy_from_slice(&root.to_bytes());
            }
        }
        Ok(done?)
    }

    /// Replaces the value of the key by a large collection of the trees that `build` creates.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    pub(crate) fn put_trees<const N: usize>(
        &mut self,
        value_tag: ValueTag,
        build: impl FnOnce(&mut WriteNodes<'_, 'a>) -> Result<[Root; N], NoRoom>,
    ) -> Result<(), NoSpace> {
        self.put_gathered(value_tag, |nodes| Ok(build(nodes)?)).map_err(|_| NoSpace)
    }

    /// As `put_trees`, for gathered rows, which may be refused for other reasons too.
    ///
    /// # Errors
    /// Those of `build`, and when there is no room; nothing has changed then.
    pub(crate) fn put_gathered<R: AsRef<[Root]>>(
        &mut self,
        value_tag: ValueTag,
        build: impl FnOnce(&mut WriteNodes<'_, 'a>) -> Result<R, NotStored>,
    ) -> Result<(), NotStored> {
        let id = self.new_collection()?;
        let built = build(&mut self.nodes_of(id));
        let put =
            built.and_then(|roots| Ok(self.replace(value_tag, &value_of(id, roots.as_ref()))?));
        if put.is_err() {
            self.give_up(id);
        }
        put
    }

    /// Inserts a row of elements into the packed list of a small collection, before the element
    /// with number `at`.
    ///
    /// # Errors
    /// When there is no room for them; nothing has changed then.
    #[inline]
    pub(crate) fn insert_into_packed(
        &mut self,
        at: usize,
        row: &[Element<'_>],
    ) -> Result<(), NoSpace> {
        self.grow_packed(row, at == 0)?;
        let mut packed = PackedListMut::new(self.bytes_mut());
        let place = packed.as_list().place(at);
        packed.insert_row(place, row).expect("the packed list has grown");
        Ok(())
    }

    /// Grows the record of a packed list until one more row fits; with slack for later rows if the
    /// row goes to the front.
    #[inline]
    fn grow_packed(&mut self, row: &[Element<'_>], is_front: bool) -> Result<(), NoSpace> {
        let bytes = self.bytes();
        let needed = PackedList::new(bytes).len_with(row);
        if needed <= bytes.len() {
            return Ok(());
        }
        let len = if is_front { needed + needed / FRONT_SLACK_PART } else { needed };
        self.resize(len.min(packed::PACKED_BYTES_MAX))
    }

    /// Replaces element number `at` in the packed list of a small collection.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    pub(crate) fn replace_in_packed(
        &mut self,
        at: usize,
        element: Element<'_>,
    ) -> Result<(), NoSpace> {
        let place = PackedList::new(self.bytes()).place(at);
        self.replace_at(place, element)
    }

    /// Replaces the element at a place in the packed list of a small collection.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    #[inline]
    pub(crate) fn replace_at(&mut self, at: Place, element: Element<'_>) -> Result<(), NoSpace> {
        let replace = |bytes: &mut [u8]| PackedListMut::new(bytes).replace(at, element);
        match replace(self.bytes_mut()) {
            Ok(()) => self.shorten_packed(),
            Err(full) => {
                self.resize(full.needed)?;
                replace(self.bytes_mut()).expect("the packed list has grown");
            }
        }
        Ok(())
    }

    /// Removes `count` elements from the packed list of a small collection. The caller removes the
    /// key if the list becomes empty.
    pub(crate) fn remove_from_packed(&mut self, at: Place, count: usize) {
        PackedListMut::new(self.bytes_mut()).remove(at, count);
        self.shorten_packed();
    }

    /// Removes the elements with these ascending numbers from the packed list of a small collection
    /// of single elements. Those that stay are moved once, however many go. The caller removes the
    /// key if the list becomes empty.
    pub(crate) fn remove_some_from_packed(&mut self, numbers: impl Iterator<Item = usize>) {
        let packed = PackedList::new(self.bytes());
        let (mut pieces, mut from) = (Vec::new(), packed.front());
        for number in numbers {
            let gone = packed.forward(from, number);
            pieces.push((packed, from, gone));
            from = packed.after(gone);
        }
        pieces.push((packed, from, packed.end()));
        let mut kept = Vec::with_capacity(packed.dense_len());
        packed::concat(1, &pieces, &mut kept);
        self.bytes_mut()[..kept.len()].copy_from_slice(&kept);
        self.shorten_packed();
    }

    /// Shrinks the record of a packed list to the bytes in use, if more than one byte in
    /// `FRONT_SLACK_PART` is unused and there is room to write the record anew.
    pub(crate) fn shorten_packed(&mut self) {
        let bytes = self.bytes();
        let (len, used) = (bytes.len(), PackedList::new(bytes).byte_len());
        if len - used > len / FRONT_SLACK_PART {
            // No room: the packed list keeps its length.
            let _ = self.resize(used);
        }
    }
}

/// Slack of a packed list after a push to its front, as a divisor of its length; the most that
/// `shorten_packed` leaves.
const FRONT_SLACK_PART: usize = 8;
