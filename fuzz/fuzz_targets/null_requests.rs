//! Requests to the null server: the begin of a command is partial until its last byte is there or
//! something is wrong, and what comes behind changes nothing.
#![no_main]

use bench::null::scan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let bytes = &bytes[..bytes.len().min(300)];
    let mut before = Ok(None);
    for end in 0..=bytes.len() {
        let this = scan(&bytes[..end]);
        match (&before, &this) {
            (Ok(None), Ok(Some((_, len)))) => assert_eq!(*len, end),
            (Ok(None), _) => {}
            (Ok(Some(_)), this) => assert_eq!(this, &before),
            (Err(_), this) => assert!(this.is_err()),
        }
        before = this;
    }
});
