//! Requests for operations, as the connectors of YCSB make them.

use anyhow::Result;

use super::workload::{Kind, Operation, Workload};

/// Outcome of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Done.
    Ok,
    /// The record does not exist, or the server answered with an error.
    Error,
    /// The connector does not support the operation.
    NotImplemented,
}

impl Status {
    /// Returns YCSB's name of the status.
    pub fn name(self) -> &'static str {
        match self {
            Status::Ok => "OK",
            Status::Error => "ERROR",
            Status::NotImplemented => "NOT_IMPLEMENTED",
        }
    }
}

/// Step after a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The operation continues, with the request that was written.
    Goes,
    /// A part of the operation, which counts on its own, is done; it continues, with the request
    /// that was written.
    Part(Kind, Status),
    /// The operation is over.
    Done(Status),
}

/// Protocol of one client with a server.
pub trait Connector {
    /// Writes the first request of an operation; returns false if it cannot be done.
    fn begin(&mut self, operation: Operation, workload: &mut Workload, out: &mut Vec<u8>) -> bool;

    /// Takes a reply from the front of `input`, and writes the next request if there is one.
    /// Returns the length of the reply in bytes and the next step; `None` if the reply is
    /// incomplete.
    ///
    /// # Errors
    /// If the bytes are no reply of the server's protocol.
    fn hear(
        &mut self,
        input: &[u8],
        workload: &mut Workload,
        out: &mut Vec<u8>,
    ) -> Result<Option<(usize, Step)>>;

    /// Returns the last error reply of the server.
    fn last_error(&self) -> Option<&str>;
}
