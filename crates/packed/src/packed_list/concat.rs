//! Pieces of packed lists, put together to one.

use crate::head::{EMPTY, HEAD_BYTES, Head};
use crate::packed_list::{PackedList, Place, REPEATING_BYTES_MIN};

/// Appends a packed list to `to` that holds pieces of others, one behind the other and without
/// gaps. Together they take no more than [`PACKED_BYTES_MAX`](crate::PACKED_BYTES_MAX), and are
/// rows of `row_len` elements, whose codes are stored once if they repeat.
pub fn concat(row_len: usize, pieces: &[(PackedList<'_>, Place, Place)], to: &mut Vec<u8>) {
    let begin = to.len();
    to.extend_from_slice(&EMPTY);
    for (list, from, end) in pieces {
        to.extend_from_slice(&list.bytes[from.offset..end.offset]);
    }
    let codes = to.len();
    for (list, from, end) in pieces {
        if list.head.is_repeating() {
            to.extend((from.index..end.index).map(|index| list.code(index)));
        } else {
            let codes = list.head.codes;
            to.extend_from_slice(&list.bytes[codes + from.index..codes + end.index]);
        }
    }
    let (count, end) = (to.len() - codes, codes - begin);
    let mask = mask_of(&to[codes..], row_len, end - HEAD_BYTES);
    let head = Head { count, begin: HEAD_BYTES, end, codes: end, mask };
    to.truncate(begin + head.byte_len());
    head.write(&mut to[begin..]);
}

/// Returns the mask for the codes of all elements, which are in rows of `row_len` and take `bytes`
/// together.
fn mask_of(codes: &[u8], row_len: usize, bytes: usize) -> usize {
    let repeats =
        |len: usize| codes[len.min(codes.len())..] == codes[..codes.len().saturating_sub(len)];
    if codes.is_empty() || bytes < REPEATING_BYTES_MIN * codes.len() {
        usize::MAX
    } else if repeats(1) {
        0
    } else if row_len == 2 && repeats(2) {
        1
    } else {
        usize::MAX
    }
}
