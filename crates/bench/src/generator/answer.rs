//! What answers a request, and a batch of them.

use super::replies::Replies;

/// What kind of reply a request brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A simple string.
    Status,
    /// A bulk string, or none.
    Value,
    /// An integer.
    Integer,
    /// An array, or none.
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
    /// Replies that are arrays, or none where there is nothing.
    pub arrays: u64,
}

impl Expected {
    /// All replies.
    #[inline]
    pub fn total(&self) -> u64 {
        self.statuses + self.values + self.integers + self.arrays
    }

    /// Whether these replies answer the batch; any request may also be answered by an error.
    pub fn is_met_by(&self, replies: &Replies) -> bool {
        replies.status <= self.statuses
            && replies.bulk <= self.values
            && replies.array <= self.arrays
            && replies.nil <= self.values + self.arrays
            && replies.integer <= self.integers
            && replies.total() == self.total()
    }

    /// One more reply of this kind.
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
