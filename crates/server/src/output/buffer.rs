//! Buffers of an output: replies of the client, messages that others get too, and bytes that are
//! lent.

use session::SharedBytes;
use std::io::IoSlice;
use wire::LentBytes;

/// Largest capacity of a buffer that gathers small replies; replies of this size or more become a
/// buffer of their own without a copy.
pub(super) const BUFFER_BYTES: usize = 32 << 10;
/// Bytes of memory of a shared message besides those of its buffer: where that is, and both counts
/// of references.
pub(super) const SHARED_OVERHEAD: usize = size_of::<Vec<u8>>() + 2 * size_of::<usize>();

/// Takes two words, as there may be one for each message that a slow subscriber has not got yet.
#[derive(Debug)]
pub(super) enum Buffer {
    /// For this client alone; behind a pointer, which keeps places of messages small.
    Own(Box<Own>),
    /// A message that other clients get too, with its payload if that is a part of its own.
    Shared(SharedBytes, Option<SharedBytes>),
}

#[derive(Debug)]
pub(super) enum Own {
    Replies(Replies),
    /// The rest of a value, which is sent from where it lies.
    Lent(Loan),
}

/// Bytes that are lent, of which the first `from` were sent or copied.
#[derive(Debug)]
pub(super) struct Loan {
    pub(super) bytes: Box<dyn LentBytes>,
    pub(super) from: usize,
    /// True until loans are looked at for the first time.
    pub(super) is_new: bool,
}

#[derive(Debug)]
pub(super) struct Replies {
    pub(super) bytes: Vec<u8>,
}

impl Loan {
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.from
    }
}

impl Replies {
    /// Copies the first of `bytes`, as many as it may come to hold, and returns the others. It
    /// grows as it is filled: behind each message there may be a buffer that gets a few bytes.
    pub(super) fn fill<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let (len, room) = (self.bytes.len(), self.bytes.capacity());
        let most = room.max(BUFFER_BYTES) - len;
        let (first, rest) = bytes.split_at(bytes.len().min(most));
        if first.len() > room - len {
            let grown = (2 * room).min(BUFFER_BYTES);
            self.bytes.reserve_exact(first.len().max(grown - len));
        }
        self.bytes.extend_from_slice(first);
        rest
    }
}

impl Buffer {
    pub(super) fn own(bytes: Vec<u8>) -> Buffer {
        Buffer::Own(Box::new(Own::Replies(Replies { bytes })))
    }

    pub(super) fn lent(bytes: Box<dyn LentBytes>) -> Buffer {
        Buffer::Own(Box::new(Own::Lent(Loan { bytes, from: 0, is_new: true })))
    }

    pub(super) fn loan(&mut self) -> Option<&mut Loan> {
        let Buffer::Own(own) = self else { return None };
        if let Own::Lent(loan) = &mut **own { Some(loan) } else { None }
    }

    pub(super) fn replies(&mut self) -> Option<&mut Replies> {
        let Buffer::Own(own) = self else { return None };
        if let Own::Replies(replies) = &mut **own { Some(replies) } else { None }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Buffer::Own(own) => match &**own {
                Own::Replies(replies) => replies.bytes.len(),
                Own::Lent(loan) => loan.left(),
            },
            Buffer::Shared(head, payload) => head.len() + payload.as_ref().map_or(0, |it| it.len()),
        }
    }

    /// Fills `slices` with at most `most` of its bytes from `from` on, and returns how many slices
    /// were filled.
    pub(super) fn slices<'b>(
        &'b self,
        from: usize,
        most: usize,
        slices: &mut [IoSlice<'b>],
    ) -> usize {
        let parts: [&[u8]; 2] = match self {
            Buffer::Own(own) => match &**own {
                Own::Replies(replies) => [&replies.bytes, &[]],
                Own::Lent(loan) => return loan.bytes.slices(loan.from + from, most, slices),
            },
            Buffer::Shared(head, payload) => [head, payload.as_ref().map_or(&[], |it| it)],
        };
        let (mut passed, mut left, mut used) = (from, most, 0);
        for part in parts {
            let bytes = &part[passed.min(part.len())..];
            passed -= passed.min(part.len());
            let bytes = &bytes[..bytes.len().min(left)];
            if let (false, Some(slice)) = (bytes.is_empty(), slices.get_mut(used)) {
                *slice = IoSlice::new(bytes);
                left -= bytes.len();
                used += 1;
            }
        }
        used
    }

    /// Returns the bytes of memory. A shared message counts for each client that holds it, as a
    /// slow reader may be the last to hold it.
    pub(super) fn room(&self) -> usize {
        match self {
            Buffer::Own(own) => {
                let beside = match &**own {
                    Own::Replies(replies) => replies.bytes.capacity(),
                    Own::Lent(loan) => loan.bytes.overhead() + loan.left(),
                };
                size_of::<Own>() + beside
            }
            Buffer::Shared(head, payload) => {
                let parts = [Some(head), payload.as_ref()];
                parts.into_iter().flatten().map(|part| SHARED_OVERHEAD + part.capacity()).sum()
            }
        }
    }
}
