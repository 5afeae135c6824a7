//! The line that stands in a file for bytes of the stream that are no data: `#gap N` says how many.
//! `#gap 0` tells no more than that others follow the stream. Redis and Valkey skip the line, as
//! every one that begins with `#`.

use text::parse_u64;

const BEGIN: &[u8] = b"#gap ";

/// The line for so many bytes.
pub(crate) fn gap_line(bytes: u64) -> Vec<u8> {
    [BEGIN, bytes.to_string().as_bytes(), b"\r\n"].concat()
}

/// The number of bytes that a line, its end included, stands for; `None` if it is another line.
pub(crate) fn parse_gap(line: &[u8]) -> Option<u64> {
    parse_u64(line.strip_prefix(BEGIN)?.strip_suffix(b"\r\n")?)
}
