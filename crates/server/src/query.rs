//! Query buffer of a client, input that was not served: the beginning of a request, or requests
//! deferred.

/// Smallest capacity of a buffer that is in use.
const ROOM_MIN: usize = 16 << 10;
/// Most capacity that an empty buffer keeps until it is trimmed.
const ROOM_KEPT: usize = 64 << 10;
/// Largest capacity that is not trimmed while its client is busy.
const UNTRIMMED: usize = 32 << 10;
/// Most bytes reserved for an argument whose length was announced, before its bytes come.
const ANNOUNCED_MAX: usize = 1 << 20;
/// Bytes reserved for the rest of such an argument, for each byte that has come: so it is moved a
/// few times, and a client can announce only little more than it sends. The longest argument, of
/// 512 MiB, is moved for the last time when 80 MiB have come; with seven, when nearly all have.
const ANNOUNCED_PER_BYTE: usize = 8;

/// Query buffer of one client.
#[derive(Debug, Default)]
pub struct Query {
    bytes: Vec<u8>,
    /// Bytes at the beginning of `bytes` that were served: never more than half of them, so that
    /// each byte is moved once on average when they are dropped.
    served: usize,
    /// Most bytes that waited since the buffer was last trimmed.
    peak: usize,
}

impl Query {
    /// Returns the bytes that wait.
    #[inline]
    pub fn waiting(&self) -> &[u8] {
        &self.bytes[self.served..]
    }

    /// Returns the number of bytes that wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.len() - self.served
    }

    /// Returns true if nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of memory that the buffer takes.
    #[inline]
    pub fn room(&self) -> usize {
        self.bytes.capacity()
    }

    /// Appends bytes to those that wait.
    #[inline]
    pub fn keep(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.bytes.reserve(bytes.len().max(ROOM_MIN.saturating_sub(self.bytes.len())));
            self.bytes.extend_from_slice(bytes);
            self.peak = self.peak.max(self.len());
        }
    }

    /// Takes the waiting bytes from `at` on out.
    pub fn split_off(&mut self, at: usize) -> Vec<u8> {
        let rest = self.waiting().get(at..).unwrap_or_default().to_vec();
        self.bytes.truncate(self.bytes.len() - rest.len());
        rest
    }

    /// Inserts bytes behind the first `at` of those that wait.
    pub fn insert(&mut self, at: usize, bytes: &[u8]) {
        let rest = self.split_off(at);
        self.bytes.reserve_exact(bytes.len() + rest.len() + ROOM_MIN);
        self.keep(bytes);
        self.keep(&rest);
    }

    /// Makes room for `announced` bytes that the client is sending, or for some of them.
    pub fn expect(&mut self, announced: usize) {
        let free = self.bytes.capacity() - self.bytes.len();
        if free < announced.min(ROOM_KEPT) {
            let most = ANNOUNCED_MAX.max(self.bytes.len() * ANNOUNCED_PER_BYTE);
            self.bytes.reserve_exact(announced.min(most));
        }
    }

    /// Drops the first `served` bytes of those that wait.
    pub fn drop_served(&mut self, served: usize) {
        self.served += served;
        if self.served >= self.bytes.len() {
            self.served = 0;
            if self.bytes.capacity() <= ROOM_KEPT {
                self.bytes.clear();
            } else {
                self.bytes = Vec::with_capacity(ROOM_KEPT);
            }
        } else if self.served > self.bytes.len() / 2 {
            self.bytes.drain(..self.served);
            self.served = 0;
        }
    }

    /// Frees capacity that was not needed lately, or for a silent client all that is not in use.
    /// Returns true if there was any.
    pub fn trim(&mut self, is_silent: bool) -> bool {
        let (room, len) = (self.bytes.capacity(), self.bytes.len());
        let needed = if is_silent { len } else { self.peak.max(ROOM_MIN) };
        let is_large = room > UNTRIMMED && self.peak < room / 2;
        let is_trimmed = room > needed && (is_silent || is_large);
        if is_trimmed {
            self.bytes.shrink_to(needed);
        }
        self.peak = self.len();
        is_trimmed
    }
}

#[cfg(test)]
mod tests {
    use super::{Query, ROOM_KEPT};

    #[test]
    fn what_is_kept_is_served_in_order() {
        let (mut query, mut next, mut expected) = (Query::default(), 0_u8, 0_u8);
        for turn in 0..2000 {
            let bytes: Vec<u8> = (0..turn % 97).map(|at| next.wrapping_add(at as u8)).collect();
            next = next.wrapping_add(bytes.len() as u8);
            query.keep(&bytes);
            let served = query.len().min(turn * 31 % 89);
            for byte in &query.waiting()[..served] {
                assert_eq!(*byte, expected);
                expected = expected.wrapping_add(1);
            }
            query.drop_served(served);
        }
    }

    #[test]
    fn a_long_argument_is_moved_a_few_times_and_announces_no_more_than_it_has_sent() {
        let (announced, read) = (64 << 20, 60_000);
        let head = b"*2\r\n$4\r\nECHO\r\n$67108862\r\n";
        let (mut query, mut rooms, mut missing) = (Query::default(), Vec::new(), announced);
        // The head comes alone.
        query.keep(head);
        query.expect(missing);
        while missing > 0 {
            let received = read.min(missing);
            missing -= received;
            query.keep(&vec![b'x'; received]);
            query.expect(missing);
            assert!(query.room() <= (query.len() * 9).max(2 << 20), "{missing} bytes are missing");
            rooms.push(query.room());
        }
        rooms.dedup();
        assert_eq!(rooms.pop(), Some(announced + head.len()));
        assert!(rooms.iter().sum::<usize>() < announced / 4, "moved: {rooms:?}");
    }

    #[test]
    fn serving_a_long_query_in_small_steps_moves_few_bytes() {
        let mut query = Query::default();
        query.keep(&vec![b'x'; 64 << 20]);
        for _ in 0..(64 << 20) / 64 {
            query.drop_served(64);
        }
        assert!(query.is_empty() && query.room() <= ROOM_KEPT);
    }
}
