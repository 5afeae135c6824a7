//! Kinds of replies to a request and to a batch.

use super::replies::Replies;

/// Kind of reply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A simple string.
    Status,
    /// A bulk string, or nil.
    Value,
    /// An integer.
    Integer,
    /// An array, or nil.
    Array,
}

/// The replies that a batch must bring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// Replies to SET.
    pub statuses: u64,
    /// Replies to GET, with a value or without.
    pub values: u64,
    /// Replies to DEL.
    pub integers: u64,
    /// Replies that are arrays or nil.
    pub arrays: u64,
}

impl Expected {
    /// Returns the number of all replies.
    #[inline]
    pub fn total(&self) -> u64 {
        self.statuses + self.values + self.integers + self.arrays
    }

    /// Returns true if these replies answer the batch; any request may also be answered by an
    /// error.
    pub fn is_met_by(&self, replies: &Replies) -> bool {
        replies.status <= self.statuses
            && replies.bulk <= self.values
            && replies.array <= self.arrays
            && replies.nil <= self.values + self.arrays
            && replies.integer <= self.integers
            && replies.total() == self.total()
    }

    /// Adds one reply of this kind.
    #[inline]
    pub fn count(&mut self, answer: Answer) {
        match answer {
            Answer::Status => self.statuses += 1,
            Answer::Value => self.values += 1,
            Answer::Integer => self.integers += 1,
            Answer::Array => self.arrays += 1,
        }
    }
}
