//! Files as they should be, torn, damaged and hostile.

use super::*;
use crate::disk::Files;
use crate::disk::simulated::SimulatedFiles;
use crate::inspect::{Inspection, State, glance, inspect};
use crate::sync_line::ReplicationId;
use crate::unit::{Command, Words, encode};
use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

mod notes;
mod padding;

const SET: &str = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n";
const MULTI: &str = "*1\r\n$5\r\nmulti\r\n";
const EXEC: &str = "*1\r\n$4\r\nEXEC\r\n";

fn with_file<T>(bytes: &[u8], act: impl FnOnce(&crate::disk::simulated::SimulatedFile) -> T) -> T {
    let files = SimulatedFiles::new();
    files.put("f", bytes);
    act(&files.open("f").expect("put there"))
}

/// Commands as words.
type Commands = Vec<Vec<Vec<u8>>>;

/// Units as lists of commands, and why the file ended.
fn units(bytes: &[u8]) -> (Vec<Commands>, Option<(u64, Why)>) {
    with_file(bytes, |file| {
        let (mut reader, mut units) = (AofReader::new(file, 0).expect("opened"), Vec::new());
        loop {
            match reader.next_unit() {
                Ok(None) => return (units, None),
                Err(ReadError::Broken { offset, why }) => return (units, Some((offset, why))),
                Err(ReadError::Disk(error)) => panic!("{error}"),
                Ok(Some(unit)) => {
                    let words =
                        |args: &mut dyn Iterator<Item = &[u8]>| args.map(<[u8]>::to_vec).collect();
                    units.push(unit.commands().map(|mut args| words(&mut args)).collect());
                }
            }
        }
    })
}

fn look(bytes: &[u8]) -> Inspection {
    with_file(bytes, |file| inspect(file, 0).expect("read"))
}

/// A file with lines: three syncs of two commands each, of which the first two were safe.
fn with_lines() -> (Vec<u8>, Vec<usize>) {
    let id = ReplicationId::parse(&[b'b'; 40]).expect("digits");
    let (mut bytes, mut checksum, mut ends, mut safe) = (vec![], Checksum::default(), vec![], 0);
    for _ in 0..3 {
        for _ in 0..2 {
            bytes.extend_from_slice(SET.as_bytes());
            checksum.update(SET.as_bytes());
        }
        let position = (ends.len() as u64 + 1) * 2 * SET.len() as u64;
        bytes.extend_from_slice(checksum.line(position, id, safe, true).as_bytes());
        safe = bytes.len() as u64;
        ends.push(bytes.len());
    }
    (bytes, ends)
}

#[test]
fn commands_transactions_and_comments_are_read() {
    let file = format!("#TS:1\r\n{SET}{MULTI}{SET}#x\n{SET}{EXEC}{MULTI}{EXEC}{SET}# end\n");
    let (units, end) = units(file.as_bytes());
    let set = vec![b"SET".to_vec(), b"k".to_vec(), b"value".to_vec()];
    assert_eq!(end, None);
    assert_eq!(units, [vec![set.clone()], vec![set.clone(); 2], vec![], vec![set]]);
    assert_eq!(look(file.as_bytes()).state, State::Whole);
}

#[test]
fn lines_for_what_is_no_data_count_for_the_position_also_within_a_transaction() {
    let (bytes, _) = with_lines();
    let position = |behind: &str| {
        let bytes = [&bytes, behind.as_bytes()].concat();
        let found = look(&bytes);
        assert_eq!(found.state, State::Whole, "{behind}");
        found.position.expect("a line has told one").0
    };
    let before = position("");
    let frame = (MULTI.len() + 2 * SET.len() + EXEC.len()) as u64;
    assert_eq!(position("#gap 14\r\n"), before + 14);
    assert_eq!(position(&format!("{MULTI}{SET}#gap 70\r\n{SET}{EXEC}")), before + frame + 70);
    let most = format!("#gap {}\r\n", u64::MAX);
    assert_eq!(position(&format!("{most}{most}{SET}")), u64::MAX);
}

