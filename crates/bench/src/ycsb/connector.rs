//! How operations become requests, as the connectors of YCSB make them.

use anyhow::Result;

use super::workload::{Kind, Operation, Workload};

/// What became of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It was done.
    Ok,
    /// The record is not there, or the server answered with an error.
    Error,
    /// The connector can not do that.
    NotImplemented,
}

impl Status {
    /// As YCSB calls it.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "OK",
            Status::Error => "ERROR",
            Status::NotImplemented => "NOT_IMPLEMENTED",
        }
    }
}

/// What follows from a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The operation goes on, with the request that was written.
    Goes,
    /// A part of it is done, which counts on its own; it goes on, with the request that was
    /// written.
    Part(Kind, Status),
    /// It is over.
    Done(Status),
}

/// One client's way to a server.
pub trait Connector {
    /// Writes the first request of an operation; false if it cannot be done.
    fn begin(&mut self, operation: Operation, workload: &mut Workload, out: &mut Vec<u8>) -> bool;

    /// Takes a reply from the begin of `input`, and writes the next request if there is one.
    /// Returns how many bytes the reply took, and what follows; `None` if it has not arrived
    /// whole.
    ///
    /// # Errors
    /// If the bytes are no reply of the server's protocol.
    fn hear(
        &mut self,
        input: &[u8],
        workload: &mut Workload,
        out: &mut Vec<u8>,
    ) -> Result<Option<(usize, Step)>>;

    /// The last error that the server answered with.
    fn last_error(&self) -> Option<&str>;
}
