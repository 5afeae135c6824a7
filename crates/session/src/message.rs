//! A message: formatted once for each version of the protocol, shared by all who receive it.

use std::cell::OnceCell;
use std::sync::{Arc, OnceLock};
use wire::{Protocol, Reply};

/// Bytes that several clients get. They stay where they were formatted, since a message may be
/// large.
pub type SharedBytes = Arc<Vec<u8>>;

/// Bytes from which on a payload is a part of its own, which messages about it share: one for each
/// pattern that fits, and each version of the protocol.
pub const LARGE_PAYLOAD: usize = 16 << 10;

/// A message, as bytes that clients get.
#[derive(Debug)]
pub struct Message {
    kind: Kind,
    resp2: OnceLock<SharedBytes>,
    resp3: OnceLock<SharedBytes>,
    /// What follows these bytes, in both versions.
    payload: Option<SharedBytes>,
    /// Bytes of memory, without those that another message has counted.
    room: usize,
}

/// Bytes of a message for one client, in two parts if its payload is large.
#[derive(Clone, Copy, Debug)]
pub struct MessageBytes<'m> {
    /// All of the message, or what comes before its payload.
    pub head: &'m SharedBytes,
    /// The payload, with the end of its line.
    pub payload: Option<&'m SharedBytes>,
}

impl MessageBytes<'_> {
    /// Returns the number of bytes.
    pub fn size(&self) -> usize {
        self.head.len() + self.payload.map_or(0, |payload| payload.len())
    }
}

/// Payload of messages that are published together.
#[derive(Debug)]
pub struct Payload<'p> {
    bytes: &'p [u8],
    shared: OnceCell<SharedBytes>,
}

impl<'p> Payload<'p> {
    /// A payload that no message has yet.
    pub fn of(bytes: &'p [u8]) -> Payload<'p> {
        Payload { bytes, shared: OnceCell::new() }
    }

    /// Returns it as a part of its own if it is large, with the bytes that this takes anew.
    fn share(&self) -> Option<(SharedBytes, usize)> {
        let len = self.bytes.len();
        if len < LARGE_PAYLOAD {
            return None;
        }
        let more = if self.shared.get().is_none() { len } else { 0 };
        let shared = self.shared.get_or_init(|| Arc::new([self.bytes, b"\r\n"].concat()));
        Some((Arc::clone(shared), more))
    }
}

/// How a message looks in the other version of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Bulk strings, which differ in the first byte alone.
    Words,
    /// There is none for clients that speak RESP2.
    Resp3Only,
    /// Replies that are the same in both, for clients that want replies.
    Lines,
    /// Keys that are not valid any more, sent to another client than has read them: under RESP2, a
    /// message of a channel, for a subscriber.
    Redirected,
}

/// Bytes of memory of a message besides those that clients get: its own, and those of its buffer
/// and of both counts of references.
const OVERHEAD: usize = size_of::<Message>() + size_of::<Vec<u8>>() + 4 * size_of::<usize>();
/// Begin of a message about keys that are not valid any more; an array of them follows, or null.
const INVALIDATE: &[u8] = b">2\r\n$10\r\ninvalidate\r\n";
/// The same as a message of a channel, under RESP2.
const INVALIDATE_CHANNEL: &[u8] = b"*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n";

impl Message {
    /// Formats words and a payload as one push. `protocol` is the version that most receivers are
    /// thought to speak; the other is made when the first asks for it.
    pub fn push(protocol: Protocol, words: &[&[u8]], payload: &Payload<'_>) -> Message {
        let shared = payload.share();
        let inline = if shared.is_none() { payload.bytes.len() } else { 0 };
        let bytes = words.iter().map(|word| word.len() + 16).sum::<usize>() + inline + 32;
        let mut out = Vec::with_capacity(bytes);
        let mut push = Reply::new(&mut out, protocol);
        push.push(words.len() + 1);
        words.iter().for_each(|word| push.bulk(word));
        match &shared {
            Some(_) => push.begin_bulk(payload.bytes.len()),
            None => push.bulk(payload.bytes),
        }
        let mut message = Message::of(Kind::Words, protocol, out);
        if let Some((shared, more)) = shared {
            message.room += more;
            message.payload = Some(shared);
        }
        message
    }

    /// Takes replies that are the same in both versions, and that clients get as such.
    pub(crate) fn lines(replies: &[u8]) -> Message {
        let bytes = Arc::new(replies.to_vec());
        let (resp2, resp3) = (OnceLock::from(Arc::clone(&bytes)), OnceLock::from(bytes));
        let room = replies.len() + OVERHEAD;
        Message { kind: Kind::Lines, resp2, resp3, payload: None, room }
    }