#[test]
fn what_was_read_is_read_again_in_pieces_from_any_unit_on() {
    let (bytes, ends) = with_lines();
    let again = |offset: usize| {
        with_file(&bytes, |file| {
            let mut reader = AofReader::again(file, offset as u64, bytes.len() as u64);
            let mut pieces = (String::new(), Vec::new());
            while let Some(piece) = reader.next_piece().expect("whole") {
                match piece {
                    Piece::Stream(bytes) => pieces.0.push_str(str::from_utf8(bytes).expect("text")),
                    piece => pieces.1.push(format!("{piece:?}")),
                }
            }
            (pieces.0, pieces.1.len(), reader.verified().line.map(|line| line.position))
        })
    };
    let position = Some(6 * SET.len() as u64);
    for (left, begin) in [(6, 0), (4, ends[0]), (2, ends[1])] {
        let lines = left / 2;
        assert_eq!(again(begin), (SET.repeat(left), lines, position), "behind a line");
        assert_eq!(again(begin + SET.len()), (SET.repeat(left - 1), lines, position));
    }
}

#[test]
fn a_tail_that_ends_within_a_command_is_torn() {
    let file = format!("{SET}{SET}");
    for len in 1..SET.len() {
        let found = look(&file.as_bytes()[..SET.len() + len]);
        let offset = SET.len() as u64;
        assert_eq!((found.whole, found.units, found.bytes_behind), (offset, 1, len as u64));
        assert_eq!(found.state, State::Torn { offset, why: Why::Ended }, "{len}");
    }
}

#[test]
fn a_transaction_without_end_is_torn_at_its_begin() {
    let found = look(format!("{SET}{MULTI}{SET}").as_bytes());
    let offset = SET.len() as u64;
    assert_eq!((found.whole, found.state), (offset, State::Torn { offset, why: Why::Unfinished }));
    let found = look(format!("{SET}{MULTI}{}", &SET[..9]).as_bytes());
    assert_eq!(found.whole, offset);
}

#[test]
fn whole_commands_behind_a_break_are_damage_where_nothing_is_synced() {
    for is_synced in [true, false] {
        let id = ReplicationId::parse(&[b'b'; 40]).expect("digits");
        let line = Checksum::default().line(0, id, 0, is_synced);
        let found = look(format!("{line}{SET}\0\0\0\0\0\r\n{SET}").as_bytes());
        let (offset, why) = ((line.len() + SET.len()) as u64, Why::Format);
        let (torn, damaged) = (State::Torn { offset, why }, State::Damaged { offset, why });
        assert_eq!(found.state, if is_synced { torn } else { damaged });
        let torn = look(format!("{line}{SET}\0\0\0\0\0\r\n").as_bytes());
        assert!(matches!(torn.state, State::Torn { .. }));
    }
}

#[test]
fn a_file_with_nothing_of_the_stream_is_bare() {
    let id = ReplicationId::parse(&[b'b'; 40]).expect("digits");
    let select = "*2\r\n$6\r\nSELECT\r\n$1\r\n5\r\n";
    for before in ["", select] {
        let mut checksum = Checksum::default();
        checksum.update(before.as_bytes());
        let header = format!("{before}{}", checksum.line(7, id, 0, true));
        let end = checksum.line(7, id, header.len() as u64, false);
        let is_bare = |text: &str| {
            let (read, glanced) =
                with_file(text.as_bytes(), |file| (inspect(file, 0), glance(file, 0)));
            let [read, glanced] = [read, glanced].map(|found| found.expect("read").is_bare);
            assert_eq!(read, glanced);
            read
        };
        assert!(is_bare("") && is_bare(&header) && is_bare(&format!("{header}{end}")));
        assert!(is_bare(&format!("{header}*3\r\n$3\r\nSE")), "once it is truncated");
        assert!(!is_bare(&format!("{header}{SET}")) && !is_bare(SET));
    }
}

