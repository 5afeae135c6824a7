//! Model test: a packed list behaves like a deque of texts, in memory that is never moved.

use packed::{Element, Full, PackedList, PackedListMut};
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
enum Change {
    PushBack(Vec<u8>),
    PushFront(Vec<u8>),
    Insert(usize, Vec<u8>),
    InsertRow(usize, Vec<Vec<u8>>),
    Replace(usize, Vec<u8>),
    Remove(usize, usize),
    PopFront,
    PopBack,
    Spread,
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => vec(any::<u8>(), 0..30),
        4 => any::<i64>().prop_map(|value| value.to_string().into_bytes()),
        2 => (-300_i64..300).prop_map(|value| value.to_string().into_bytes()),
        1 => vec(any::<u8>(), 230..300),
    ]
}

/// Returns texts of which many in a row have the same code.
fn text_of_one_length() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        40 => "[a-d]{8}".prop_map(String::into_bytes),
        1 => Just(vec![b'x'; 300]),
        1 => text(),
    ]
}

fn row() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop_oneof![
        20 => ("[a-d]{8}", "[a-d]{16}").prop_map(|(field, value)| vec![field.into(), value.into()]),
        1 => vec(text(), 2),
    ]
}

fn change_of_rows() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (any::<usize>(), row()).prop_map(|(at, row)| Change::InsertRow(at, row)),
        2 => row().prop_map(|row| Change::InsertRow(0, row)),
        2 => (any::<usize>(), text_of_one_length())
            .prop_map(|(at, text)| Change::Replace(at, text)),
        2 => (any::<usize>(), 0_usize..3).prop_map(|(at, rows)| Change::Remove(at, 2 * rows)),
        2 => Just(Change::Remove(0, 2)),
        1 => Just(Change::Spread),
    ]
}

fn change<T: Strategy<Value = Vec<u8>> + 'static>(
    text: impl Fn() -> T,
) -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => text().prop_map(Change::PushBack),
        3 => text().prop_map(Change::PushFront),
        3 => (any::<usize>(), text()).prop_map(|(at, text)| Change::Insert(at, text)),
        3 => (any::<usize>(), text()).prop_map(|(at, text)| Change::Replace(at, text)),
        1 => (any::<usize>(), 0_usize..5).prop_map(|(at, count)| Change::Remove(at, count)),
        3 => Just(Change::PopFront),
        2 => Just(Change::PopBack),
        1 => Just(Change::Spread),
    ]
}

/// Applies a change to a packed list of rows of so many elements; the model follows if it fits.
fn apply(
    list: &mut PackedListMut<'_>,
    model: &mut VecDeque<Vec<u8>>,
    row_len: usize,
    change: Change,
) -> Result<(), Full> {
    let place = |list: &PackedListMut<'_>, index| list.as_list().place(index);
    match change {
        Change::PushBack(text) => {
            list.push_back(Element::of(&text))?;
            model.push_back(text);
        }
        Change::PushFront(text) => {
            list.push_front(Element::of(&text))?;
            model.push_front(text);
        }
        Change::Insert(at, text) => {
            let at = at % (model.len() + 1);
            list.insert(place(list, at), Element::of(&text))?;
            model.insert(at, text);
        }
        Change::InsertRow(at, texts) => {
            let at = at % (model.len() / row_len + 1) * row_len;
            let elements: Vec<Element<'_>> = texts.iter().map(|text| Element::of(text)).collect();
            let most = list.as_list().len_with(&elements);
            if let Err(full) = list.insert_row(place(list, at), &elements) {
                assert!(full.needed <= most, "{} bytes, not {most}", full.needed);
                return Err(full);
            }
            texts.into_iter().rev().for_each(|text| model.insert(at, text));
        }
        Change::Replace(at, text) if !model.is_empty() => {
            let at = at % model.len();
            list.replace(place(list, at), Element::of(&text))?;
            model[at] = text;
        }
        Change::Remove(at, count) if !model.is_empty() => {
            let at = at % model.len() / row_len * row_len;
            let next = list.remove(place(list, at), count);
            model.drain(at..(at + count).min(model.len()));
            let expected = model.get(at).map(|text| Element::of(text));
            assert_eq!(list.as_list().at(next), expected);
        }
        Change::PopFront => {
            list.remove(list.as_list().front(), 1);
            model.pop_front();
        }
        Change::PopBack if !model.is_empty() => {
            list.remove(place(list, model.len() - 1), 1);
            model.pop_back();
        }
        Change::Spread => list.spread(),
        _ => {}
    }
    Ok(())
}

fn texts(elements: impl Iterator<Item = Element<'static>>) -> Vec<Vec<u8>> {
    elements.map(Element::to_text).collect()
}

fn check(memory: &[u8], model: &VecDeque<Vec<u8>>) {
    let list = PackedList::checked(memory).expect("sound");
    let forward: Vec<_> = list.iter().map(Element::to_text).collect();
    assert!(forward.iter().eq(model.iter()));
    let backward: Vec<_> = list.iter().rev().map(Element::to_text).collect();
    assert!(backward.iter().eq(model.iter().rev()));
    for (index, text) in model.iter().enumerate() {
        assert_eq!(list.get(index), Some(Element::of(text)));
        let found = list.find(Element::of(text), list.front(), 1).expect("it is there");
        assert_eq!(model[found.index()], *text);
        assert!(found.index() <= index);
    }
    assert_eq!(list.get(model.len()), None);
    let is_small = |text: &Vec<u8>| match Element::of(text) {
        Element::Integer(value) => i16::try_from(value).is_ok(),
        _ => false,
    };
    let unusual = (
        model.iter().filter(|text| is_small(text)).count(),
        model.iter().filter(|text| text.len() > packed::SHORT_BYTES_MAX).count(),
    );
    assert_eq!(list.count_unusual(), unusual);
    let is_meant = |text: &&Vec<u8>| match Element::of(text) {
        Element::Integer(value @ -128..128) => value % 3 == 0,
        Element::Integer(value) => i16::try_from(value).is_ok_and(|it| it % 2 == 0),
        _ => false,
    };
    let meant = list.count_small_integers(|it| it % 3 == 0, |it| it % 2 == 0);
    assert_eq!(meant, model.iter().filter(is_meant).count());
    let costs: usize = model.iter().map(|text| Element::of(text).cost()).sum();
    assert_eq!(list.full_len(), packed::EMPTY.len() + costs);
    let codes = list.codes().len();
    assert!(codes <= model.len());
    assert_eq!(list.dense_len(), list.full_len() - model.len() + codes);
    assert!(list.byte_len() <= memory.len());
}

