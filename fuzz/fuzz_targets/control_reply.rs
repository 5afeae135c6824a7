//! Replies to questions: any bytes are read or refused, and what is cut off is refused.
#![no_main]

use bench::control::Reply;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut rest = bytes;
    let Ok(reply) = Reply::read(&mut rest) else { return };
    let len = bytes.len() - rest.len();
    assert_eq!(Reply::read(&mut &bytes[..len]).ok(), Some(reply));
    for end in (0..len).rev().take(300) {
        assert!(Reply::read(&mut &bytes[..end]).is_err());
    }
});