#[test]
fn a_file_of_another_kind_is_damage_and_not_a_long_tear() {
    for bytes in [&b"RFDIS0011"[..], b"\x1f\x8b\x08", &[0; 5000], b"garbage", b"*x\r\n"] {
        let found = look(bytes);
        assert_eq!(found.state, State::Damaged { offset: 0, why: Why::Format });
    }
    assert_eq!(look(b"").state, State::Whole);
    assert!(matches!(look(b"*3\r\n$3\r\nSE").state, State::Torn { .. }));
}

/// Ends of files that no server writes and no machine's death leaves: text, lines without carriage
/// returns, another file, noise.
const FOREIGN_ENDS: [&[u8]; 8] = [
    b"garbage\r\n*x\r\n",
    b"SET k value\r\nSET k value\r\n",
    b"*3\n$3\nSET\n$1\nk\n$5\nvalue\n",
    b"*1\r\n$4\r\nPINGxx",
    b"*0\r\n",
    b"*-1\r\n",
    b"REDIS0011\xfa\x09redis-ver\x057.2.0\xff\0\0\0\0\0\0\0\0",
    b"\x8b\x1f\xe2\x91\x44\x99",
];

#[test]
fn an_end_that_no_death_leaves_is_damage_and_zeros_are_torn() {
    let (lines, ends) = with_lines();
    // Both end far from where a sector does.
    for own in [SET.as_bytes(), &lines[..ends[1]]] {
        let (offset, why) = (own.len() as u64, Why::Format);
        for tail in FOREIGN_ENDS {
            let found = look(&[own, tail].concat());
            assert_eq!(found.state, State::Damaged { offset, why }, "{tail:?}");
            assert_eq!((found.whole, found.bytes_behind), (offset, tail.len() as u64));
        }
        for tail in [&b"\0\0\0"[..], &[0; 100_000], b"*1\r\n$4\r\nPING\0\0\0\0"] {
            let found = look(&[own, tail].concat());
            assert_eq!(found.state, State::Torn { offset, why }, "{} zeros", tail.len());
        }
    }
}

/// So many bytes, which end with a whole command behind lines.
fn whole_of(bytes: usize) -> Vec<u8> {
    let (own, _) = with_lines();
    let command =
        |value: usize| format!("*2\r\n$4\r\nPING\r\n${value}\r\n{}\r\n", "v".repeat(value));
    let around = command(100).len() - 100;
    let own = [&own[..], command(bytes - own.len() - around).as_bytes()].concat();
    assert_eq!(own.len(), bytes);
    own
}

#[test]
fn what_only_another_sector_may_hold_is_torn_there_and_damage_before() {
    let text = "of a value that was to be here ".repeat(100);
    let look_behind = |bytes| look(&[&whole_of(bytes)[..], text.as_bytes()].concat());
    let (offset, why) = (1024, Why::Format);
    assert_eq!(look_behind(1024).state, State::Torn { offset, why });
    for offset in [1023, 1025] {
        let found = look_behind(narrow::to_usize(offset));
        assert_eq!(found.state, State::Damaged { offset, why });
    }
}

#[test]
fn numbers_are_read_in_the_forms_that_valkey_reads() {
    let rest = |key: &str| format!("$3\r\nSET\r\n{key}\r\n$5\r\nvalue\r\n");
    for odd in [
        format!("*+3\r\n{}", rest("$1\r\nk")),
        format!("*03\r\n{}", rest("$001\r\nk")),
        format!("* 3\r\n{}", rest("$ 1\r\nk")),
        format!("*3 \r\n{}", rest("$+1\r\nk")),
        format!("*3\n{}", rest("$1\nk")),
        "*3\r\n$3\r\nSET\r\n$0000\r\n\r\n$5\r\nvalue\r\n".to_owned(),
    ] {
        let text = format!("{SET}{odd}{SET}");
        let found = look(text.as_bytes());
        assert_eq!((found.state, found.units), (State::Whole, 3), "{odd:?}");
        // A last argument without its end was not finished.
        for len in 1..=2 {
            let torn = look(&text.as_bytes()[..text.len() - len]);
            assert!(matches!(torn.state, State::Torn { why: Why::Ended, .. }), "{odd:?}");
        }
    }
    for wrong in ["*x\r\n", "*3x\r\n", "*\r\n", "*++3\r\n", "*-3\r\n", "*+\r\n", "*1\r\n$x\r\n\r\n"]
    {
        let found = look(format!("{SET}{wrong}").as_bytes());
        assert!(matches!(found.state, State::Damaged { .. }), "{wrong:?}");
    }
}

