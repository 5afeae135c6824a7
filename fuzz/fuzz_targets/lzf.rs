//! Any bytes are decompressed as another implementation does it, and what is compressed returns.
#![no_main]

use libfuzzer_sys::fuzz_target;

/// Longest text that is tried.
const TEXT_MAX: usize = 1 << 16;

fuzz_target!(|data: &[u8]| {
    let Some((length, bytes)) = data.split_first_chunk::<2>() else { return };
    let length = usize::from(u16::from_le_bytes(*length)).min(TEXT_MAX);
    if let Some(text) = rdb::decompress(bytes, length) {
        assert_eq!(text.len(), length);
        if length > 0 {
            assert_eq!(lzf::decompress(bytes, length).as_deref(), Ok(&text[..]));
        }
    }
    if let Some(short) = rdb::Compressor::default().compress(bytes, 1) {
        assert_eq!(rdb::decompress(&short, bytes.len()).as_deref(), Some(bytes));
        assert_eq!(lzf::decompress(&short, bytes.len()).as_deref(), Ok(bytes));
    }
});
