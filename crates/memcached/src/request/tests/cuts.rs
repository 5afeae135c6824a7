use super::{LIMITS, STRANGER, hear_in_pieces};
use crate::request::Limits;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use proptest::sample::Index;

/// Pieces of requests, whole ones and torn ones, from which streams are made.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let words = prop_oneof![
        Just("get "),
        Just("gets "),
        Just("gat 5 "),
        Just("set k 0 0 "),
        Just("cas k 0 0 1 "),
        Just("ms k "),
        Just("mg k "),
        Just("md k "),
        Just("ma k "),
        Just("me k "),
        Just("mn"),
        Just("delete k "),
        Just("touch k "),
        Just("incr n "),
        Just("flush_all "),
        Just("noreply"),
        Just("xx "),
        Just("lru_crawler metadump all"),
        Just("a b "),
        Just("1"),
        Just("4"),
        Just("99"),
        Just("-1"),
        Just("2000"),
        Just(" "),
        Just("\r"),
        Just("\n"),
        Just("\r\n"),
        Just("x\r\n"),
        Just("abcd\r\n"),
        Just(" v"),
        Just(" q"),
        Just(" b"),
        Just(" z"),
        Just(" Oa"),
        Just(" MA"),
        Just(" M"),
        Just(" T30"),
        Just("HTTP/1.0\r\n"),
        Just("\0"),
        Just("u p"),
        Just("3\r\n"),
    ];
    let long = (1_usize..300).prop_map(|len| vec![b'l'; len]);
    let many = (1_usize..100).prop_map(|count| b"ab ".repeat(count));
    let huge = (1900_usize..2200).prop_map(|len| vec![b'h'; len]);
    prop_oneof![
        20 => words.prop_map(|word| word.as_bytes().to_vec()),
        2 => long,
        2 => many,
        1 => huge,
        1 => vec(any::<u8>(), 0..4),
    ]
}

proptest! {
    #[test]
    fn what_is_heard_does_not_depend_on_the_pieces(
        stream in vec(pieces(), 1..30),
        mut ends in vec(any::<Index>(), 0..40),
        authenticated in any::<bool>(),
        is_first in any::<bool>(),
    ) {
        let stream = stream.concat();
        let limits = if authenticated { LIMITS } else { STRANGER };
        let limits = Limits { item_bytes_max: 50, is_first, ..limits };
        let whole = hear_in_pieces(&stream, std::iter::empty(), &limits);
        ends.sort_by_key(|end| end.index(stream.len() + 1));
        let ends = ends.iter().map(|end| end.index(stream.len() + 1));
        prop_assert_eq!(hear_in_pieces(&stream, ends, &limits), &whole[..]);
        prop_assert_eq!(hear_in_pieces(&stream, 0..stream.len(), &limits), &whole[..]);
    }
}