#[test]
fn whole_commands_behind_a_break_are_damage() {
    let found = look(format!("{SET}garbage\r\n{SET}{SET}").as_bytes());
    let offset = SET.len() as u64;
    assert_eq!((found.whole, found.state), (offset, State::Damaged { offset, why: Why::Format }));
    let swallowed = SET.replace("$5", "$500");
    let found = look(format!("{SET}{swallowed}{SET}").as_bytes());
    assert_eq!(found.state, State::Damaged { offset, why: Why::Ended });
}

#[test]
fn lengths_that_lie_take_no_memory() {
    for hostile in [
        "*9223372036854775807\r\n",
        "*18446744073709551615\r\n$1\r\na\r\n",
        "*1\r\n$9223372036854775807\r\n",
        "*1\r\n$18446744073709551615\r\nx\r\n",
        "*2\r\n$4294967296\r\nx\r\n",
        "*99999999999999999999999999\r\n",
    ] {
        let found = look(hostile.as_bytes());
        let is_refused = |state| matches!(state, State::Damaged { offset: 0, why: Why::Format });
        let is_torn = matches!(found.state, State::Torn { offset: 0, why: Why::Ended });
        assert!(is_torn || is_refused(found.state), "{hostile}: {found:?}");
    }
    with_file("*1\r\n$9000000000\r\nxyz\r\n".as_bytes(), |file| {
        let mut reader = AofReader::new(file, 0).expect("opened");
        assert!(reader.next_unit().is_err());
        assert!(reader.buffer.capacity() <= READ_BYTES);
    });
}

#[test]
fn a_large_argument_is_read_in_pieces() {
    let value = "v".repeat(3 * READ_BYTES + 17);
    let command = format!("*2\r\n$1\r\na\r\n${}\r\n{value}\r\n", value.len());
    let (units, end) = units(format!("{SET}{command}{SET}").as_bytes());
    assert_eq!((units.len(), end), (3, None));
    assert_eq!(units[1][0][1], value.as_bytes());
}

#[test]
fn a_line_of_the_time_is_no_part_of_the_stream() {
    let (mut bytes, _) = with_lines();
    let time = "#TS:1700000000\r\n";
    let (told, framed) = (6 * SET.len() as u64, [SET, MULTI, SET, EXEC].concat().len());
    for (behind, stream_bytes) in [
        (time.to_owned(), 0),
        (format!("{time}{SET}"), SET.len()),
        (format!("{time}{SET}{time}{MULTI}{time}{SET}{EXEC}"), framed),
        // Of a unit that is torn nothing counts.
        (format!("{SET}{time}{time}{MULTI}{time}"), SET.len()),
    ] {
        let whole = bytes.len();
        bytes.extend_from_slice(behind.as_bytes());
        let found = look(&bytes).position.expect("told").0;
        assert_eq!(found, told + stream_bytes as u64, "{behind:?}");
        bytes.truncate(whole);
    }
}

#[test]
fn batches_count_a_line_before_damage_once() {
    let (mut bytes, _) = with_lines();
    let time = "#TS:1700000000\r\n";
    bytes.extend_from_slice(format!("{SET}{time}{SET}{MULTI}{time}garbage").as_bytes());
    with_file(&bytes, |file| {
        let mut reader = AofReader::new(file, 0).expect("opened");
        while let Ok(Some(_)) = reader.next_batch(3) {}
        assert_eq!(reader.position(), Some(8 * SET.len() as u64));
    });
}