/// Applies changes to a packed list in memory of `room` bytes and to its model.
fn play(changes: Vec<Change>, room: usize, row_len: usize) {
    let mut memory = vec![0xaa; room];
    PackedListMut::empty_in(&mut memory);
    let mut model = VecDeque::new();
    for change in changes {
        let before = memory.clone();
        let dense = PackedList::new(&memory).dense_len();
        if let Err(full) = apply(&mut PackedListMut::new(&mut memory), &mut model, row_len, change)
        {
            assert!(full.needed > room && dense <= room);
            assert_eq!(before, memory, "nothing has changed");
        }
        check(&memory, &model);
    }
}

proptest! {
    #[test]
    fn a_packed_list_is_a_deque_of_texts(
        changes in vec(change(text), 0..200),
        room in 8_usize..3_000,
    ) {
        play(changes, room, 1);
    }

    #[test]
    fn a_packed_list_of_equally_long_texts_is_a_deque(
        changes in vec(change(text_of_one_length), 0..200),
        room in 8_usize..3_000,
    ) {
        play(changes, room, 1);
    }

    #[test]
    fn a_packed_list_of_rows_is_a_deque_of_rows(
        changes in vec(change_of_rows(), 0..200),
        room in 8_usize..3_000,
    ) {
        play(changes, room, 2);
    }

    #[test]
    fn pieces_of_packed_lists_become_one_packed_list(
        rows in vec(row(), 0..40),
        others in vec(row(), 0..40),
        split in any::<usize>(),
    ) {
        let packed_of = |rows: &[Vec<Vec<u8>>]| {
            let mut list = packed::EMPTY.to_vec();
            for row in rows {
                let row: Vec<_> = row.iter().map(|text| Element::of(text)).collect();
                packed::push_row(&mut list, &row);
            }
            list
        };
        let (one, other) = (packed_of(&rows), packed_of(&others));
        let (one, other) = (PackedList::new(&one), PackedList::new(&other));
        let from = split % (rows.len() + 1);
        let pieces = [(one, one.place(2 * from), one.end()), (other, other.front(), other.end())];
        let mut whole = b"before".to_vec();
        packed::concat(2, &pieces, &mut whole);
        let expected = rows[from..].iter().chain(&others).flatten();
        check(&whole[6..], &expected.cloned().collect());
        prop_assert_eq!(PackedList::new(&whole[6..]).byte_len(), whole.len() - 6);
    }

    #[test]
    fn any_bytes_are_a_packed_list_or_refused(bytes in vec(any::<u8>(), 0..64)) {
        if let Ok(list) = PackedList::checked(&bytes) {
            prop_assert_eq!(list.iter().count(), list.len());
            prop_assert_eq!(list.iter().rev().count(), list.len());
        }
    }
}

#[test]
fn codes_that_repeat_are_written_once() {
    let texts_of = |texts: &[&[u8]], row_len: usize| {
        let mut list = packed::EMPTY.to_vec();
        for row in texts.chunks(row_len) {
            let row: Vec<_> = row.iter().map(|text| Element::of(text)).collect();
            packed::push_row(&mut list, &row);
        }
        PackedList::new(&list).codes().len()
    };
    assert_eq!(texts_of(&[b"four", b"five", b"nine"], 1), 1);
    assert_eq!(texts_of(&[b"name", b"Hortensia", b"town", b"Amsterdam"], 2), 2);
    assert_eq!(texts_of(&[b"name", b"Hortensia", b"town", b"Rome"], 2), 4);
    assert_eq!(texts_of(&[b"one", b"two"], 1), 2, "they are short");
}

#[test]
fn what_leaves_at_the_front_and_comes_at_the_end_stays_in_the_same_memory() {
    let mut memory = [0; 200];
    let mut list = PackedListMut::empty_in(&mut memory);
    for number in 0..10_000_i64 {
        list.push_back(Element::of(format!("job {number}").as_bytes())).expect("room");
        if number >= 5 {
            let expected = format!("job {}", number - 5).into_bytes();
            assert_eq!(list.as_list().get(0).map(Element::to_text), Some(expected));
            list.remove(list.as_list().front(), 1);
        }
    }
    assert_eq!(list.as_list().len(), 5);
}

#[test]
fn fields_are_found_in_steps_of_two() {
    let mut memory = [0; 100];
    let mut list = PackedListMut::empty_in(&mut memory);
    for text in [&b"a"[..], b"b", b"b", b"12", b"12", b"a"] {
        list.push_back(Element::of(text)).expect("room");
    }
    let list = list.as_list();
    let find = |text| list.find(Element::of(text), list.front(), 2).map(|place| place.index());
    assert_eq!(
        [find(b"a"), find(b"b"), find(b"12"), find(b"c")],
        [Some(0), Some(2), Some(4), None]
    );
    assert_eq!(texts(PackedList::new(&packed::EMPTY).iter()).len(), 0);
}
