//! Lines that begin with `#`: what they tell of the stream, and which ones a file may have.

use super::{AofReader, COMMENT_BYTES_MAX, Item, Lines, Stop, Verified, Why};
use crate::disk::File;
use crate::gap_line::parse_gap;
use crate::history_line::parse_history;
use crate::moment_line::parse_moment;
use crate::sync_line::{BEGIN, parse_unchecked};
use text::parse_u64;

impl<F: File> AofReader<'_, F> {
    /// True if a file with sync lines has this line: anything else that begins like a comment is
    /// padding with a part of what was to be written over it.
    fn is_own_line(line: &[u8]) -> bool {
        let is_time = |rest: &[u8]| {
            rest.strip_suffix(b"\r\n").is_some_and(|digits| parse_u64(digits).is_some())
        };
        line.starts_with(BEGIN)
            || line.strip_prefix(b"#TS:").is_some_and(is_time)
            || parse_gap(line).is_some()
            || parse_moment(line).is_some()
            || parse_history(line).is_some()
    }

    pub(super) fn read_line(&mut self) -> Result<Item, Stop> {
        let Some(line) = self.find_line(COMMENT_BYTES_MAX)? else {
            return Err(Stop::Why(Why::Format));
        };
        let is_between_units = self.args.len() == self.args_before;
        if self.verified.line.is_some() && !Self::is_own_line(&self.buffer[line.clone()]) {
            return Err(Stop::Why(Why::Format));
        }
        let is_sync = self.buffer[line.clone()].starts_with(BEGIN);
        if is_sync {
            if !is_between_units {
                return Err(Stop::Why(Why::Format));
            }
            self.sum_up();
            let text = &self.buffer[line.clone()];
            let checked = self.checksum.check(text);
            let lacks_bytes = std::mem::take(&mut self.lacks_bytes);
            let known = if lacks_bytes { parse_unchecked(text) } else { checked };
            let Some(fields) = known else { return Err(Stop::Why(Why::Checksum)) };
            let end = self.begin + line.end as u64;
            let first = self.verified.first.or(Some(fields.position));
            self.verified = Verified { end, line: Some(fields), first, units: self.units };
            self.summed = line.end;
        }
        self.lines = if is_sync {
            Lines::default()
        } else {
            let text = &self.buffer[line.clone()];
            let gap = parse_gap(text);
            self.has_gaps |= gap.is_some();
            let gap = gap.unwrap_or(0);
            self.moment = parse_moment(text).or(self.moment);
            if let Some((id, earlier)) = parse_history(text) {
                self.history = Some((id, earlier.to_vec()));
            }
            let Lines { bytes, gaps } = self.lines;
            Lines { bytes: bytes + line.len() as u64, gaps: gaps.saturating_add(gap) }
        };
        self.at = line.end;
        // A file may end before its padding as well as behind it.
        if is_between_units && !self.buffer[line].iter().all(Self::is_pad) {
            self.note_whole();
        }
        Ok(Item::Line)
    }
}