#[test]
fn lines_tell_the_position_and_survive() {
    let (bytes, ends) = with_lines();
    let found = look(&[&bytes[..], SET.as_bytes()].concat());
    assert_eq!((found.state, found.units), (State::Whole, 7));
    assert_eq!(found.position.expect("told").0, 7 * SET.len() as u64);
    let found = look(&bytes[..ends[1] + 3]);
    assert_eq!(found.position.expect("told").0, 4 * SET.len() as u64);
    assert!(matches!(found.state, State::Torn { .. }));
}

#[test]
fn a_flipped_bit_is_found_and_costs_nothing_that_was_safe() {
    let (bytes, ends) = with_lines();
    for at in 0..bytes.len() * 8 {
        let mut bytes = bytes.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        let found = look(&bytes);
        // The third line says that everything up to the end of the second one was safe. It may
        // become a comment itself, or say another number.
        let third = ends[1] + 2 * SET.len();
        match found.state {
            State::Damaged { why, .. } if at / 8 < ends[1] => {
                assert!(why != Why::Checksum || found.whole as usize <= at / 8);
            }
            State::Torn { .. } | State::Damaged { .. } if at / 8 >= ends[1] => {
                assert!(found.whole as usize >= ends[1] || at / 8 >= third);
            }
            State::Whole if at / 8 >= third => {}
            state => panic!("byte {} of {ends:?}: {state:?}", at / 8),
        }
    }
}

#[test]
fn a_hole_in_what_was_never_synced_is_truncated_with_what_is_behind_it() {
    let (mut bytes, ends) = with_lines();
    bytes[ends[1] + 5..ends[1] + 40].fill(0);
    let found = look(&bytes);
    let (offset, why) = (ends[1] as u64, Why::Format);
    assert_eq!((found.whole, found.state), (offset, State::Torn { offset, why }));
    assert_eq!(found.units, 4);
}

#[test]
fn what_frames_no_unit_is_a_command_and_lines_do_not_stand_in_frames() {
    let (lines, _) = with_lines();
    let line = &lines[2 * SET.len()..];
    let discard = "*1\r\n$7\r\nDISCARD\r\n";
    let bad = format!("{MULTI}{SET}{discard}{EXEC}");
    assert!(
        matches!(units(bad.as_bytes()).1, Some((0, Why::Format))),
        "who knows what was executed"
    );
    // As other servers read them: commands without any effect.
    let one = |text: &str| units(text.as_bytes()).0.iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(one(&format!("{EXEC}{SET}{discard}")), [1, 1, 1]);
    assert_eq!(one(&format!("{MULTI}{SET}{MULTI}{SET}{EXEC}{SET}")), [3, 1]);
    assert_eq!(look(format!("{MULTI}{SET}{MULTI}{SET}").as_bytes()).whole, 0);
    let framed = [MULTI.as_bytes(), line].concat();
    assert!(matches!(units(&framed).1, Some((_, Why::Format))));
}

proptest! {
    #[test]
    fn encoded_units_are_read_again(
        all in proptest::collection::vec(
            proptest::collection::vec(
                proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 2..4),
                1..4,
            ),
            0..6,
        ),
        selected in 0..2usize,
    ) {
        let mut file = Vec::new();
        for unit in &all {
            let commands = unit
                .iter()
                .map(|args| Command { database: 0, words: Words::OwnedArgs(args) });
            encode(selected, commands, &mut |piece| file.extend_from_slice(piece));
        }
        let (found, end) = units(&file);
        prop_assert_eq!(end, None);
        let is_select = |command: &Vec<Vec<u8>>| command[0] == b"SELECT" && command[1].len() == 1;
        let is_wanted = |unit: &Commands| selected == 0 || !is_select(&unit[0]);
        prop_assert_eq!(found.into_iter().filter(is_wanted).collect::<Vec<_>>(), all);
    }

    #[test]
    fn any_bytes_are_whole_torn_or_damaged(bytes in proptest::collection::vec(
        proptest::sample::select(b"*$#\r\n0123456789SETabc\0".to_vec()), 0..120,
    )) {
        let found = look(&bytes);
        prop_assert!(found.whole <= bytes.len() as u64);
        prop_assert_eq!(found.bytes_behind, bytes.len() as u64 - found.whole);
        prop_assert_eq!(look(&bytes[..found.whole as usize]).state, State::Whole);
    }
}

