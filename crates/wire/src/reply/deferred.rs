//! Places in the output, for what is known only once more was written: the lengths of aggregates,
//! and that what was written is to go.

use super::{HEADER_LEN_MAX, Protocol, Reply};

const DEFERRED_HEADER: &[u8] = b"*0\r\n";

/// Place in the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark(usize);

impl Reply<'_> {
    /// Begins an array whose length is not known yet; end it with [`Self::close_array`].
    #[inline]
    pub fn deferred_array(&mut self) -> Mark {
        self.deferred()
    }

    /// Begins a set whose length is not known yet; end it with [`Self::close_set`].
    #[inline]
    pub fn deferred_set(&mut self) -> Mark {
        self.deferred()
    }

    /// Begins a map whose length is not known yet; end it with [`Self::close_map`].
    #[inline]
    pub fn deferred_map(&mut self) -> Mark {
        self.deferred()
    }

    /// Ends the array of `len` elements begun at `mark`. From ten elements on, the bytes behind the
    /// mark are moved once, by one byte for each digit of the length after the first.
    #[inline]
    pub fn close_array(&mut self, mark: Mark, len: usize) {
        self.close(mark, b'*', len);
    }

    /// Ends the set of `len` elements begun at `mark`.
    #[inline]
    pub fn close_set(&mut self, mark: Mark, len: usize) {
        self.close(mark, self.choose(b'*', b'~'), len);
    }

    /// Ends the map of `len` pairs begun at `mark`.
    #[inline]
    pub fn close_map(&mut self, mark: Mark, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.close(mark, b'*', len * 2),
            Protocol::Resp3 => self.close(mark, b'%', len),
        }
    }

    /// Returns the present end of the output.
    #[inline]
    pub fn mark(&self) -> Mark {
        Mark(self.out.len())
    }

    /// Returns everything written since `mark`.
    pub fn since(&self, mark: Mark) -> &[u8] {
        &self.out[mark.0..]
    }

    /// Removes everything written since `mark`.
    #[inline]
    pub fn truncate(&mut self, mark: Mark) {
        self.out.truncate(mark.0);
        if let Some(lent) = &mut self.lent {
            lent.truncate(mark.0);
        }
    }

    /// Removes and returns everything written since `mark`.
    pub fn take(&mut self, mark: Mark) -> Vec<u8> {
        self.out.split_off(mark.0)
    }

    #[inline]
    fn deferred(&mut self) -> Mark {
        let mark = self.mark();
        self.out.extend_from_slice(DEFERRED_HEADER);
        mark
    }

    #[inline]
    fn close(&mut self, mark: Mark, prefix: u8, len: usize) {
        if let Some(header) = self.out.get_mut(mark.0..mark.0 + DEFERRED_HEADER.len())
            && len < 10
        {
            header[0] = prefix;
            header[1] = b'0' + narrow::to_u8(len);
            return;
        }
        self.close_wide(mark, prefix, len);
    }

    #[inline(never)]
    fn close_wide(&mut self, mark: Mark, prefix: u8, len: usize) {
        let end = (mark.0 + DEFERRED_HEADER.len()).min(self.out.len());
        let start = mark.0.min(end);
        let mut header = Vec::with_capacity(HEADER_LEN_MAX);
        Reply::new(&mut header, self.protocol).count(prefix, len);
        self.out.splice(start..end, header);
    }
}
