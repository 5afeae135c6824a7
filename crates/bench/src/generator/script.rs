//! Batches of any request, written anew for each batch.

use anyhow::{Result, ensure};

use super::answer::{Answer, Expected};
use super::keys::{KeyChoice, Keys};
use super::source::Source;
use super::template::{Chance, Template};

/// Request of a script, and the numbers that it is written for.
#[derive(Clone, Debug)]
pub struct ScriptShape {
    /// Request, in the form that `template.rs` reads.
    pub request: String,
    /// Distribution of the numbers.
    pub numbers: KeyChoice,
    /// Upper bound of the numbers, exclusive.
    pub count: u64,
    /// Requests per batch.
    pub pipeline: usize,
}

impl ScriptShape {
    /// Creates a script for the numbers `0..count` in order, 100 requests in a batch.
    pub fn new(request: impl Into<String>, count: u64) -> Self {
        Self { request: request.into(), numbers: KeyChoice::Sequential, count, pipeline: 100 }
    }

    /// Sets the distribution of the numbers.
    #[must_use]
    pub fn of(mut self, numbers: KeyChoice) -> Self {
        self.numbers = numbers;
        self
    }

    /// Sets the number of requests in a batch.
    #[must_use]
    pub fn pipelined(mut self, pipeline: usize) -> Self {
        self.pipeline = pipeline;
        self
    }
}

/// Writer of batches.
pub struct Script {
    template: Template,
    answer: Answer,
    numbers: Keys,
    chance: Chance,
    pipeline: usize,
    batch: Vec<u8>,
}

impl Script {
    /// Creates a script of this shape; the same seed gives the same batches.
    ///
    /// # Errors
    /// If the request cannot be read, the pipeline is zero, or the numbers cannot be drawn.
    pub fn new(shape: &ScriptShape, seed: u64) -> Result<Self> {
        ensure!(shape.pipeline > 0, "pipeline: at least 1");
        Ok(Self {
            template: Template::parse(&shape.request)?,
            answer: Answer::of(&shape.request),
            numbers: Keys::new(&shape.numbers, shape.count, seed)?,
            chance: Chance::new(seed),
            pipeline: shape.pipeline,
            batch: Vec::new(),
        })
    }
}

impl Source for Script {
    fn pipeline(&self) -> usize {
        self.pipeline
    }

    fn fill(&mut self, count: usize) -> (&[u8], Expected) {
        let count = count.min(self.pipeline);
        let mut expected = Expected::default();
        self.batch.clear();
        for _ in 0..count {
            self.template.write(self.numbers.draw(), &mut self.chance, &mut self.batch);
            expected.count(self.answer);
        }
        (&self.batch, expected)
    }
}

impl Answer {
    /// Returns the kind of reply to a request, by its first word; an integer unless known to be
    /// another.
    fn of(request: &str) -> Self {
        match request.split(' ').next().unwrap_or_default() {
            "SET" | "BGSAVE" | "FLUSHALL" | "RENAME" => Self::Status,
            "GET" | "GETRANGE" | "HGET" | "LPOP" | "RPOPLPUSH" | "XADD" | "ZSCORE" => Self::Value,
            "HGETALL" | "LRANGE" | "SINTER" | "XREAD" | "ZRANGEBYSCORE" => Self::Array,
            _ => Self::Integer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Script, ScriptShape, Source};

    #[test]
    fn a_batch_has_a_request_for_each_number() {
        let shape = ScriptShape::new("LPUSH l:{n} x", 3).pipelined(2);
        let mut script = Script::new(&shape, 1).unwrap();
        let request = |key| format!("*3\r\n$5\r\nLPUSH\r\n$3\r\nl:{key}\r\n$1\r\nx\r\n");
        let (bytes, expected) = script.fill(5);
        assert_eq!(bytes, (request(0) + &request(1)).as_bytes());
        assert_eq!((expected.integers, expected.total()), (2, 2));
        assert_eq!(script.fill(1).0, request(2).as_bytes());
    }

    #[test]
    fn the_same_seed_gives_the_same_batches() {
        let shape = ScriptShape::new("HSET h {n~8} {?8-32}", 100);
        let batch = |seed| Script::new(&shape, seed).unwrap().fill(100).0.to_vec();
        assert_eq!(batch(1), batch(1));
        assert_ne!(batch(1), batch(2));
    }
}