/// A command with its offset.
type Placed = (u64, Vec<Vec<u8>>);

/// Commands of batches of at least two, with their offsets, and why the file ended.
fn batches(bytes: &[u8]) -> (Vec<Placed>, Option<(u64, Why)>) {
    with_file(bytes, |file| {
        let (mut reader, mut commands) = (AofReader::new(file, 0).expect("opened"), Vec::new());
        loop {
            match reader.next_batch(2) {
                Ok(None) => return (commands, None),
                Err(ReadError::Broken { offset, why }) => return (commands, Some((offset, why))),
                Err(ReadError::Disk(error)) => panic!("{error}"),
                Ok(Some(batch)) => {
                    for (number, (bytes, places, _)) in batch.commands().enumerate() {
                        let words = places.iter().map(|place| bytes[place.clone()].to_vec());
                        commands.push((batch.offset(number), words.collect()));
                    }
                }
            }
        }
    })
}

#[test]
fn batches_have_the_commands_of_the_units_wherever_the_bytes_end() {
    let (with_lines, _) = with_lines();
    let framed = [SET, MULTI, SET, "#TS:1\r\n", SET, EXEC, SET, "# a\n", SET, SET].concat();
    for bytes in [with_lines, framed.into_bytes()] {
        for len in 0..=bytes.len() {
            let (units, why) = units(&bytes[..len]);
            let (batches, same) = batches(&bytes[..len]);
            assert_eq!(same, why, "{len} bytes");
            let words: Vec<_> = batches.iter().map(|(_, words)| words.clone()).collect();
            assert_eq!(words, units.concat(), "{len} bytes");
            assert!(batches.iter().all(|(at, _)| bytes[narrow::to_usize(*at)] == b'*'));
        }
    }
}

#[test]
fn a_glance_at_a_file_with_lines_finds_what_reading_it_finds() {
    let (bytes, _) = with_lines();
    let same = |bytes: &[u8]| {
        let glanced = with_file(bytes, |file| glance(file, 0).expect("read"));
        let read = look(bytes);
        if glanced.position.is_some() {
            assert_eq!(Inspection { units: read.units, ..glanced }, read);
        }
        glanced.position.is_some()
    };
    assert!(same(&bytes));
    for len in 0..bytes.len() {
        same(&bytes[..len]);
    }
    let flips = (0..bytes.len() * 8).filter(|bit| {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        same(&bytes)
    });
    assert!(flips.count() > bytes.len() * 4, "most files have a line that agrees");
}

#[test]
fn a_glance_finds_lines_across_windows() {
    let id = ReplicationId::parse(&[b'c'; 40]).expect("digits");
    for value in [65_300, 65_400, 65_500, 65_536, 200_000] {
        let (mut bytes, mut checksum) = (Vec::new(), Checksum::default());
        for _ in 0..3 {
            let value = format!("\n#varve {}", "x".repeat(value));
            let set = format!("*2\r\n$1\r\na\r\n${}\r\n{value}\r\n", value.len());
            checksum.update(set.as_bytes());
            bytes.extend_from_slice(set.as_bytes());
            bytes.extend_from_slice(checksum.line(7, id, 0, true).as_bytes());
        }
        let glanced = with_file(&bytes, |file| glance(file, 0).expect("read"));
        assert_eq!(Inspection { units: 3, ..glanced }, look(&bytes));
        assert_eq!(glanced.units, 0, "nothing was left to be read");
    }
}
