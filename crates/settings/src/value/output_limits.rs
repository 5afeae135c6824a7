//! Limits of the bytes of replies that wait for a client, for each class of clients.

use std::fmt;

/// Limits for one class; 0 is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputLimit {
    /// Bytes at which the client is disconnected at once.
    pub hard_bytes: u64,
    /// Bytes that disconnect the client when they last for `soft_seconds`.
    pub soft_bytes: u64,
    /// Seconds for which `soft_bytes` may be exceeded.
    pub soft_seconds: u32,
}

/// Bytes of output that pass under any limit, so that who has set one too low can set it anew.
const FREE_BYTES: u64 = 16 << 10;

impl OutputLimit {
    /// Returns the bytes of output beyond which the client is disconnected at once, if any.
    pub fn hard_output(&self) -> Option<u64> {
        (self.hard_bytes > 0).then_some(self.hard_bytes.max(FREE_BYTES))
    }

    /// Returns the bytes of output beyond which the client may not stay for long, if any.
    pub fn soft_output(&self) -> Option<u64> {
        (self.soft_bytes > 0).then_some(self.soft_bytes.max(FREE_BYTES))
    }
}

/// Limits for all classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputLimits {
    /// Ordinary clients.
    pub normal: OutputLimit,
    /// Replicas.
    pub replica: OutputLimit,
    /// Clients that have subscribed to something.
    pub pubsub: OutputLimit,
}

impl OutputLimits {
    /// Limits unless the settings say otherwise.
    pub const DEFAULT: OutputLimits = OutputLimits {
        normal: OutputLimit { hard_bytes: 0, soft_bytes: 0, soft_seconds: 0 },
        replica: OutputLimit { hard_bytes: 256 << 20, soft_bytes: 64 << 20, soft_seconds: 60 },
        pubsub: OutputLimit { hard_bytes: 32 << 20, soft_bytes: 8 << 20, soft_seconds: 60 },
    };

    /// Sets the limits of the classes that the words name: class, hard, soft, seconds, repeated.
    /// Changes nothing unless all words are valid.
    pub(crate) fn update(&mut self, words: &[&[u8]]) -> Result<(), &'static str> {
        if !words.len().is_multiple_of(4) {
            return Err("Wrong number of arguments in buffer limit configuration.");
        }
        let mut updated = *self;
        for group in words.chunks_exact(4) {
            let class = updated
                .class(group[0])
                .ok_or("Invalid client class specified in buffer limit configuration.")?;
            *class = limit(&group[1..]).ok_or(
                "Error in hard, soft or soft_seconds setting in buffer limit configuration.",
            )?;
        }
        *self = updated;
        Ok(())
    }

    fn class(&mut self, name: &[u8]) -> Option<&mut OutputLimit> {
        match name.to_ascii_lowercase().as_slice() {
            b"normal" => Some(&mut self.normal),
            b"replica" | b"slave" => Some(&mut self.replica),
            b"pubsub" => Some(&mut self.pubsub),
            _ => None,
        }
    }

    /// Returns the limits of each class, under the name it has in files.
    pub(crate) fn by_class(&self) -> [(&'static str, OutputLimit); 3] {
        [("normal", self.normal), ("replica", self.replica), ("pubsub", self.pubsub)]
    }

    pub(crate) fn words(&self) -> Vec<Vec<u8>> {
        let words = |(class, limit): (&str, OutputLimit)| {
            [
                class.to_owned(),
                limit.hard_bytes.to_string(),
                limit.soft_bytes.to_string(),
                limit.soft_seconds.to_string(),
            ]
        };
        self.by_class().into_iter().flat_map(words).map(String::into_bytes).collect()
    }
}

/// Format of CONFIG GET, where replicas have their older name.
impl fmt::Display for OutputLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (class, limit) in self.by_class() {
            let (class, before) = match class {
                "normal" => (class, ""),
                "replica" => ("slave", " "),
                _ => (class, " "),
            };
            let OutputLimit { hard_bytes, soft_bytes, soft_seconds } = limit;
            write!(f, "{before}{class} {hard_bytes} {soft_bytes} {soft_seconds}")?;
        }
        Ok(())
    }
}

fn limit(words: &[&[u8]]) -> Option<OutputLimit> {
    let [hard, soft, seconds] = words else { return None };
    let seconds: i32 = std::str::from_utf8(seconds).ok()?.parse().ok()?;
    Some(OutputLimit {
        hard_bytes: text::parse_memory(hard)?,
        soft_bytes: text::parse_memory(soft)?,
        soft_seconds: u32::try_from(seconds).ok()?,
    })
}
