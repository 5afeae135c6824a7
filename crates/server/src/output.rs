//! Replies that a socket did not take: a queue of chunks, each given back once it is written.

use std::collections::VecDeque;
use std::io::{self, Write};

/// Room of a chunk that gathers small replies; more than this becomes a chunk as it is.
const CHUNK_BYTES: usize = 32 << 10;

/// See the module page.
#[derive(Debug, Default)]
pub struct Output {
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that were written.
    written: usize,
    /// Bytes that wait.
    len: usize,
    /// Bytes that the chunks have room for.
    room: usize,
}

impl Output {
    /// Bytes that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory that it takes.
    #[inline]
    pub fn room(&self) -> usize {
        self.room
    }

    /// Drops all that waits.
    pub fn clear(&mut self) {
        *self = Output::default();
    }

    /// Adds what stands in `replies` from `from` on, and leaves `replies` empty. Much of it is
    /// taken over with its memory instead of being copied.
    #[inline(never)]
    pub fn push(&mut self, replies: &mut Vec<u8>, from: usize) {
        if replies.len() - from < CHUNK_BYTES {
            self.copy(&replies[from..]);
            replies.clear();
            return;
        }
        let mut chunk = std::mem::take(replies);
        if chunk.capacity() - chunk.len() > chunk.len() / 8 {
            chunk.shrink_to_fit();
        }
        if self.chunks.is_empty() {
            self.written = from;
            self.add(chunk, from);
        } else {
            chunk.drain(..from);
            self.add(chunk, 0);
        }
    }

    /// Adds a copy of `bytes`.
    fn copy(&mut self, bytes: &[u8]) {
        let last_room = self.chunks.back().map_or(0, |last| last.capacity() - last.len());
        let (first, rest) = bytes.split_at(last_room.min(bytes.len()));
        if let Some(last) = self.chunks.back_mut() {
            last.extend_from_slice(first);
            self.len += first.len();
        }
        if rest.is_empty() {
            return;
        }
        // Most backlogs are short, and the socket takes them soon.
        let room = if self.chunks.is_empty() { rest.len() } else { rest.len().max(CHUNK_BYTES) };
        let mut chunk = Vec::with_capacity(room);
        chunk.extend_from_slice(rest);
        self.add(chunk, 0);
    }

    fn add(&mut self, chunk: Vec<u8>, written: usize) {
        self.len += chunk.len() - written;
        self.room += chunk.capacity();
        self.chunks.push_back(chunk);
    }

    /// Writes as much as `stream` takes. Returns the bytes that were written.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn write_to(&mut self, stream: &mut impl Write) -> io::Result<usize> {
        let mut taken = 0;
        while let Some(chunk) = self.chunks.front() {
            let bytes = write_some(stream, &chunk[self.written..])?;
            taken += bytes;
            self.len -= bytes;
            self.written += bytes;
            if self.written < chunk.len() {
                return Ok(taken);
            }
            self.room -= chunk.capacity();
            self.written = 0;
            self.chunks.pop_front();
        }
        self.chunks = VecDeque::new();
        Ok(taken)
    }
}

/// Writes as much of `bytes` as `stream` takes, and tells how much that was.
///
/// # Errors
/// When the connection is broken.
#[inline]
pub fn write_some(stream: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
    let mut taken = 0;
    while taken < bytes.len() {
        match stream.write(&bytes[taken..]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(more) => taken += more,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::{CHUNK_BYTES, Output};
    use std::io::{self, Write};

    /// A socket that takes `room` bytes and then no more.
    #[derive(Default)]
    struct Socket {
        room: usize,
        taken: Vec<u8>,
    }

    impl Write for Socket {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let len = bytes.len().min(self.room);
            if len == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.room -= len;
            self.taken.extend_from_slice(&bytes[..len]);
            Ok(len)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_pushed_is_written_once_and_in_order() {
        let (mut output, mut socket, mut expected) =
            (Output::default(), Socket::default(), Vec::new());
        let sizes = [1, 100, CHUNK_BYTES - 1, CHUNK_BYTES, 7, 5 * CHUNK_BYTES, 20_000, 20_000];
        for (turn, size) in sizes.into_iter().cycle().take(200).enumerate() {
            let mut replies: Vec<u8> = (0..size).map(|at| (at * 7 + turn) as u8).collect();
            let from = replies.len().min(turn % 3);
            expected.extend_from_slice(&replies[from..]);
            output.push(&mut replies, from);
            assert!(replies.is_empty());
            socket.room = 37_000 * (turn % 4);
            output.write_to(&mut socket).expect("the socket is not broken");
            assert_eq!(socket.taken.len() + output.len(), expected.len());
        }
        socket.room = usize::MAX;
        output.write_to(&mut socket).expect("the socket is not broken");
        assert!(socket.taken == expected && output.is_empty() && output.room() == 0);
    }

    #[test]
    fn memory_is_given_back_as_it_is_written() {
        let (mut output, mut socket) = (Output::default(), Socket::default());
        for _ in 0..100 {
            output.push(&mut vec![b'x'; 1 << 20], 0);
        }
        for left in (0..100).rev() {
            socket.room = 1 << 20;
            output.write_to(&mut socket).expect("the socket is not broken");
            assert!(output.room() <= (left + 1) << 20, "{} bytes", output.room());
        }
        assert_eq!(output.room(), 0);
    }

    #[test]
    fn small_replies_share_chunks() {
        let mut output = Output::default();
        for _ in 0..10_000 {
            output.push(&mut b"$5\r\nvalue\r\n".to_vec(), 0);
        }
        assert!(output.room() < output.len() + 2 * CHUNK_BYTES, "{} bytes", output.room());
    }
}