    fn of(kind: Kind, protocol: Protocol, out: Vec<u8>) -> Message {
        let (room, bytes) = (out.capacity() + OVERHEAD, OnceLock::from(Arc::new(out)));
        let (resp2, resp3) = match protocol {
            Protocol::Resp2 => (bytes, OnceLock::new()),
            Protocol::Resp3 => (OnceLock::new(), bytes),
        };
        Message { kind, resp2, resp3, payload: None, room }
    }

    /// Formats an invalidation of keys for clients that have read them; `None`: all keys.
    pub(crate) fn invalidation(keys: Option<&[&[u8]]>) -> Message {
        Message::of(Kind::Resp3Only, Protocol::Resp3, invalidation(keys))
    }

    /// Formats the same for clients that are notified in the place of others.
    pub(crate) fn redirected_invalidation(keys: Option<&[&[u8]]>) -> Message {
        Message::of(Kind::Redirected, Protocol::Resp3, invalidation(keys))
    }

    /// Formats the message that the client which was to be notified in place of another is gone.
    pub(crate) fn broken_redirection(client: u64) -> Message {
        let mut out = Vec::with_capacity(64);
        let mut push = Reply::new(&mut out, Protocol::Resp3);
        push.push(2);
        push.bulk(b"tracking-redir-broken");
        push.integer(client.cast_signed());
        Message::of(Kind::Resp3Only, Protocol::Resp3, out)
    }

    /// Returns the bytes for a client, if the message is one for it.
    #[inline]
    pub fn bytes_for(&self, protocol: Protocol, is_subscriber: bool) -> Option<MessageBytes<'_>> {
        let is_resp3 = protocol == Protocol::Resp3;
        let is_for_it = match self.kind {
            Kind::Words | Kind::Lines => true,
            Kind::Resp3Only => is_resp3,
            Kind::Redirected => is_resp3 || is_subscriber,
        };
        is_for_it.then(|| self.bytes(protocol))
    }

    /// Returns the bytes for clients of a protocol.
    pub fn bytes(&self, protocol: Protocol) -> MessageBytes<'_> {
        MessageBytes { head: self.head(protocol), payload: self.payload.as_ref() }
    }

    /// Returns true if it comes also to clients that want no replies.
    pub fn is_push(&self) -> bool {
        self.kind != Kind::Lines
    }

    fn head(&self, protocol: Protocol) -> &SharedBytes {
        let (place, other, head) = match protocol {
            Protocol::Resp2 => (&self.resp2, &self.resp3, b'*'),
            Protocol::Resp3 => (&self.resp3, &self.resp2, b'>'),
        };
        place.get_or_init(|| {
            if self.kind == Kind::Redirected {
                return Arc::new(as_channel_message(other.get().map_or(&[], |bytes| bytes)));
            }
            // A push of bulk strings is an array but for its first byte.
            let mut bytes = other.get().map_or_else(Vec::new, |bytes| bytes.to_vec());
            bytes.iter_mut().take(1).for_each(|first| *first = head);
            Arc::new(bytes)
        })
    }

    /// Returns the bytes that each client gets, which are as many in both versions but for
    /// redirected ones.
    pub fn size(&self) -> usize {
        let head = self.resp3.get().or(self.resp2.get()).map_or(0, |head| head.len());
        head + self.payload.as_ref().map_or(0, |payload| payload.len())
    }

    /// Returns its bytes of memory, in one version of the protocol.
    pub fn room(&self) -> usize {
        self.room
    }
}

/// Writes keys that are not valid any more as a message of RESP3, or null for all keys.
fn invalidation(keys: Option<&[&[u8]]>) -> Vec<u8> {
    let bytes: usize = keys.into_iter().flatten().map(|key| key.len() + 16).sum();
    let mut out = Vec::with_capacity(bytes + 64);
    write_invalidation(&mut Reply::new(&mut out, Protocol::Resp3), keys);
    out
}

/// Writes keys that are not valid any more as a message of RESP3, or null for all keys.
pub(crate) fn write_invalidation(reply: &mut Reply<'_>, keys: Option<&[&[u8]]>) {
    reply.raw(INVALIDATE);
    match keys {
        Some(keys) => {
            reply.array(keys.len());
            keys.iter().for_each(|key| reply.bulk(key));
        }
        None => reply.null(),
    }
}

/// Returns such a message of RESP3 as one of a channel under RESP2.
fn as_channel_message(resp3: &[u8]) -> Vec<u8> {
    let keys = resp3.strip_prefix(INVALIDATE).unwrap_or(resp3);
    let keys = if keys == b"_\r\n" { b"$-1\r\n" } else { keys };
    [INVALIDATE_CHANNEL, keys].concat()
}
