//! Any bytes as the stream of a primary, in any pieces: the same units and the same error, and each
//! unit is read alone as it was in the stream.
#![no_main]

use libfuzzer_sys::fuzz_target;
use replication::{NoUnit, Unit, Units};

fuzz_target!(|stream: &[u8]| {
    let whole = split(stream, stream.len());
    for piece in [1, 7, 100] {
        assert_eq!(split(stream, piece), whole);
    }
    for (bytes, commands) in &whole.0 {
        let (alone, end) = split(bytes, bytes.len());
        assert_eq!(end, Ok(bytes.len()));
        assert_eq!(alone, [(bytes.clone(), commands.clone())]);
    }
});

type Commands = Vec<Vec<Vec<u8>>>;
type Found = Vec<(Vec<u8>, Commands)>;

/// The units of a stream with their bytes, and where the first open one begins or why it ended.
fn split(bytes: &[u8], piece: usize) -> (Found, Result<usize, NoUnit>) {
    let (mut units, mut found) = (Units::default(), Vec::new());
    let (mut begin, mut end) = (0, 0);
    while end < bytes.len() {
        end = bytes.len().min(end + piece);
        loop {
            match units.next(&bytes[begin..end]) {
                Err(error) => return (found, Err(error)),
                Ok(None) => break,
                Ok(Some(unit)) => {
                    let taken = unit.bytes().len();
                    assert!(taken > 0);
                    found.push((unit.bytes().to_vec(), commands(&unit)));
                    begin += taken;
                }
            }
        }
    }
    (found, Ok(begin))
}

fn commands(unit: &Unit<'_>) -> Commands {
    let words = |it: replication::UnitCommand<'_>| {
        it.noted.unwrap_or(it.words).iter().map(|span| span.of(it.bytes).to_vec()).collect()
    };
    unit.commands().map(words).collect()
}
