//! Requests to the null server: the begin of a command is partial until its last byte is there or
//! something is wrong, and what comes behind changes nothing.
#![no_main]

use bench::null::{Stop, scan};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let bytes = &bytes[..bytes.len().min(300)];
    let mut before = Err(Stop::Partial);
    for end in 0..=bytes.len() {
        let this = scan(&bytes[..end]);
        match (&before, &this) {
            (Err(Stop::Partial), Ok((_, len))) => assert_eq!(*len, end),
            (Err(Stop::Partial), _) => {}
            (told, this) => assert_eq!(this, told),
        }
        before = this;
    }
});
