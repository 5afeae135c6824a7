//! A message: formatted once for each version of the protocol, shared by all who receive it.

use std::sync::{Arc, OnceLock};
use wire::{Protocol, Reply};

/// A message, as bytes that clients get.
#[derive(Debug)]
pub struct Message {
    resp2: OnceLock<Arc<[u8]>>,
    resp3: OnceLock<Arc<[u8]>>,
    len: usize,
}

impl Message {
    /// Formats words as one push. `protocol` is the version that most receivers are thought to
    /// speak; the other is made when the first asks for it.
    pub fn push(protocol: Protocol, words: &[&[u8]]) -> Message {
        let bytes = words.iter().map(|word| word.len() + 32).sum();
        let mut out = Vec::with_capacity(bytes);
        let mut push = Reply::new(&mut out, protocol);
        push.push(words.len());
        words.iter().for_each(|word| push.bulk(word));
        let (len, bytes) = (out.len(), OnceLock::from(Arc::from(out)));
        match protocol {
            Protocol::Resp2 => Message { resp2: bytes, resp3: OnceLock::new(), len },
            Protocol::Resp3 => Message { resp2: OnceLock::new(), resp3: bytes, len },
        }
    }

    /// Returns the bytes for clients of a protocol.
    pub fn bytes(&self, protocol: Protocol) -> &Arc<[u8]> {
        let (place, other, head) = match protocol {
            Protocol::Resp2 => (&self.resp2, &self.resp3, b'*'),
            Protocol::Resp3 => (&self.resp3, &self.resp2, b'>'),
        };
        place.get_or_init(|| {
            // A push of bulk strings is an array but for its first byte.
            let mut bytes = other.get().map_or_else(Vec::new, |bytes| bytes.to_vec());
            bytes.iter_mut().take(1).for_each(|first| *first = head);
            bytes.into()
        })
    }

    /// Returns its bytes of memory, in one version of the protocol.
    pub fn room(&self) -> usize {
        size_of::<Message>() + self.len
    }
}
