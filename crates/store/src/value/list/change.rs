//! Changes of lists.

use super::limit::{
    LARGE, LISTPACK_BYTES, More, SMALL, element_bytes, is_allowed, listpack_bytes_about,
    listpack_bytes_at_least,
};
use super::{End, Leaf, List, ListLimit};
use crate::access::Access;
use crate::fault::{Fault, NoSpace};
use crate::key::{Encoding, Key, Kind, ValueTag};
use crate::shard::{KeyMut, Reason, WriteNodes};
use packed::{Element, PackedList};
use smallvec::SmallVec;
use tree::{NODE_BYTES, NoRoom, Rows, Tree, resolve};

type ListTree<'n, 'x, 'a> = Tree<'n, WriteNodes<'x, 'a>, Leaf>;

/// Pushes elements one after the other to an end of a list, which is created if need be, unless
/// `only_existing`. Returns the new length, or 0 if there is no list.
///
/// # Errors
/// When the key holds something else, or there is no room. No list has been created then; an
/// existing one may have some of the elements.
pub fn push<'t>(
    access: &mut Access<'_>,
    key: &Key<'_>,
    end: End,
    texts: impl Iterator<Item = &'t [u8]> + Clone,
    limit: ListLimit,
    only_existing: bool,
) -> Result<u64, Fault> {
    let mut key = access.open(key, Kind::List)?;
    let is_new = !key.exists();
    if is_new && only_existing {
        return Ok(0);
    }
    fit(&mut key, texts.clone(), limit)?;
    let pushed = push_all(&mut key, end, texts);
    if is_new && pushed.is_err() {
        key.remove(Reason::Deleted);
    }
    pushed
}

/// Sets a key to a list of these elements, in place of any other value. Without elements the key is
/// removed.
///
/// # Errors
/// When there is no room; nothing has changed then.
pub fn store<'t>(
    access: &mut Access<'_>,
    key: &Key<'_>,
    texts: impl Iterator<Item = &'t [u8]> + Clone,
    limit: ListLimit,
) -> Result<(), NoSpace> {
    let (more, mut packed) = (More::of(texts.clone()), packed::EMPTY.to_vec());
    if more.elements == 0 {
        access.remove(key);
        return Ok(());
    }
    let empty = PackedList::new(&packed::EMPTY);
    let value_tag = ValueTag::of_tree(Kind::List, limit.encoding_of(empty, more));
    let is_small = limit.allows_more(empty, more);
    let mut key = access.open_to_replace(key);
    if is_small {
        texts.for_each(|text| packed::push(&mut packed, Element::of(text)));
        return key.replace(ValueTag::new(Kind::List, SMALL), &packed);
    }
    key.put_trees(value_tag, |nodes| {
        let root = ListTree::empty(nodes, 1)?;
        let mut tree = ListTree::new(nodes, root);
        texts.clone().try_for_each(|text| push_to_tree(&mut tree, End::Back, text))?;
        Ok([tree.root])
    })
}

/// Pushes elements to an end of a list that already has the form for them.
#[inline]
fn push_all<'t>(
    key: &mut KeyMut<'_, '_>,
    end: End,
    mut texts: impl Iterator<Item = &'t [u8]>,
) -> Result<u64, Fault> {
    if key.value_tag().is_tree() {
        return key.change_tree::<Leaf, _>(0, |tree| {
            texts.try_for_each(|text| push_to_tree(tree, end, text))?;
            Ok(tree.root.count)
        });
    }
    for text in texts {
        let at = if end == End::Front { 0 } else { PackedList::new(key.bytes()).len() };
        key.insert_into_packed(at, &[Element::of(text)])?;
    }
    Ok(PackedList::new(key.bytes()).len() as u64)
}

#[inline]
fn push_to_tree(tree: &mut ListTree<'_, '_, '_>, end: End, text: &[u8]) -> Result<(), NoRoom> {
    let cell = tree.cell(text)?;
    tree.ensure_change()?;
    let (path, row) = match end {
        End::Front => (tree.view().first(), 0),
        End::Back => {
            let path = tree.view().last();
            let len = Rows::new(tree.view().leaf(&path)).len();
            (path, len)
        }
    };
    tree.insert_row(&path, row, 0, &[cell]);
    Ok(())
}

