//! Padding: where it ends, and what that means.

use super::{AofReader, COMMENT_BYTES_MAX, Item, Padding, READ_BYTES, Stop, Why};
use crate::disk::{BLOCK_BYTES, File};
use crate::sync_line::BEGIN;
use std::io;

impl<F: File> AofReader<'_, F> {
    /// Finds out about the lines of `#` that begin here. In a file without sync lines they are
    /// comments, unless nothing else follows.
    pub(super) fn find_padding(&mut self) -> io::Result<Option<Padding>> {
        let offset = self.offset();
        if let Some((end, padding)) = self.padding
            && offset < end
        {
            return Ok(Some(padding));
        }
        let (end, has_line) = self.padding_end()?;
        let padding = if end >= self.end {
            Padding::Rest
        } else if !has_line || self.verified.line.is_none() {
            return Ok(None);
        } else if self.args.len() == self.args_before && self.goes_on_at(end)? {
            Padding::Continued
        } else {
            Padding::Hole
        };
        self.padding = Some((end, padding));
        Ok(Some(padding))
    }

    /// Offset of the next byte that is no padding, and whether a line of padding ends before it.
    fn padding_end(&self) -> io::Result<(u64, bool)> {
        let (mut at, mut has_line) = (self.offset(), false);
        let mut look = |bytes: &[u8]| {
            let count = bytes.iter().position(|byte| !Self::is_pad(byte)).unwrap_or(bytes.len());
            has_line |= bytes[..count].contains(&b'\n');
            count
        };
        let rest = &self.buffer[self.at..];
        let count = look(rest);
        at += count as u64;
        if count < rest.len() {
            return Ok((at, has_line));
        }
        let mut window = vec![0; READ_BYTES];
        while at < self.end {
            let most = usize::try_from(self.end - at).unwrap_or(usize::MAX).min(READ_BYTES);
            let read = self.file.read_at(at, &mut window[..most])?;
            let count = look(&window[..read]);
            at += count as u64;
            if count < read || read == 0 {
                break;
            }
        }
        Ok((at, has_line))
    }

    /// True if what stands behind padding was appended to the file: it begins with a command where
    /// the padding of a whole block ends, and the server that wrote it knows neither sync lines nor
    /// padding.
    fn goes_on_at(&self, at: u64) -> io::Result<bool> {
        let mut last = [0; 2];
        let is_read = self.file.read_at(self.end - 2, &mut last)? == 2;
        if !at.is_multiple_of(BLOCK_BYTES as u64) || !is_read || last == *b"#\n" {
            return Ok(false);
        }
        let mut behind = AofReader::between(self.file, at, self.end);
        let is_command = matches!(behind.next_item(), Ok(Some(Item::Command)));
        Ok(is_command && !has_word(self.file, at, self.end, &[b"\n", BEGIN].concat())?)
    }

    pub(super) fn pass_line(&mut self) -> Result<Item, Stop> {
        let line = self.find_line(COMMENT_BYTES_MAX)?.ok_or(Stop::Why(Why::Format))?;
        self.lines.bytes += line.len() as u64;
        self.at = line.end;
        Ok(Item::Line)
    }

    pub(super) fn is_pad(byte: &u8) -> bool {
        matches!(byte, b'#' | b'\n')
    }
}

/// True if some bytes stand between two offsets of a file.
fn has_word<F: File>(file: &F, from: u64, to: u64, word: &[u8]) -> io::Result<bool> {
    let (mut window, mut at) = (vec![0; READ_BYTES], from);
    while at < to {
        let most = usize::try_from(to - at).unwrap_or(usize::MAX).min(READ_BYTES);
        let read = file.read_at(at, &mut window[..most])?;
        if memchr::memmem::find(&window[..read], word).is_some() {
            return Ok(true);
        }
        if read < word.len() {
            return Ok(false);
        }
        at += (read + 1 - word.len()) as u64;
    }
    Ok(false)
}
