//! Any bytes as a key in base64, and as a key that is encoded.
#![no_main]

use libfuzzer_sys::fuzz_target;
use memcached::base64::{KEY_ROOM, decode, encode};
use memcached::percent_encode;

fuzz_target!(|bytes: &[u8]| {
    let mut room = KEY_ROOM;
    if let Some(key) = decode(bytes, &mut room) {
        assert!(!key.is_empty() && key.len() <= bytes.len() / 4 * 3);
        assert_read_back(key);
    }
    let key = &bytes[..bytes.len().min(186)];
    if !key.is_empty() {
        assert_read_back(key);
    }
    let mut out = Vec::new();
    percent_encode(bytes, &mut out);
    assert!(out.is_ascii() && !out.contains(&b' ') && out.len() <= 3 * bytes.len());
});

fn assert_read_back(key: &[u8]) {
    let (mut text, mut room) = (Vec::new(), KEY_ROOM);
    encode(key, &mut text);
    assert_eq!(text.len(), key.len().div_ceil(3) * 4);
    assert_eq!(decode(&text, &mut room), Some(key));
}