/// Creates the list of a key if need be, and converts it to a tree if it would not stay small with
/// these texts.
///
/// The limit may allow more than fits into a packed list: such a list becomes a tree that clients
/// still know as a small list.
fn fit<'t>(
    key: &mut KeyMut<'_, '_>,
    texts: impl Iterator<Item = &'t [u8]>,
    limit: ListLimit,
) -> Result<(), NoSpace> {
    let is_new = !key.exists();
    if !is_new && key.value_tag().is_tree() {
        rename_if_large(key, texts, limit);
        return Ok(());
    }
    let more = More::of(texts);
    let packed = PackedList::new(if is_new { &packed::EMPTY } else { key.bytes() });
    if limit.allows_more(packed, more) {
        let value_tag = ValueTag::new(Kind::List, SMALL);
        return if is_new { key.replace(value_tag, &packed::EMPTY) } else { Ok(()) };
    }
    let (encoding, leaf) = (limit.encoding_of(packed, more), Rows::of_packed(packed, 1));
    enlarge(key, encoding, &leaf)
}

/// Changes the value tag of a tree that clients know as a small list, once it exceeds the limit.
fn rename_if_large<'t>(
    key: &mut KeyMut<'_, '_>,
    texts: impl Iterator<Item = &'t [u8]>,
    limit: ListLimit,
) {
    if key.value_tag().encoding() == LARGE {
        return;
    }
    let (view, more) = (key.value().view::<Leaf>(0), More::of(texts));
    let count = narrow::to_usize(view.root.count) + more.elements;
    let is_small = |bytes_of: fn(PackedList<'_>) -> usize| {
        let (mut path, mut bytes) = (view.first(), LISTPACK_BYTES + more.bytes);
        loop {
            bytes += bytes_of(Rows::new(view.leaf(&path)).packed());
            if !view.next(&mut path) {
                return limit.allows(count, bytes);
            }
        }
    };
    if !is_allowed(is_small) {
        key.set_value_tag(ValueTag::of_tree(Kind::List, LARGE));
    }
}

/// Converts a list to a tree with the rows of one leaf.
fn enlarge(key: &mut KeyMut<'_, '_>, encoding: Encoding, leaf: &[u8]) -> Result<(), NoSpace> {
    let value_tag = ValueTag::of_tree(Kind::List, encoding);
    key.put_trees(value_tag, |nodes| Ok([ListTree::of_rows(nodes, leaf)?.root]))
}

