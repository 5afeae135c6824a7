//! A snapshot on its way to a replica: how its end is found.
//!
//! ```text
//! $1234            1234 bytes follow
//! $EOF:<40 bytes>  bytes follow, and then these 40
//! ```
//! A mark is drawn anew for each transfer. The primary sends nothing behind it before it has heard
//! of the replica, so the mark ends what has come: others look for it nowhere else.

use text::parse_u64;

/// Bytes of a mark.
pub const MARK_BYTES: usize = 40;

/// What ends a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Its length in bytes.
    Length(u64),
    /// The bytes behind it.
    Mark([u8; MARK_BYTES]),
}

impl Transfer {
    /// Reads the line before a snapshot, without its end; `None` if it is another one.
    pub fn parse(line: &[u8]) -> Option<Transfer> {
        let rest = line.strip_prefix(b"$")?;
        match rest.strip_prefix(b"EOF:") {
            Some(mark) => mark.try_into().ok().map(Transfer::Mark),
            None => parse_u64(rest).map(Transfer::Length),
        }
    }
}

/// Where a snapshot ends, as its bytes come.
#[derive(Debug)]
pub struct Ending {
    transfer: Transfer,
    /// Bytes of the snapshot so far, less those that are withheld.
    passed: u64,
    /// The newest bytes, which may be the mark.
    withheld: Vec<u8>,
}

/// What has come of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// True if that is all of it.
    pub is_whole: bool,
    /// Bytes that were taken: what is behind them belongs to the stream.
    pub taken: usize,
}

impl Ending {
    /// Nothing has come yet.
    pub fn new(transfer: Transfer) -> Ending {
        Ending { transfer, passed: 0, withheld: Vec::new() }
    }

    /// Bytes of the snapshot that were passed on.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Takes bytes that have come, and passes those of the snapshot on. The last 40 of them are
    /// withheld where they may be the mark.
    pub fn take(&mut self, bytes: &[u8], mut pass: impl FnMut(&[u8])) -> Came {
        let mark = match self.transfer {
            Transfer::Length(length) => {
                let left = length - self.passed;
                let taken = usize::try_from(left).map_or(bytes.len(), |it| it.min(bytes.len()));
                pass(&bytes[..taken]);
                self.passed += taken as u64;
                return Came { is_whole: self.passed == length, taken };
            }
            Transfer::Mark(mark) => mark,
        };
        let free = (self.withheld.len() + bytes.len()).saturating_sub(MARK_BYTES);
        let old = free.min(self.withheld.len());
        let pieces = [&self.withheld[..old], &bytes[..free - old]];
        pieces.into_iter().filter(|it| !it.is_empty()).for_each(pass);
        self.passed += free as u64;
        self.withheld.drain(..old);
        self.withheld.extend_from_slice(&bytes[free - old..]);
        Came { is_whole: self.withheld == mark, taken: bytes.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};

    const MARK: [u8; MARK_BYTES] = *b"0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn a_line_tells_length_or_mark() {
        assert_eq!(Transfer::parse(b"$172"), Some(Transfer::Length(172)));
        assert_eq!(Transfer::parse(&[&b"$EOF:"[..], &MARK].concat()), Some(Transfer::Mark(MARK)));
        let long = [&b"$EOF:"[..], &MARK, b"x"].concat();
        for wrong in [&b""[..], b"$", b"$-1", b"$EOF:", b"172", b"$1x", b"+OK", &long] {
            assert_eq!(Transfer::parse(wrong), None, "{}", wrong.escape_ascii());
        }
    }

    #[test]
    fn a_mark_within_what_has_come_is_a_part_of_the_snapshot() {
        let (mut ending, mut passed) = (Ending::new(Transfer::Mark(MARK)), Vec::new());
        let came = ending.take(&[&MARK[..], b"x"].concat(), |it| passed.extend_from_slice(it));
        assert!(!came.is_whole);
        assert!(ending.take(&MARK, |it| passed.extend_from_slice(it)).is_whole);
        assert_eq!(passed, [&MARK[..], b"x"].concat());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 1_000 }))]

        #[test]
        fn in_whatever_pieces_a_snapshot_comes_it_is_whole_at_its_end(
            snapshot in proptest::collection::vec(any::<u8>(), 0..300),
            pieces in proptest::collection::vec(1..90_usize, 1..60),
            has_mark: bool,
        ) {
            let behind = b"PING";
            let (transfer, mut sent) = if has_mark {
                (Transfer::Mark(MARK), [&snapshot[..], &MARK].concat())
            } else {
                (Transfer::Length(snapshot.len() as u64), [&snapshot[..], behind].concat())
            };
            let (mut ending, mut passed) = (Ending::new(transfer), Vec::new());
            let mut sizes = pieces.iter().cycle();
            let mut is_whole = false;
            while !is_whole {
                let size = (*sizes.next().expect("it is endless")).min(sent.len());
                let piece: Vec<u8> = sent.drain(..size).collect();
                let came = ending.take(&piece, |it| passed.extend_from_slice(it));
                is_whole = came.is_whole;
                prop_assert!(is_whole || came.taken == piece.len());
                if is_whole && !has_mark {
                    prop_assert_eq!([&piece[came.taken..], &sent].concat(), behind);
                }
                prop_assert!(is_whole || !sent.is_empty(), "its end was missed");
            }
            prop_assert_eq!(&passed, &snapshot);
            prop_assert_eq!(ending.passed(), snapshot.len() as u64);
        }
    }
}
