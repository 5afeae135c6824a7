//! Replies to the clients of YCSB: the begin of a reply is incomplete until its last byte is there
//! or something is wrong, and what comes behind changes nothing.
#![no_main]

use bench::ycsb::memcached::Reply;
use bench::ycsb::resp::Frame;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let bytes = &bytes[..bytes.len().min(300)];
    check(bytes, |input| Some(Frame::first_of(input).ok()?.map(len_of)));
    check(bytes, |input| Some(Reply::first_of(input).ok()?.map(|(_, len)| len)));
});

/// Bytes of a reply; all that can be asked of it is asked.
fn len_of(frame: Frame<'_>) -> usize {
    let count = frame.count().unwrap_or(0);
    assert!(frame.texts().count() as u64 <= count);
    assert!(frame.texts().map(<[u8]>::len).sum::<usize>() < frame.len());
    assert!(frame.error().is_none() || (count == 0 && !frame.is_status("OK")));
    frame.len()
}

/// `first_of` says how long the first reply is: nothing in what is incomplete, and nothing at all
/// of what is no reply.
fn check(bytes: &[u8], first_of: impl Fn(&[u8]) -> Option<Option<usize>>) {
    let mut before = Some(None);
    for end in 0..=bytes.len() {
        let this = first_of(&bytes[..end]);
        match before {
            Some(None) => assert!(this.flatten().is_none_or(|len| len == end)),
            told => assert_eq!(this, told),
        }
        before = this;
    }
}
