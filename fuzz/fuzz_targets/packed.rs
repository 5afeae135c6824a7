//! Bytes that claim to be a packed list of elements are refused or can be read and changed; changes
//! to a packed list do what they do to a deque of texts.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use packed::{Element, Full, PackedList, PackedListMut};
use std::collections::VecDeque;

const ROOM: usize = 2_000;

#[derive(Arbitrary, Debug)]
enum Op<'a> {
    PushBack(&'a [u8]),
    PushFront(&'a [u8]),
    PushInteger(i64),
    InsertRow(u8, [&'a [u8]; 2]),
    Insert(u8, &'a [u8]),
    Replace(u8, &'a [u8]),
    Remove(u8, u8),
    PopFront,
    PopBack,
    Spread,
}

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    bytes: &'a [u8],
    ops: Vec<Op<'a>>,
}

fuzz_target!(|input: Input<'_>| {
    // Bytes of an attacker go on with the same changes, as a collection that was restored does.
    let mut memory = input.bytes.to_vec();
    memory.resize(memory.len().max(ROOM), 0);
    let Some(mut model) = model_of(&memory[..input.bytes.len()]) else {
        PackedListMut::empty_in(&mut memory);
        return play(&mut memory, VecDeque::new(), &input.ops);
    };
    model.make_contiguous();
    play(&mut memory, model, &input.ops);
});

fn model_of(bytes: &[u8]) -> Option<VecDeque<Vec<u8>>> {
    let packed = PackedList::checked(bytes).ok()?;
    let texts: VecDeque<_> = packed.iter().map(Element::to_text).collect();
    assert!(packed.iter().rev().map(Element::to_text).eq(texts.iter().rev().cloned()));
    Some(texts)
}

fn play(memory: &mut [u8], mut model: VecDeque<Vec<u8>>, ops: &[Op<'_>]) {
    for op in ops {
        let dense = PackedList::new(memory).dense_len();
        if let Err(full) = apply(&mut PackedListMut::new(memory), &mut model, op) {
            assert!(
                full.needed > memory.len().min(packed::PACKED_BYTES_MAX) && full.needed > dense
            );
        }
    }
    assert_eq!(model_of(memory).as_ref(), Some(&model));
}

fn apply(
    packed: &mut PackedListMut<'_>,
    model: &mut VecDeque<Vec<u8>>,
    op: &Op<'_>,
) -> Result<(), Full> {
    let at = |at: u8, len: usize| usize::from(at) % len.max(1);
    let row_len = packed.as_list().row_len();
    match *op {
        Op::PushBack(text) => {
            packed.push_back(Element::of(text))?;
            model.push_back(text.to_vec());
        }
        Op::PushFront(text) => {
            packed.push_front(Element::of(text))?;
            model.push_front(text.to_vec());
        }
        Op::PushInteger(value) => {
            packed.push_back(Element::Integer(value))?;
            model.push_back(value.to_string().into_bytes());
        }
        Op::Insert(index, text) => {
            let index = at(index, model.len() + 1);
            packed.insert(packed.as_list().place(index), Element::of(text))?;
            model.insert(index, text.to_vec());
        }
        Op::InsertRow(index, row) => {
            let index = at(index, model.len() + 1);
            packed.insert_row(packed.as_list().place(index), &row.map(Element::of))?;
            row.into_iter().rev().for_each(|text| model.insert(index, text.to_vec()));
        }
        Op::Replace(index, text) if !model.is_empty() => {
            let index = at(index, model.len());
            packed.replace(packed.as_list().place(index), Element::of(text))?;
            model[index] = text.to_vec();
        }
        Op::Remove(index, count) => {
            let (index, count) = (at(index, model.len()), usize::from(count) * row_len);
            packed.remove(packed.as_list().place(index), count);
            model.drain(index..(index + count).min(model.len()));
        }
        Op::PopFront => {
            packed.remove(packed.as_list().front(), row_len);
            model.drain(..row_len.min(model.len()));
        }
        Op::PopBack if !model.is_empty() => {
            packed.remove(packed.as_list().place(model.len() - 1), 1);
            model.pop_back();
        }
        Op::Spread => packed.spread(),
        Op::Replace(..) | Op::PopBack => {}
    }
    Ok(())
}
