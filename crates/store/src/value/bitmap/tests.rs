use super::combine::{Operation, combined as combine};
use super::count::count;
use super::field::{Change, Field, Overflow};
use super::model::{bits, random_bytes};
use super::position::position;
use super::{bits_of, range};
use crate::value::string::{Form, StringView};
use base::Random;
use std::ops::RangeInclusive;

fn get(bytes: &[u8], offset: u64) -> bool {
    let deadline = None;
    super::get(&StringView { deadline, form: Form::Whole(bytes) }, offset)
}

/// Calls `check` with bitmaps and ranges of bits inside them.
fn each_range(mut check: impl FnMut(&[u8], &[bool], &RangeInclusive<u64>)) {
    let mut random = Random::from_seed(3);
    for len_max in [3, 40, 700].into_iter().cycle().take(600) {
        let bytes = random_bytes(&mut random, len_max);
        let len = bytes.len() as u64 * 8;
        let (a, b) = (random.below(len.max(1)), random.below(len.max(1)));
        if len > 0 {
            check(&bytes, &bits(&bytes), &(a.min(b)..=a.max(b)));
            check(&bytes, &bits(&bytes), &(0..=len - 1));
        }
    }
}

#[test]
fn bits_are_read_from_the_top_of_each_byte_and_are_zeros_beyond_the_end() {
    let bytes = [0b1000_0001, 0b0100_0000];
    let set: Vec<u64> = (0..40).filter(|offset| get(&bytes, *offset)).collect();
    assert_eq!(set, [0, 7, 9]);
    assert!(!get(&bytes, u64::MAX));
}

#[test]
fn counts_are_those_of_the_bits_one_by_one() {
    each_range(|bytes, bits, range| {
        let inside = &bits[*range.start() as usize..=*range.end() as usize];
        let expected = inside.iter().filter(|bit| **bit).count();
        assert_eq!(count(bytes, range), expected as u64, "{range:?} of {bytes:?}");
    });
}

#[test]
fn the_first_bit_of_a_kind_is_found_where_a_walk_finds_it() {
    each_range(|bytes, bits, range| {
        for on in [true, false] {
            let expected = range.clone().find(|at| bits[*at as usize] == on);
            assert_eq!(position(bytes, on, range), expected, "{on} in {range:?} of {bytes:?}");
        }
    });
}

#[test]
fn ranges_count_from_either_end_and_stay_inside() {
    let expected = [
        ((0, -1), Some(0..=9)),
        ((-3, -2), Some(7..=8)),
        ((5, 100), Some(5..=9)),
        ((-100, 2), Some(0..=2)),
        ((0, -100), Some(0..=0)),
        ((6, 5), None),
        ((10, 20), None),
        ((i64::MIN, i64::MAX), Some(0..=9)),
    ];
    for ((start, end), expected) in expected {
        assert_eq!(range(10, start, end), expected, "{start} {end}");
    }
    assert_eq!(range(0, 0, -1), None);
    assert_eq!(bits_of(1..=2), 8..=23);
}

#[test]
fn combinations_are_those_of_the_bits_one_by_one() {
    let mut random = Random::from_seed(5);
    for round in 0..400_u64 {
        let operation =
            [Operation::And, Operation::Or, Operation::Xor, Operation::Not][round as usize % 4];
        let sources = if operation == Operation::Not { 1 } else { 1 + random.below(4) };
        let sources: Vec<_> = (0..sources).map(|_| random_bytes(&mut random, 30)).collect();
        let slices: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
        let result = combine(operation, &slices);
        assert_eq!(result.len(), sources.iter().map(Vec::len).max().unwrap_or(0));
        for offset in 0..result.len() as u64 * 8 {
            let set = sources.iter().filter(|source| get(source, offset)).count();
            let expected = match operation {
                Operation::And => set == sources.len(),
                Operation::Or => set > 0,
                Operation::Xor => set % 2 == 1,
                Operation::Not => set == 0,
            };
            assert_eq!(get(&result, offset), expected, "{operation:?} at {offset}");
        }
    }
}

/// Reads the number of a field bit by bit.
fn naive_get(field: &Field, bytes: &[u8]) -> i64 {
    let value = (field.offset..=field.last_bit())
        .fold(0_i128, |value, at| value << 1 | i128::from(get(bytes, at)));
    let is_negative = field.signed && get(bytes, field.offset);
    (if is_negative { value - (1 << field.bits) } else { value }) as i64
}

fn random_field(random: &mut Random) -> Field {
    let signed = random.below(2) == 0;
    let bits = 1 + random.below(63 + u64::from(signed)) as u32;
    Field { offset: random.below(60), bits, signed }
}

#[test]
fn a_field_changes_its_own_bits_alone_and_reads_back() {
    let mut random = Random::from_seed(9);
    for _ in 0..3_000 {
        let field = random_field(&mut random);
        let mut bytes = random_bytes(&mut random, 20);
        assert_eq!(field.get(&bytes), naive_get(&field, &bytes), "{field:?} of {bytes:?}");
        bytes.resize(20, 0xa5);
        let (before, value) = (bytes.clone(), random.next().cast_signed());
        let change = field.set(&mut bytes, value, Overflow::Wrap).expect("wraps");
        let old = naive_get(&field, &before);
        assert_eq!(change, Change { old, new: naive_get(&field, &bytes) });
        assert_eq!((change.new ^ value) << (64 - field.bits), 0, "the lowest bits are kept");
        for at in (0..160).filter(|at| !(field.offset..=field.last_bit()).contains(at)) {
            assert_eq!(get(&bytes, at), get(&before, at));
        }
    }
}

#[test]
fn sums_that_do_not_fit_wrap_saturate_or_fail() {
    let mut random = Random::from_seed(11);
    for _ in 0..3_000 {
        let field = random_field(&mut random);
        let mut bytes = random_bytes(&mut random, 20);
        bytes.resize(20, 0);
        let by = random.next().cast_signed() >> random.below(64);
        let sum = i128::from(field.get(&bytes)) + i128::from(by);
        let half = 1_i128 << (field.bits - 1);
        let (least, most) = if field.signed { (-half, half - 1) } else { (0, 2 * half - 1) };
        let fits = (least..=most).contains(&sum);
        let new = |overflow| field.add(&mut bytes.clone(), by, overflow).map(|it| it.new.into());
        assert_eq!(new(Overflow::Saturate), Some(sum.clamp(least, most)));
        assert_eq!(new(Overflow::Fail), fits.then_some(sum));
        let wrapped = (sum - least).rem_euclid(2 * half) + least;
        assert_eq!(new(Overflow::Wrap), Some(wrapped));
    }
}

#[test]
fn an_unsigned_field_saturates_at_its_most_when_set_to_a_negative_number() {
    let field = Field { offset: 0, bits: 8, signed: false };
    let mut bytes = [7];
    let change = field.set(&mut bytes, -1, Overflow::Saturate);
    assert_eq!(change, Some(Change { old: 7, new: 255 }));
}
