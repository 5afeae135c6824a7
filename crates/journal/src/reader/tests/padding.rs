//! Padding at the end of a file, and what stands behind it.

use super::*;
use crate::disk::BLOCK_BYTES;

#[test]
fn padding_at_the_end_is_nothing_and_behind_a_hole_in_it_nothing_counts() {
    let (lines, ends) = with_lines();
    for bytes in [1, 15, 1023, 1024, 1025, 200_000] {
        let padded = [&lines[..], &vec![b'#'; bytes]].concat();
        let found = look(&padded);
        assert_eq!((found.whole as usize, found.state), (lines.len(), State::Whole), "{bytes}");
        assert_eq!(found.bytes_behind, bytes as u64);
        for behind in [SET, "lue\r\n*1\r\n$4\r\nPING\r\n", "varve \r\n", "TS:1\n"] {
            let found = look(&[&padded[..], behind.as_bytes()].concat());
            let is_torn = matches!(found.state, State::Torn { .. });
            assert!(is_torn && found.whole as usize == lines.len(), "{bytes} {behind}: {found:?}");
        }
        let torn = [&lines[..ends[2] - 20], &vec![b'#'; bytes]].concat();
        assert!(matches!(look(&torn).state, State::Torn { .. }), "{bytes}");
    }
}

/// A file with lines, and padding up to the end of a block.
fn padded() -> Vec<u8> {
    let (mut bytes, _) = with_lines();
    while bytes.len() % BLOCK_BYTES > 0 {
        let is_end = bytes.len() % 512 == 511;
        bytes.push(if is_end { b'\n' } else { b'#' });
    }
    bytes
}

#[test]
fn what_somebody_else_has_appended_behind_padding_is_read() {
    let own = padded();
    let other = format!("#TS:1\r\n{SET}").repeat(300);
    for other in [&other[..], SET, &SET.repeat(3000)] {
        let other = other.trim_start_matches("#TS:1\r\n");
        let file = [&own[..], other.as_bytes()].concat();
        let found = look(&file);
        assert_eq!((found.state, found.whole), (State::Whole, file.len() as u64));
        assert_eq!(found.units as usize, 6 + other.matches("SET").count());
        let torn = look(&file[..file.len() - 3]);
        let offset = (file.len() - SET.len()) as u64;
        if torn.units > 6 {
            assert_eq!(torn.state, State::Torn { offset, why: Why::Ended });
        }
        with_file(&file, |disk| assert_eq!(glance(disk, 0).expect("read").whole, found.whole));
        assert_eq!(batches(&file).0.len() as u64, found.units);
    }
    let damaged = [&own[..], SET.as_bytes(), b"garbage\r\n", SET.as_bytes()].concat();
    let (offset, why) = ((own.len() + SET.len()) as u64, Why::Format);
    assert_eq!(look(&damaged).state, State::Damaged { offset, why });
}

#[test]
fn what_was_missing_under_padding_is_no_end_of_it() {
    let (own, (lines, _)) = (padded(), with_lines());
    let line = &lines[2 * SET.len()..];
    let pad = &own[own.len() - 512..];
    for behind in [
        [SET.as_bytes(), line].concat(),
        [SET.as_bytes(), pad].concat(),
        SET.as_bytes()[3..].to_vec(),
        [pad, SET.as_bytes()].concat(),
    ] {
        let found = look(&[&own[..], &behind].concat());
        assert!(matches!(found.state, State::Torn { .. }), "{found:?}");
        assert_eq!(found.whole as usize, lines.len());
    }
    let found = look(&[&own[..], SET.as_bytes(), line].concat());
    assert!(matches!(found.state, State::Torn { .. }), "{found:?}");
}

#[test]
fn what_is_whole_ends_before_padding_whatever_stands_behind_it() {
    for behind in ["", "garbage", "3\r\n#varve x\n"] {
        for padding in ["#\n", "#\n###\n"] {
            let found = look(format!("{SET}{padding}{behind}").as_bytes());
            assert_eq!(found.whole, SET.len() as u64, "{padding:?} {behind:?}");
        }
    }
    let text = format!("{SET}##\n{SET}");
    assert_eq!(look(text.as_bytes()).whole, text.len() as u64);
}
