use super::buffer::{BUFFER_BYTES, Buffer, Own, SHARED_OVERHEAD};
use super::{ALL_SAFE, Output, Queue, SLICES, WRITE_MAX};
use session::SharedBytes;
use std::io::{self, IoSlice, Write};
use std::sync::Arc;
use wire::{Lent, LentBytes, Protocol, Reply};

/// A socket that takes `room` bytes and then no more.
#[derive(Default)]
struct Socket {
    room: usize,
    taken: Vec<u8>,
    /// System calls that wrote something.
    writes: usize,
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let before = self.taken.len();
        for slice in slices {
            let len = slice.len().min(self.room);
            self.room -= len;
            self.taken.extend_from_slice(&slice[..len]);
        }
        if self.taken.len() == before {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.writes += 1;
        Ok(self.taken.len() - before)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Socket {
    fn with_room(room: usize) -> Socket {
        Socket { room, ..Socket::default() }
    }

    /// Takes all that may leave when positions up to `safe` are safe, and returns all bytes seen so
    /// far.
    fn drain(&mut self, output: &mut Output, safe: u64) -> &str {
        self.room = usize::MAX;
        output.write_to(self, safe, usize::MAX).expect("the socket is not broken");
        str::from_utf8(&self.taken).expect("tests send text")
    }
}

fn shared(len: usize, byte: u8) -> SharedBytes {
    Arc::new(vec![byte; len])
}

#[test]
fn a_socket_that_takes_everything_gets_no_more_at_a_time_than_others_may_wait_for() {
    for len in [WRITE_MAX - 1, WRITE_MAX, WRITE_MAX + 1, 3 * WRITE_MAX, 10 * WRITE_MAX + 7] {
        let (mut output, mut socket) = (Output::default(), Socket::with_room(usize::MAX));
        output.send(&mut vec![b'a'; len], &mut socket, ALL_SAFE).unwrap();
        output.share(shared(len, b'b'), None);
        let mut written = socket.taken.len();
        assert_eq!((written, output.may_write_more()), (len.min(WRITE_MAX), len > WRITE_MAX));
        while output.len() > 0 {
            let more = output.write_to(&mut socket, ALL_SAFE, WRITE_MAX).unwrap();
            written += more;
            assert_eq!((socket.taken.len(), output.len()), (written, 2 * len - written));
            assert!(more == WRITE_MAX || (more < WRITE_MAX && output.len() == 0));
            assert_eq!(output.may_write_more(), output.len() > 0);
        }
        assert!(socket.taken == [vec![b'a'; len], vec![b'b'; len]].concat());
    }
}

#[test]
fn what_a_full_socket_or_a_mark_withholds_is_not_to_be_written_at_once() {
    let mut socket = Socket::with_room(WRITE_MAX + 1);
    let mut output = Output::default();
    output.share(shared(3 * WRITE_MAX, b'a'), None);
    output.write_to(&mut socket, ALL_SAFE, WRITE_MAX).unwrap();
    assert!(output.may_write_more());
    output.write_to(&mut socket, ALL_SAFE, WRITE_MAX).unwrap();
    assert!(!output.may_write_more(), "an event will tell when there is room");
    let mut output = Output::default();
    output.mark(10, 7);
    output.share(shared(3 * WRITE_MAX, b'a'), None);
    socket.room = usize::MAX;
    output.write_to(&mut socket, 6, WRITE_MAX).unwrap();
    assert_eq!((output.len(), output.may_write_more()), (3 * WRITE_MAX - 10, false));
}

#[test]
fn what_is_pushed_is_written_once_and_in_order() {
    let (mut output, mut socket, mut expected) = (Output::default(), Socket::default(), Vec::new());
    let sizes = [1, 100, BUFFER_BYTES - 1, BUFFER_BYTES, 7, 5 * BUFFER_BYTES, 20_000, 20_000];
    for (turn, size) in sizes.into_iter().cycle().take(400).enumerate() {
        let mut bytes: Vec<u8> = (0..size).map(|at| (at * 7 + turn) as u8).collect();
        if turn % 5 == 4 {
            expected.extend_from_slice(&bytes);
            output.share(bytes.into(), None);
        } else {
            let from = bytes.len().min(turn % 3);
            expected.extend_from_slice(&bytes[from..]);
            output.push(&mut bytes, from);
            assert!(bytes.is_empty());
        }
        socket.room = 37_000 * (turn % 4);
        output.write_to(&mut socket, ALL_SAFE, usize::MAX).expect("the socket is not broken");
        assert_eq!(socket.taken.len() + output.len(), expected.len());
    }
    socket.room = usize::MAX;
    output.write_to(&mut socket, ALL_SAFE, usize::MAX).expect("the socket is not broken");
    assert!(socket.taken == expected && output.len() == 0 && output.room() == 0);
}

#[test]
fn a_socket_may_stop_at_every_byte() {
    let parts: [(bool, &[u8]); 4] =
        [(false, b"+OK\r\n"), (true, &[b'm'; 70]), (false, b":1\r\n"), (true, b"short")];
    let whole: Vec<u8> = parts.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    for first in 0..=whole.len() {
        for second in 0..=whole.len() - first {
            let mut output = Output::default();
            for (is_shared, bytes) in parts {
                if is_shared {
                    let (head, payload) = bytes.split_at(bytes.len().min(6));
                    let payload = (!payload.is_empty()).then(|| Arc::new(payload.to_vec()));
                    output.share(Arc::new(head.to_vec()), payload);
                } else {
                    output.push(&mut bytes.to_vec(), 0);
                }
            }
            let mut socket = Socket::with_room(first);
            output.write_to(&mut socket, ALL_SAFE, usize::MAX).expect("the socket is not broken");
            assert_eq!(output.len(), whole.len() - first);
            socket.room = second;
            let mut more = b"+MORE\r\n".to_vec();
            let sent = output.send(&mut more, &mut socket, ALL_SAFE);
            assert_eq!(sent.expect("the socket is not broken"), second);
            socket.room = usize::MAX;
            output.write_to(&mut socket, ALL_SAFE, usize::MAX).expect("the socket is not broken");
            assert_eq!(socket.taken, [&whole[..], b"+MORE\r\n"].concat());
        }
    }
}

#[test]
fn memory_is_given_back_as_it_is_written() {
    let (mut output, mut socket) = (Output::default(), Socket::default());
    for _ in 0..50 {
        output.push(&mut vec![b'x'; 1 << 20], 0);
        output.share(shared(1 << 20, b'y'), None);
    }
    for left in (0..100).rev() {
        socket.room = 1 << 20;
        output.write_to(&mut socket, ALL_SAFE, usize::MAX).expect("the socket is not broken");
        assert!(output.room() <= ((left + 1) << 20) + (16 << 10), "{} bytes", output.room());
    }
    assert_eq!(output.room(), 0);
}

#[test]
fn a_shared_message_is_not_copied_and_let_go_once_written() {
    let (message, mut output) = (shared(100, b'm'), Output::default());
    output.share(Arc::clone(&message), None);
    assert_eq!(Arc::strong_count(&message), 2);
    output
        .write_to(&mut Socket::with_room(99), ALL_SAFE, usize::MAX)
        .expect("the socket is not broken");
    assert_eq!(Arc::strong_count(&message), 2);
    output
        .write_to(&mut Socket::with_room(1), ALL_SAFE, usize::MAX)
        .expect("the socket is not broken");
    assert_eq!(Arc::strong_count(&message), 1);
}

#[test]
fn a_message_in_two_parts_takes_no_buffer_beside_them() {
    let (head, payload) = (shared(40, b'h'), shared(1000, b'p'));
    let (mut output, mut socket) = (Output::default(), Socket::with_room(usize::MAX));
    for _ in 0..SLICES {
        output.share(Arc::clone(&head), Some(Arc::clone(&payload)));
    }
    let parts = SLICES * (1040 + 2 * SHARED_OVERHEAD);
    let places = SLICES * size_of::<Buffer>() + size_of::<Queue>();
    assert_eq!((output.len(), output.room()), (SLICES * 1040, parts + places));
    assert_eq!(size_of::<Buffer>(), 2 * size_of::<usize>());
    output.write_to(&mut socket, ALL_SAFE, usize::MAX).expect("the socket is not broken");
    assert_eq!(socket.writes, 2, "each part is a slice");
    assert_eq!(socket.taken, [&head[..], &payload[..]].concat().repeat(SLICES));
    assert_eq!((Arc::strong_count(&head), Arc::strong_count(&payload)), (1, 1));
}

#[test]
fn small_replies_share_buffers() {
    let mut output = Output::default();
    for _ in 0..10_000 {
        output.push(&mut b"$5\r\nvalue\r\n".to_vec(), 0);
    }
    assert!(output.room() < output.len() + 2 * BUFFER_BYTES, "{} bytes", output.room());
}

/// Bytes that the allocator was asked for.
fn allocated(output: &Output) -> usize {
    let queue = output.queue.as_ref().expect("something waits");
    let of_buffer = |buffer: &Buffer| match buffer {
        Buffer::Own(own) => match &**own {
            Own::Replies(replies) => size_of_val(&**own) + replies.bytes.capacity(),
            Own::Lent(_) => unreachable!("nothing is lent"),
        },
        Buffer::Shared(head, _) => head.capacity() + size_of::<Vec<u8>>() + 16,
    };
    let buffers: usize = queue.buffers.iter().map(of_buffer).sum();
    size_of_val(&**queue) + queue.buffers.capacity() * size_of::<Buffer>() + buffers
}

#[test]
fn short_messages_in_turns_with_shared_ones_take_little_more_than_their_bytes() {
    let (short, long) = (shared(50, b's'), shared(100, b'l'));
    let mut output = Output::default();
    for _ in 0..10_000 {
        output.share(Arc::clone(&long), None);
        output.share(Arc::clone(&short), None);
    }
    assert!(output.room() < 2 * output.len(), "{} of {}", output.room(), output.len());
    assert_eq!(output.room(), allocated(&output));
}

#[test]
fn all_that_is_allocated_counts_however_buffers_grow_and_leave() {
    let (mut output, mut socket) = (Output::default(), Socket::default());
    let mut random = base::Random::from_seed(4);
    for _ in 0..20_000 {
        let len = random.below(200) as usize;
        match random.below(8) {
            0 => output.share(shared(len, b'm'), None),
            1 => output.push(&mut vec![b'p'; 200 * len], len / 2),
            2 => {
                socket.room = 100 * len;
                output.write_to(&mut socket, ALL_SAFE, usize::MAX).expect("it is not broken");
            }
            _ => output.push(&mut vec![b'r'; len], 0),
        }
        if output.len() > 0 {
            assert_eq!(output.room(), allocated(&output));
        }
    }
}

#[test]
fn what_is_appended_to_an_output_leaves_behind_it() {
    let (mut output, mut own, mut socket) = <(Output, Output, Socket)>::default();
    output.push(&mut b"+OK\r\n".to_vec(), 0);
    own.share(shared(100, b'm'), None);
    own.share(shared(5, b's'), None);
    let (before, len) = (own.room(), own.len());
    output.append(own);
    assert_eq!(output.len(), 5 + len);
    assert!(output.room() > before);
    assert_eq!(socket.drain(&mut output, ALL_SAFE), format!("+OK\r\n{}sssss", "m".repeat(100)));
}

#[test]
fn many_buffers_leave_with_one_system_call() {
    let (mut output, mut socket) = (Output::default(), Socket::with_room(usize::MAX));
    for at in 0..SLICES - 1 {
        output.share(shared(100 + at, b'm'), None);
    }
    let sent = output.send(&mut b"+OK\r\n".to_vec(), &mut socket, ALL_SAFE);
    assert_eq!(sent.expect("the socket is not broken"), socket.taken.len());
    assert_eq!((socket.writes, output.len()), (1, 0));
}

#[test]
fn bytes_behind_a_mark_wait_until_its_position_is_safe() {
    let (mut output, mut socket) = (Output::default(), Socket::default());
    output.push(&mut b"read ".to_vec(), 0);
    output.mark(0, 10);
    output.push(&mut b"written at 10 ".to_vec(), 0);
    output.mark(0, 20);
    output.push(&mut b"written at 20 ".to_vec(), 0);
    assert_eq!(socket.drain(&mut output, 9), "read ");
    assert_eq!(output.len(), 28);
    assert_eq!(socket.drain(&mut output, 19), "read written at 10 ");
    assert_eq!(socket.drain(&mut output, 20), "read written at 10 written at 20 ");
    assert!(!output.is_marked() && output.room() == 0);
}

#[test]
fn a_mark_stands_where_the_reply_will_be_that_is_not_queued_yet() {
    let (mut output, mut socket) = (Output::default(), Socket::with_room(usize::MAX));
    let mut replies = b"+READ\r\n+WRITTEN\r\n".to_vec();
    output.mark(b"+READ\r\n".len(), 5);
    output.send(&mut replies, &mut socket, 4).expect("the socket is not broken");
    assert_eq!(socket.taken, b"+READ\r\n");
    assert!(output.is_marked() && output.len() == 10 && replies.is_empty());
    assert_eq!(socket.drain(&mut output, 5), "+READ\r\n+WRITTEN\r\n");
}

#[test]
fn a_mark_without_bytes_withholds_those_that_come_later() {
    let (mut output, mut socket) = (Output::default(), Socket::with_room(usize::MAX));
    output.mark(0, 5);
    output.send(&mut b"later".to_vec(), &mut socket, 4).expect("the socket is not broken");
    assert_eq!((socket.taken.len(), output.len()), (0, 5));
    assert_eq!(socket.drain(&mut output, 5), "later");
}

#[test]
fn a_position_that_is_not_newer_needs_no_mark_of_its_own() {
    let mut output = Output::default();
    for position in [5, 5, 3] {
        output.mark(0, position);
        output.push(&mut b"x".to_vec(), 0);
    }
    let marks = |output: &Output| output.queue.as_ref().map_or(0, |queue| queue.marks.len());
    let few = marks(&output);
    output.mark(0, 6);
    output.mark(0, 7);
    assert_eq!(marks(&output) - few, 1, "two marks at one place are one");
}

#[test]
fn marks_and_buffers_agree_with_a_plain_model() {
    let mut random = base::Random::from_seed(8);
    for _ in 0..300 {
        let (mut output, mut socket) = (Output::default(), Socket::default());
        // For each byte the position that it waits for.
        let (mut bytes, mut waits, mut position, mut safe) = (Vec::new(), Vec::new(), 0_u64, 0_u64);
        for _ in 0..60 {
            let len = random.below(100) as usize;
            let byte = random.below(256) as u8;
            match random.below(4) {
                0 => {
                    position += random.below(3);
                    output.mark(0, position);
                }
                1 => {
                    let payload = random.below(len as u64 + 1) as usize;
                    let head = shared(len - payload, byte);
                    output.share(head, (payload > 0).then(|| shared(payload, byte)));
                }
                2 => output.push(&mut vec![byte; len], 0),
                _ => {
                    safe = safe.max(position.saturating_sub(random.below(4)));
                    socket.room = random.below(200) as usize;
                    let allowed = waits.iter().take_while(|waits| **waits <= safe).count();
                    let expected = allowed.min(socket.taken.len() + socket.room);
                    let expected = expected.max(socket.taken.len());
                    output
                        .write_to(&mut socket, safe, usize::MAX)
                        .expect("the socket is not broken");
                    assert_eq!(socket.taken.len(), expected);
                    assert_eq!(socket.taken.len() + output.len(), bytes.len());
                    continue;
                }
            }
            bytes.resize(socket.taken.len() + output.len(), byte);
            waits.resize(bytes.len(), position);
        }
        socket.room = usize::MAX;
        output.write_to(&mut socket, ALL_SAFE, usize::MAX).expect("the socket is not broken");
        assert!(socket.taken == bytes && output.room() == 0);
    }
}

#[test]
fn the_lowest_memory_tells_of_a_client_that_caught_up_in_between() {
    let (mut output, mut socket) = (Output::default(), Socket::with_room(1000));
    assert_eq!(output.take_lowest(), 0, "there was no output before");
    output.share(shared(1000, b'a'), None);
    assert_eq!(output.take_lowest(), 0, "nor at the beginning");
    let one = output.room();
    output.share(shared(1000, b'b'), None);
    let both = output.room();
    output.write_to(&mut socket, ALL_SAFE, usize::MAX).expect("the socket is not broken");
    output.share(shared(1000, b'c'), None);
    assert_eq!((output.take_lowest(), output.room()), (one, both));
    assert_eq!((output.take_lowest(), output.room()), (both, both));
    socket.drain(&mut output, ALL_SAFE);
    assert_eq!((output.take_lowest(), output.room()), (0, 0));
}

/// Bytes that are lent in parts of 7, with a token that tells whether they were given back.
#[derive(Debug)]
struct Lending {
    bytes: Vec<u8>,
    _token: Arc<()>,
}

impl LentBytes for Lending {
    fn len(&self) -> usize {
        self.bytes.len()
    }

    fn overhead(&self) -> usize {
        24
    }

    fn slices<'l>(&'l self, from: usize, most: usize, slices: &mut [IoSlice<'l>]) -> usize {
        let end = self.bytes.len().min(from.saturating_add(most));
        let parts = self.bytes[from..end].chunks(7);
        slices.iter_mut().zip(parts).map(|(slice, part)| *slice = IoSlice::new(part)).count()
    }
}

/// Replies that leave something out at two places, and what is to be sent all in all.
fn lending(loans: [usize; 2], token: &Arc<()>) -> (Vec<u8>, Lent, Vec<u8>) {
    let (mut out, mut lent, mut all) = (Vec::new(), Lent::default(), Vec::new());
    for (number, len) in loans.into_iter().enumerate() {
        let bytes: Vec<u8> = (0..len).map(|at| b'a' + (at % 23) as u8 + number as u8).collect();
        let mut reply = Reply::new(&mut out, Protocol::Resp2).lending(&mut lent);
        assert!(reply.bulk_lent(len, || {
            let lending = Lending { bytes: bytes.clone(), _token: Arc::clone(token) };
            Some(Box::new(lending) as Box<dyn LentBytes>)
        }));
        all.extend_from_slice(format!("${len}\r\n").as_bytes());
        all.extend_from_slice(&bytes);
        all.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"+OK\r\n");
    all.extend_from_slice(b"+OK\r\n");
    (out, lent, all)
}

#[test]
fn what_is_lent_is_sent_where_it_was_left_out_and_then_given_back() {
    for (room, most) in [(1, 1), (3, 5), (16, 1000), (1000, 16), (usize::MAX, usize::MAX)] {
        let token = Arc::new(());
        let (mut replies, mut lent, all) = lending([400, 90], &token);
        let (mut output, mut socket) = (Output::default(), Socket::default());
        output.lend(&mut replies, &mut lent);
        assert!(lent.is_empty() && Arc::strong_count(&token) == 3);
        output.push(&mut replies, 0);
        assert_eq!(output.len(), all.len());
        assert!(output.room() > all.len(), "what is lent counts as if it was copied");
        while output.len() > 0 {
            socket.room = room;
            output.write_to(&mut socket, ALL_SAFE, most).unwrap();
            assert_eq!(socket.taken.len() + output.len(), all.len());
        }
        assert!(socket.taken == all && Arc::strong_count(&token) == 1 && output.room() == 0);
    }
}

#[test]
fn what_is_lent_for_long_is_copied_bit_by_bit_and_given_back() {
    for (written, most) in [(0, 100), (3, 64), (50, 1000), (413, 7)] {
        let token = Arc::new(());
        let (mut replies, mut lent, all) = lending([400, 90], &token);
        let (mut output, mut socket) = (Output::default(), Socket::with_room(written));
        output.lend(&mut replies, &mut lent);
        output.push(&mut replies, 0);
        output.write_to(&mut socket, ALL_SAFE, usize::MAX).unwrap();
        assert_eq!(output.copy_lent(most), 0, "it may leave soon");
        loop {
            let copied = output.copy_lent(most);
            assert!(copied <= most && output.room() < 8 * all.len());
            if copied == 0 {
                break;
            }
        }
        assert_eq!((Arc::strong_count(&token), output.len()), (1, all.len() - written));
        assert_eq!(output.copy_lent(usize::MAX), 0, "nothing is lent any more");
        let _ = socket.drain(&mut output, ALL_SAFE);
        assert!(socket.taken == all && output.room() == 0);
    }
}

#[test]
fn many_small_loans_are_copied_at_once() {
    let token = Arc::new(());
    let mut output = Output::default();
    for _ in 0..100 {
        let (mut replies, mut lent, _) = lending([30, 20], &token);
        output.lend(&mut replies, &mut lent);
    }
    assert_eq!(output.copy_lent(usize::MAX), 0, "all are new");
    assert_eq!(output.copy_lent(2600), 2600);
    assert_eq!((output.copy_lent(usize::MAX), Arc::strong_count(&token)), (2400, 1));
}
