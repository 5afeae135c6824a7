//! The line that tells from which moment times to live count in the commands behind it: `#now N`,
//! in milliseconds since 1970. Commands of old primaries have such times; those of this server and
//! of newer ones have deadlines. Redis and Valkey skip it, as every line that begins with `#`.

use base::Millis;
use text::parse_u64;

const BEGIN: &[u8] = b"#now ";

/// The line for a moment.
pub(crate) fn moment_line(moment: Millis) -> Vec<u8> {
    [BEGIN, moment.0.to_string().as_bytes(), b"\r\n"].concat()
}

/// The moment that a line, its end included, tells; `None` if it is another line.
pub(crate) fn parse_moment(line: &[u8]) -> Option<Millis> {
    parse_u64(line.strip_prefix(BEGIN)?.strip_suffix(b"\r\n")?).map(Millis)
}
