//! The line that is written with each sync of an incremental file. Redis and Valkey skip it, as
//! every line that begins with `#`.
//!
//! ```text
//! #varve position=1234 id=<40 digits> bytes=567 safe=890 crc64=<16 digits>\r\n
//! ```
//! `position` is that of the stream behind the last unit before the line, `bytes` what came since
//! the last line, `safe` the length of the file that was known to be safe when the line was
//! written. `sync=no` stands behind that where no sync need follow, nor a line, before much has
//! come: the system syncs when it likes, or the writer has ended. The checksum is of those bytes
//! and of the line before its digits: all of the file is checked, and what a machine's death may
//! have torn is told from what it may not.

use crc_fast::{CrcAlgorithm, Digest};
use text::parse_u64;

/// Begin of each line.
pub const BEGIN: &[u8] = b"#varve ";
/// Longest line; readers of Redis and Valkey take 1024.
pub const LINE_BYTES_MAX: usize = 256;
const CRC: &str = " crc64=";
const CRC_DIGITS: usize = 16;

/// Identity of a history of changes: 40 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicationId([u8; 40]);

impl ReplicationId {
    /// Reads an identity; `None` if it is not 40 lower hexadecimal digits.
    pub fn parse(digits: &[u8]) -> Option<ReplicationId> {
        let digits: [u8; 40] = digits.try_into().ok()?;
        let is_digit = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        digits.iter().all(is_digit).then_some(ReplicationId(digits))
    }

    /// Its digits.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits")
    }
}

/// What a line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyncLine {
    /// Position of the stream.
    pub position: u64,
    /// Whose stream it is.
    pub id: ReplicationId,
    /// Bytes since the last line.
    pub bytes: u64,
    /// Length of the file that was safe.
    pub safe: u64,
    /// True if what comes behind it is synced within a second, after another line.
    pub is_synced: bool,
}

impl SyncLine {
    /// The line without its digits.
    fn front(&self) -> String {
        let SyncLine { position, id, bytes, safe, is_synced } = self;
        let (id, sync) = (id.as_str(), if *is_synced { "" } else { " sync=no" });
        format!("#varve position={position} id={id} bytes={bytes} safe={safe}{sync}{CRC}")
    }

    /// True if the line, which ends at an offset, tells that all before it was safe.
    pub fn covers_all(&self, end: u64) -> bool {
        let line_bytes = self.front().len() + CRC_DIGITS + b"\r\n".len();
        self.safe + line_bytes as u64 >= end
    }
}

/// Checksum of a file since the last line.
#[derive(Clone, Copy, Debug)]
pub struct Checksum {
    digest: Digest,
    bytes: u64,
}

impl Default for Checksum {
    fn default() -> Checksum {
        Checksum { digest: Digest::new(CrcAlgorithm::Crc64Redis), bytes: 0 }
    }
}

impl Checksum {
    /// Counts bytes of the file.
    pub fn update(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    /// Bytes since the last line.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next line; begins anew behind it.
    pub fn line(&mut self, position: u64, id: ReplicationId, safe: u64, is_synced: bool) -> String {
        let front = SyncLine { position, id, bytes: self.bytes, safe, is_synced }.front();
        self.digest.update(front.as_bytes());
        let line = format!("{front}{:016x}\r\n", self.digest.finalize());
        *self = Checksum::default();
        line
    }

    /// Reads a line, its end included, and holds it against the bytes before it; begins anew behind
    /// it. `None` if they do not agree.
    pub fn check(&mut self, line: &[u8]) -> Option<SyncLine> {
        let before = std::mem::take(self);
        let (front, crc) = line.strip_suffix(b"\r\n")?.split_last_chunk::<CRC_DIGITS>()?;
        let fields = parse(front)?;
        let mut digest = before.digest;
        digest.update(front);
        let agrees =
            fields.bytes == before.bytes && format!("{:016x}", digest.finalize()).as_bytes() == crc;
        agrees.then_some(fields)
    }
}

/// Reads a line whose bytes before it are not known; its checksum is not looked at.
pub fn parse_unchecked(line: &[u8]) -> Option<SyncLine> {
    parse(line.strip_suffix(b"\r\n")?.split_last_chunk::<CRC_DIGITS>()?.0)
}

fn parse(front: &[u8]) -> Option<SyncLine> {
    let mut words = front.strip_prefix(BEGIN)?.split(|byte| *byte == b' ');
    let mut field = |name: &[u8]| words.next()?.strip_prefix(name);
    let position = parse_u64(field(b"position=")?)?;
    let id = ReplicationId::parse(field(b"id=")?)?;
    let bytes = parse_u64(field(b"bytes=")?)?;
    let safe = parse_u64(field(b"safe=")?)?;
    let is_synced = match (words.next()?, words.next(), words.next()) {
        (b"crc64=", None, None) => true,
        (b"sync=no", Some(b"crc64="), None) => false,
        _ => return None,
    };
    Some(SyncLine { position, id, bytes, safe, is_synced })
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;

    fn id() -> ReplicationId {
        ReplicationId::parse(&[b'a'; 40]).expect("digits")
    }

    fn line(is_synced: bool) -> (String, SyncLine) {
        let mut checksum = Checksum::default();
        checksum.update(b"some bytes");
        let line = checksum.line(77, id(), 5, is_synced);
        assert_eq!(checksum.bytes(), 0);
        (line, SyncLine { position: 77, id: id(), bytes: 10, safe: 5, is_synced })
    }

    fn check(bytes: &[u8], line: &[u8]) -> Option<SyncLine> {
        let mut checksum = Checksum::default();
        checksum.update(bytes);
        checksum.check(line)
    }

    #[test]
    fn a_line_agrees_with_the_bytes_before_it() {
        for is_synced in [true, false] {
            let (line, fields) = line(is_synced);
            assert_eq!(check(b"some bytes", line.as_bytes()), Some(fields));
            assert_eq!(parse_unchecked(line.as_bytes()), Some(fields));
            assert_eq!(check(b"some bytez", line.as_bytes()), None);
            assert_eq!(check(b"some byte", line.as_bytes()), None);
        }
    }

    #[test]
    fn any_flipped_bit_is_found() {
        let (line, _) = line(false);
        for at in 0..line.len() * 8 {
            let mut line = line.clone().into_bytes();
            line[at / 8] ^= 1 << (at % 8);
            assert_eq!(check(b"some bytes", &line), None, "bit {at}");
        }
    }

    #[test]
    fn the_checksum_is_that_of_redis() {
        let mut digest = Checksum::default().digest;
        digest.update(b"123456789");
        assert_eq!(digest.finalize(), 0xe9c6_d914_c4b8_d9ca);
    }

    #[test]
    fn the_longest_line_is_short_enough_for_others() {
        let mut checksum = Checksum { bytes: u64::MAX, ..Checksum::default() };
        let line = checksum.line(u64::MAX, id(), u64::MAX, false);
        assert!(line.len() <= LINE_BYTES_MAX, "{}", line.len());
    }

    #[test]
    fn an_identity_is_forty_digits() {
        assert_eq!(ReplicationId::parse(&[b'0'; 39]), None);
        assert_eq!(ReplicationId::parse(&[b'A'; 40]), None);
        assert_eq!(id().as_str(), "a".repeat(40));
    }
}
