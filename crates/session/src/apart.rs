//! A long argument that is received into the store, apart from the request that it belongs to.

use store::value::long_string::Staged;

/// Most bytes of it that are kept for logs of requests.
const BEGIN_BYTES: usize = 128;

/// A long argument that is, or will be, in the store before its command runs. In its request it is
/// empty.
#[derive(Debug)]
pub struct Apart {
    /// Its place among the arguments.
    pub at: usize,
    /// Its length in bytes, as announced.
    pub len: usize,
    /// Its place in the request, in bytes from the begin.
    pub offset: usize,
    /// What was received; `None` once its command has taken it.
    pub staged: Option<Staged>,
    begin: Vec<u8>,
}

impl Apart {
    /// Returns an argument of which nothing was received.
    pub fn new(at: usize, len: usize, offset: usize, staged: Staged) -> Apart {
        Apart { at, len, offset, staged: Some(staged), begin: Vec::new() }
    }

    /// Number of bytes that were received.
    pub fn received(&self) -> usize {
        self.staged.as_ref().map_or(0, Staged::len)
    }

    /// Number of bytes that are missing.
    pub fn missing(&self) -> usize {
        if self.staged.is_some() { self.len - self.received() } else { 0 }
    }

    /// Notes the next bytes, for logs of requests.
    pub fn note(&mut self, bytes: &[u8]) {
        let wanted = BEGIN_BYTES.min(self.len).saturating_sub(self.begin.len());
        self.begin.extend_from_slice(&bytes[..wanted.min(bytes.len())]);
    }

    /// Its first bytes, as many as requests are shown with.
    pub fn begin(&self) -> &[u8] {
        &self.begin
    }
}
