//! Requests to the null server: the begin of a command is partial until its last byte is there or
//! something is wrong, and what comes behind changes nothing.
#![no_main]

use bench::null::{Scanned, scan};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let bytes = &bytes[..bytes.len().min(300)];
    let mut before = Scanned::Partial;
    for end in 0..=bytes.len() {
        let this = scan(&bytes[..end]);
        match (&before, &this) {
            (Scanned::Partial, Scanned::Command(_, len)) => assert_eq!(*len, end),
            (Scanned::Partial, _) => {}
            (told, this) => assert_eq!(this, told),
        }
        before = this;
    }
});