/// Removes up to `count` elements from an end of a list, one after the other, after passing each to
/// `each`. Returns their number; `None` if there is no list.
///
/// # Errors
/// When the key holds something else.
pub fn pop(
    access: &mut Access<'_>,
    key: &Key<'_>,
    end: End,
    count: u64,
    limit: ListLimit,
    each: impl FnMut(Element<'_>),
) -> Result<Option<u64>, Fault> {
    let Some(mut key) = access.open(key, Kind::List)?.existing() else { return Ok(None) };
    pop_found(&mut key, (end, count), limit, each).map(Some)
}

/// Moves the element at an end of a list to an end of another list or the same one, and passes its
/// text to `show`. Returns false if there is no source list.
///
/// # Errors
/// When a key holds something else, or there is no room; nothing has changed then.
pub fn move_between(
    access: &mut Access<'_>,
    (source, from): (&Key<'_>, End),
    (target, to): (&Key<'_>, End),
    limit: ListLimit,
    show: impl FnOnce(&[u8]),
) -> Result<bool, Fault> {
    let Some(key) = access.open(source, Kind::List)?.existing() else { return Ok(false) };
    let mut text: SmallVec<[u8; 128]> = SmallVec::new();
    if let Some(element) = List::of(key.value()).end(from) {
        element.with_text(|its_text| text.extend_from_slice(its_text));
    }
    // Pushed before it is popped: if there is no room, nothing has changed. At the same end of the
    // same list it is pushed next to itself, and one of the two is removed.
    push(access, target, to, std::iter::once(&text[..]), limit, false)?;
    let mut key = access.open_without_touch(source, Kind::List)?;
    pop_found(&mut key, (from, 1), limit, |_| ())?;
    show(&text);
    Ok(true)
}

fn pop_found(
    key: &mut KeyMut<'_, '_>,
    (end, count): (End, u64),
    limit: ListLimit,
    mut each: impl FnMut(Element<'_>),
) -> Result<u64, Fault> {
    let list = List::of(key.value());
    let (len, taken) = (list.len(), count.min(list.len()));
    if key.value_tag().is_tree() && taken < len {
        key.change_tree::<Leaf, _>(0, |tree| {
            pop_from_tree(tree, end, taken, &mut each);
            Ok(())
        })?;
        reduce(key, limit);
        return Ok(taken);
    }
    match end {
        End::Front => list.iter_from(0).take(narrow::to_usize(taken)).for_each(&mut each),
        End::Back => list.iter_back_from(len - 1).take(narrow::to_usize(taken)).for_each(&mut each),
    }
    let from = if end == End::Front { 0 } else { len - taken };
    remove_range(key, from, taken, limit)?;
    Ok(taken)
}

/// Removes `count` elements from an end, leaf by leaf. The list must have more elements than that.
fn pop_from_tree(
    tree: &mut ListTree<'_, '_, '_>,
    end: End,
    count: u64,
    each: &mut impl FnMut(Element<'_>),
) {
    let mut left = usize::try_from(count).unwrap_or(usize::MAX);
    while left > 0 {
        let view = tree.view();
        let path = if end == End::Front { view.first() } else { view.last() };
        let rows = Rows::new(view.leaf(&path));
        let (packed, taken) = (rows.packed(), left.min(rows.len()));
        let mut show = |element: Element<'_>| each(resolve(view.nodes, element));
        match end {
            End::Front => packed.iter().take(taken).for_each(&mut show),
            End::Back => packed.iter().rev().take(taken).for_each(&mut show),
        }
        let from = if end == End::Front { 0 } else { rows.len() - taken };
        tree.remove_rows(&path, from, taken);
        left -= taken;
    }
}

/// Removes a range of elements, and the key if none is left.
fn remove_range(
    key: &mut KeyMut<'_, '_>,
    from: u64,
    count: u64,
    limit: ListLimit,
) -> Result<(), Fault> {
    if count == 0 {
        return Ok(());
    }
    if count == List::of(key.value()).len() {
        key.remove(Reason::Deleted);
        return Ok(());
    }
    if key.value_tag().is_tree() {
        key.change_tree::<Leaf, _>(0, |tree| {
            tree.remove_range(from, count, |_, _, _, _| ());
            Ok(())
        })?;
        reduce(key, limit);
        return Ok(());
    }
    let place = PackedList::new(key.bytes()).place(narrow::to_usize(from));
    key.remove_from_packed(place, narrow::to_usize(count));
    Ok(())
}

/// Converts a large list back to a small one once it has shrunk to half of the limit.
fn reduce(key: &mut KeyMut<'_, '_>, limit: ListLimit) {
    let view = key.value().view::<Leaf>(0);
    // All leaves except those at the ends are at least half full.
    let is_wide = view.root.height > 1 || !limit.allows_again(0, view.width() * NODE_BYTES / 2);
    if is_wide && view.width() > 3 || !limit.allows_again(narrow::to_usize(view.root.count), 0) {
        return;
    }
    let half = |bytes: usize| limit.allows_again(0, bytes);
    // Two lower bounds that are faster to compute than the exact bytes.
    for bound in [listpack_bytes_about, listpack_bytes_at_least] {
        let (mut path, mut bytes) = (view.first(), 0);
        loop {
            bytes += bound(Rows::new(view.leaf(&path)).packed());
            if !half(bytes) {
                return;
            }
            if !view.next(&mut path) {
                break;
            }
        }
    }
    let list = List::of(key.value());
    let mut bytes = LISTPACK_BYTES;
    for element in list.iter_from(0) {
        bytes += element_bytes(element);
        if !half(bytes) {
            return;
        }
    }
    let mut packed = packed::EMPTY.to_vec();
    list.iter_from(0).for_each(|element| packed::push(&mut packed, element));
    // No room: the list stays a tree.
    let _ = key.replace(ValueTag::new(Kind::List, SMALL), &packed);
}

/// Sets the element at an index. `Some(false)` if there is no such element, `None` if there is no
/// list.
///
/// # Errors
/// When the key holds something else, or there is no room.
pub fn set(
    access: &mut Access<'_>,
    key: &Key<'_>,
    index: i64,
    text: &[u8],
    limit: ListLimit,
) -> Result<Option<bool>, Fault> {
    let Some(mut key) = access.open(key, Kind::List)?.existing() else { return Ok(None) };
    let list = List::of(key.value());
    let Some(at) = super::position(list.len(), index) else { return Ok(Some(false)) };
    // The limit is checked as if the element were added, though it replaces another one.
    fit(&mut key, std::iter::once(text), limit)?;
    if !key.value_tag().is_tree() {
        key.replace_in_packed(narrow::to_usize(at), Element::of(text))?;
        return Ok(Some(true));
    }
    key.change_tree::<Leaf, _>(0, |tree| {
        let cell = tree.cell(text)?;
        tree.ensure_change()?;
        let (path, row) = tree.view().find_position(at);
        tree.replace_cell(&path, narrow::to_usize(row), 0, cell);
        Ok(())
    })?;
    reduce(&mut key, limit);
    Ok(Some(true))
}

/// Place of an insertion: next to the first element with a certain text.
#[derive(Clone, Copy, Debug)]
pub struct Pivot<'t> {
    /// Text of that element.
    pub text: &'t [u8],
    /// True to insert behind the element rather than before it.
    pub is_behind: bool,
}

/// Inserts an element next to the pivot. Returns the new length; `Some(None)` if there is no pivot
/// element, `None` if there is no list.
///
/// # Errors
/// When the key holds something else, or there is no room.
pub fn insert(
    access: &mut Access<'_>,
    key: &Key<'_>,
    pivot: Pivot<'_>,
    text: &[u8],
    limit: ListLimit,
) -> Result<Option<Option<u64>>, Fault> {
    let Some(mut key) = access.open(key, Kind::List)?.existing() else { return Ok(None) };
    let wanted = Element::of(pivot.text);
    let at = List::of(key.value()).iter_from(0).position(|element| element == wanted);
    let Some(at) = at else { return Ok(Some(None)) };
    let at = at as u64 + u64::from(pivot.is_behind);
    fit(&mut key, std::iter::once(text), limit)?;
    if !key.value_tag().is_tree() {
        key.insert_into_packed(narrow::to_usize(at), &[Element::of(text)])?;
        return Ok(Some(Some(List::of(key.value()).len())));
    }
    let len = key.change_tree::<Leaf, _>(0, |tree| {
        let cell = tree.cell(text)?;
        tree.ensure_change()?;
        let (path, row) = tree.view().find_position(at);
        tree.insert_row(&path, narrow::to_usize(row), 0, &[cell]);
        Ok(tree.root.count)
    })?;
    Ok(Some(Some(len)))
}

/// Removes elements equal to a text: up to `count` from the front, from the back if `count` is
/// negative, or all if it is zero. Returns their number.
///
/// # Errors
/// When the key holds something else.
pub fn remove(
    access: &mut Access<'_>,
    key: &Key<'_>,
    count: i64,
    text: &[u8],
    limit: ListLimit,
) -> Result<u64, Fault> {
    let Some(mut key) = access.open(key, Kind::List)?.existing() else { return Ok(0) };
    let wanted = Element::of(text);
    let list = List::of(key.value());
    let most = if count == 0 { usize::MAX } else { narrow::to_usize(count.unsigned_abs()) };
    let is_wanted = |element: &Element<'_>| *element == wanted;
    let mut places: Vec<u64> = if count < 0 {
        let last = list.len() - 1;
        let back = (0..=last).rev().zip(list.iter_back_from(last));
        back.filter(|(_, element)| is_wanted(element)).map(|(at, _)| at).take(most).collect()
    } else {
        let all = (0..).zip(list.iter_from(0));
        all.filter(|(_, element)| is_wanted(element)).map(|(at, _)| at).take(most).collect()
    };
    if count >= 0 {
        places.reverse();
    }
    let removed = places.len() as u64;
    if removed == list.len() {
        key.remove(Reason::Deleted);
        return Ok(removed);
    }
    // In descending order, so that each removal leaves the remaining indexes valid.
    remove_each(&mut key, &places)?;
    if removed > 0 && key.value_tag().is_tree() {
        reduce(&mut key, limit);
    }
    Ok(removed)
}

/// Removes the elements at these indexes, which must be in descending order.
fn remove_each(key: &mut KeyMut<'_, '_>, places: &[u64]) -> Result<(), Fault> {
    if key.value_tag().is_tree() {
        return key.change_tree::<Leaf, _>(0, |tree| {
            places.iter().for_each(|at| tree.remove_range(*at, 1, |_, _, _, _| ()));
            Ok(())
        });
    }
    if !places.is_empty() {
        key.remove_some_from_packed(places.iter().rev().map(|at| narrow::to_usize(*at)));
    }
    Ok(())
}

/// Keeps only the elements from `start` to `end`, both included. Returns the number of removed
/// elements.
///
/// # Errors
/// When the key holds something else.
pub fn trim(
    access: &mut Access<'_>,
    key: &Key<'_>,
    start: i64,
    end: i64,
    limit: ListLimit,
) -> Result<u64, Fault> {
    let Some(mut key) = access.open(key, Kind::List)?.existing() else { return Ok(0) };
    let len = List::of(key.value()).len();
    let (from, count) = super::range(len, start, end);
    if count == 0 {
        key.remove(Reason::Deleted);
        return Ok(len);
    }
    let behind = from + count;
    remove_range(&mut key, behind, len - behind, limit)?;
    remove_range(&mut key, 0, from, limit)?;
    Ok(len - count)
}
