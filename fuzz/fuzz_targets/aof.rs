//! Files of commands: any bytes are whole, torn or damaged; what is whole is read again, in as many
//! units, and is whole by itself.
#![no_main]

use journal::disk::Files;
use journal::disk::simulated::SimulatedFiles;
use journal::inspect::{State, inspect};
use journal::reader::{AofReader, Piece};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let files = SimulatedFiles::new();
    files.put("file", bytes);
    let file = files.open("file").expect("put there");
    let found = inspect(&file, 0).expect("the disk is well");
    assert_eq!(found.whole + found.bytes_behind, bytes.len() as u64);
    let behind =
        bytes.get(usize::try_from(found.whole).expect("in memory")..).expect("in the file");
    let is_padding = behind.iter().all(|byte| matches!(byte, b'#' | b'\n'));
    assert!(found.state != State::Whole || is_padding);
    if let State::Torn { offset, .. } | State::Damaged { offset, .. } = found.state {
        assert!(offset <= bytes.len() as u64);
    }
    let mut reader = AofReader::between(&file, 0, found.whole);
    let (mut units, mut argument_bytes) = (0, 0);
    while let Some(unit) = reader.next_unit().expect("inspected before") {
        units += 1;
        for command in unit.commands() {
            assert!(command.len() > 0);
            argument_bytes += command.map(<[u8]>::len).sum::<usize>();
        }
    }
    assert_eq!((units, reader.whole()), (found.units, found.whole));
    assert!(argument_bytes <= bytes.len());
    // Piece by piece it is the same stream: as many bytes behind the last line as the position
    // says.
    let mut pieces = AofReader::between(&file, 0, found.whole);
    let (mut lines, mut since_line) = (0, 0_u64);
    while let Some(piece) = pieces.next_piece().expect("inspected before") {
        match piece {
            Piece::Stream(bytes) => since_line += bytes.len() as u64,
            Piece::Gap(bytes) => since_line = since_line.saturating_add(bytes),
            Piece::Line => {}
        }
        let end = pieces.verified().end;
        if end != lines {
            (lines, since_line) = (end, 0);
        }
    }
    if let (Some(line), Some(position)) = (reader.verified().line, reader.position()) {
        assert_eq!(position, line.position.saturating_add(since_line));
    }
    if let Some((_, earlier)) = reader.history() {
        assert!(earlier.len() < 1024);
    }
});
