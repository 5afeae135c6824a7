//! Data blocks: awaited behind their lines, and checked to end where they were announced to end.

use super::authentication::split_credentials;
use super::progress::{Progress, Refused, Request};
use crate::{Command, Refusal};
use wire::Span;

/// Request that is whole but for its data block.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) command: Command,
    pub(super) is_quiet: bool,
    pub(super) is_base64: bool,
    /// Offset of the block.
    pub(super) at: usize,
    pub(super) len: usize,
    /// Words of the request.
    pub(super) spans: Vec<Span>,
}

impl Block {
    /// Returns the two bytes behind the block, if they are there.
    #[inline]
    pub(super) fn find_end<'a>(&self, input: &'a [u8]) -> Option<&'a [u8]> {
        let end = self.at + self.len;
        input.get(end..end + LINE_END_LEN)
    }

    pub(super) fn missing(&self, input: &[u8]) -> usize {
        (self.at + self.len + LINE_END_LEN).saturating_sub(input.len()).max(1)
    }

    /// Completes the request, whose words are the spans from `before` on, with its block, which
    /// has `end` behind it.
    #[inline]
    pub(super) fn finish(
        &self,
        input: &[u8],
        end: &[u8],
        spans: &mut Vec<Span>,
        before: usize,
    ) -> Progress {
        let consumed = self.at + self.len + LINE_END_LEN;
        let is_whole = end == b"\r\n";
        let block = Span { start: narrow::to_u32(self.at), len: narrow::to_u32(self.len) };
        let refusal = match self.command {
            Command::Authenticate => split_credentials(input, block, is_whole, spans).err(),
            _ if !is_whole => Some(Refusal::DataBlock),
            _ => {
                spans.push(block);
                None
            }
        };
        if let Some(refusal) = refusal {
            spans.truncate(before);
            return Progress::Refused(Refused::new(consumed, refusal, self.is_quiet));
        }
        let (is_quiet, is_base64) = (self.is_quiet, self.is_base64);
        Progress::Request(Request { is_quiet, is_base64, ..Request::new(self.command, consumed) })
    }
}

/// Length of the line end behind a block.
pub(super) const LINE_END_LEN: usize = 2;
