//! Changing lists.

use super::limit::{
    LARGE, LISTPACK_BYTES, More, SMALL, element_bytes, listpack_bytes_about,
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

/// Adds elements to an end of a list, one after the other, which is created if need be, unless
/// `only_existing`. Returns the new length, or 0 if there is no list.
///
/// # Errors
/// When the key holds something else, or there is no room. There is no new list then; one that was
/// there may have some of the elements.
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

/// Makes a key a list of these elements, in place of anything it holds. Without elements it is
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

/// Adds elements to an end of a list that has the form for them.
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

/// The list of a key, created if need be, and large if it would not stay small with these texts.
///
/// A limit may be wider than what a packed list holds: such a list is a tree that goes on as a
/// small one.
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

/// Gives a tree that goes on as a small list its own name once it is beyond the limit.
fn rename_if_large<'t>(
    key: &mut KeyMut<'_, '_>,
    texts: impl Iterator<Item = &'t [u8]>,
    limit: ListLimit,
) {
    if key.value_tag().encoding() == LARGE {
        return;
    }
    let (list, more) = (List::of(key.value()), More::of(texts));
    let bytes = LISTPACK_BYTES + list.iter_from(0).map(element_bytes).sum::<usize>() + more.bytes;
    if !limit.allows(narrow::to_usize(list.len()) + more.elements, bytes) {
        key.set_value_tag(ValueTag::of_tree(Kind::List, LARGE));
    }
}

/// Makes a tree of a list, with the rows of a leaf.
fn enlarge(key: &mut KeyMut<'_, '_>, encoding: Encoding, leaf: &[u8]) -> Result<(), NoSpace> {
    let value_tag = ValueTag::of_tree(Kind::List, encoding);
    key.put_trees(value_tag, |nodes| Ok([ListTree::of_rows(nodes, leaf)?.root]))
}

/// Takes up to `count` elements from an end of a list, one after the other, and gives each to
/// `each` before it goes. Returns how many; `None` if there is no list.
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

/// Moves the element at an end of a list to an end of another, or of the same, and gives its text
/// to `show`. Returns false if there is no such list.
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
    // Pushed first: if there is no room for it, nothing has happened. At the same end of the same
    // list it is pushed upon itself, and one of the two goes.
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
    cut_out(key, from, taken, limit)?;
    Ok(taken)
}

/// Takes elements from an end, leaf by leaf. There are more of them.
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

/// Removes elements, and the list if none is left.
fn cut_out(key: &mut KeyMut<'_, '_>, from: u64, count: u64, limit: ListLimit) -> Result<(), Fault> {
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

/// Makes a large list that has shrunk to half of what a small one may be a small one again.
fn reduce(key: &mut KeyMut<'_, '_>, limit: ListLimit) {
    let view = key.value().view::<Leaf>(0);
    // Leaves are half full, but for those at the ends.
    let is_wide = view.root.height > 1 || !limit.allows_again(0, view.width() * NODE_BYTES / 2);
    if is_wide && view.width() > 3 || !limit.allows_again(narrow::to_usize(view.root.count), 0) {
        return;
    }
    let half = |bytes: usize| limit.allows_again(0, bytes);
    // Bounds that are found faster than the bytes of elements are.
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
    // Where there is no room for that, the list stays as it is.
    let _ = key.replace(ValueTag::new(Kind::List, SMALL), &packed);
}

/// Sets the element with a number. False if there is no such element.
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
    // It counts as one more, though another one goes.
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

/// Where an element is inserted: at another one, that is the first with a text.
#[derive(Clone, Copy, Debug)]
pub struct Pivot<'t> {
    /// The text of the other one.
    pub text: &'t [u8],
    /// Behind it rather than before it.
    pub is_behind: bool,
}

/// Inserts an element at another one. Returns the new length, or `Some(None)` if there is no such
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

/// Removes elements with a text: `count` from the front, or from the end if it is negative, or all
/// if it is zero. Returns how many.
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
    // From the last to the first, so that those that are left keep their numbers.
    remove_each(&mut key, &places)?;
    if removed > 0 && key.value_tag().is_tree() {
        reduce(&mut key, limit);
    }
    Ok(removed)
}

/// Removes the elements with these numbers, which fall.
fn remove_each(key: &mut KeyMut<'_, '_>, places: &[u64]) -> Result<(), Fault> {
    if key.value_tag().is_tree() {
        return key.change_tree::<Leaf, _>(0, |tree| {
            places.iter().for_each(|at| tree.remove_range(*at, 1, |_, _, _, _| ()));
            Ok(())
        });
    }
    for at in places {
        let place = PackedList::new(key.bytes()).place(narrow::to_usize(*at));
        key.remove_from_packed(place, 1);
    }
    Ok(())
}

/// Leaves the elements from the `start`th to the `end`th, both included. Returns how many are
/// gone.
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
    cut_out(&mut key, behind, len - behind, limit)?;
    cut_out(&mut key, 0, from, limit)?;
    Ok(len - count)
}
