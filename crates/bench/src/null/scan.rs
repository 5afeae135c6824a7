//! Minimal request parser: finds the end of a command and its name.

/// Content at the front of the bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Scanned {
    /// A command of this many bytes.
    Command(Command, usize),
    /// Incomplete command.
    Partial,
    /// Not an array of bulk strings, or an excessively large one.
    Malformed,
}

/// Commands with replies of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// GET.
    Get,
    /// HGETALL.
    Hgetall,
    /// HMGET.
    Hmget,
    /// ZADD.
    Zadd,
    /// ZRANGEBYSCORE.
    Zrangebyscore,
    /// PING or INFO, which clients send to detect a server.
    Search,
    /// Any other command.
    Other,
}

impl Command {
    #[inline]
    fn named(name: &[u8]) -> Self {
        let is = |text: &[u8]| name.eq_ignore_ascii_case(text);
        match name.len() {
            3 if is(b"GET") => Self::Get,
            4 if is(b"ZADD") => Self::Zadd,
            4 if is(b"PING") || is(b"INFO") => Self::Search,
            5 if is(b"HMGET") => Self::Hmget,
            7 if is(b"HGETALL") => Self::Hgetall,
            13 if is(b"ZRANGEBYSCORE") => Self::Zrangebyscore,
            _ => Self::Other,
        }
    }
}

/// Finds the first command in `bytes`.
pub fn scan(bytes: &[u8]) -> Scanned {
    scan_command(bytes).unwrap_or_else(|stop| stop)
}

fn scan_command(bytes: &[u8]) -> Result<Scanned, Scanned> {
    let (count, mut at) = header(bytes, 0, b'*', ARGUMENTS_MAX)?;
    let mut command = Command::Other;
    let reach = bytes.len().min(COMMAND_BYTES_MAX);
    for argument in 0..count {
        let (length, from) = header(bytes, at, b'$', BULK_BYTES_MAX)?;
        at = from + length + 2;
        if at > reach {
            let is_too_large = at > COMMAND_BYTES_MAX;
            return Err(if is_too_large { Scanned::Malformed } else { Scanned::Partial });
        }
        if argument == 0 {
            command = Command::named(&bytes[from..from + length]);
        }
    }
    Ok(Scanned::Command(command, at))
}

/// Reads `<kind><digits>\r\n` at `at`; returns the number, and the position behind the line.
fn header(bytes: &[u8], at: usize, kind: u8, max: usize) -> Result<(usize, usize), Scanned> {
    let line = &bytes[at.min(bytes.len())..];
    match line.first() {
        None => return Err(Scanned::Partial),
        Some(found) if *found != kind => return Err(Scanned::Malformed),
        Some(_) => {}
    }
    let mut number = 0;
    let within = &line[..line.len().min(HEADER_BYTES_MAX)];
    for (index, byte) in within.iter().enumerate().skip(1) {
        match byte {
            b'0'..=b'9' if number <= max => number = number * 10 + usize::from(byte - b'0'),
            b'\r' if index > 1 && number <= max => {
                return match line.get(index + 1) {
                    Some(b'\n') => Ok((number, at + index + 2)),
                    Some(_) => Err(Scanned::Malformed),
                    None => Err(Scanned::Partial),
                };
            }
            _ => return Err(Scanned::Malformed),
        }
    }
    Err(if within.len() < HEADER_BYTES_MAX { Scanned::Partial } else { Scanned::Malformed })
}

const ARGUMENTS_MAX: usize = 1024;
const BULK_BYTES_MAX: usize = 64 << 20;
const COMMAND_BYTES_MAX: usize = 2 * BULK_BYTES_MAX;
/// Most bytes up to the end of the line that holds a length.
const HEADER_BYTES_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use super::{BULK_BYTES_MAX, Command, Scanned, scan};

    #[test]
    fn any_prefix_of_a_command_is_partial() {
        let bytes = b"*2\r\n$3\r\nGET\r\n$4\r\nk\r\n1\r\n";
        assert_eq!(scan(bytes), Scanned::Command(Command::Get, bytes.len()));
        for end in 0..bytes.len() {
            assert_eq!(scan(&bytes[..end]), Scanned::Partial, "first {end} bytes");
        }
    }

    #[test]
    fn absurd_lengths_are_malformed() {
        for bytes in [&b"*2147483647\r\n"[..], b"*1\r\n$99999999999\r\n", b"*1\r\n$\r\n"] {
            assert_eq!(scan(bytes), Scanned::Malformed);
        }
    }

    #[test]
    fn a_command_without_an_end_is_malformed() {
        assert_eq!(scan(&[&b"*"[..], &b"0".repeat(100)].concat()), Scanned::Malformed);
        let largest = b"$67108864\r\n";
        let mut bytes = b"*2\r\n".to_vec();
        bytes.extend_from_slice(largest);
        bytes.resize(bytes.len() + BULK_BYTES_MAX + 2, 0);
        assert_eq!(scan(&bytes), Scanned::Partial);
        bytes.extend_from_slice(largest);
        assert_eq!(scan(&bytes), Scanned::Malformed);
    }
}
