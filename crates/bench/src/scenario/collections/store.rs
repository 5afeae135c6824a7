//! Loading of elements, and checks of their number.

use anyhow::{Result, bail, ensure};

use crate::generator::{Generator, KeyChoice, Script, ScriptShape, Stop};
use crate::servers::Server;

/// Requests that are sent once for each number, in order and over one connection.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Request, in the form of the generator's scripts.
    pub request: String,
    /// Choice of the numbers.
    pub numbers: KeyChoice,
    /// Number of requests.
    pub count: u64,
    /// Upper bound of the numbers, exclusive.
    pub below: u64,
}

impl Stored {
    /// Creates a request for each of the numbers `0..count` in order.
    pub fn new(request: impl Into<String>, count: u64) -> Self {
        Self { request: request.into(), numbers: KeyChoice::Sequential, count, below: count }
    }

    /// Replaces the numbers by these, in their order.
    #[must_use]
    pub fn listed(mut self, numbers: Vec<u32>) -> Self {
        self.below = numbers.iter().max().map_or(1, |most| u64::from(*most) + 1);
        self.count = numbers.len() as u64;
        self.numbers = KeyChoice::Listed(numbers.into());
        self
    }

    /// Sends all requests.
    ///
    /// # Errors
    /// If the server answers with an error.
    pub fn send(&self, server: &Server) -> Result<()> {
        self.send_watched(server, u64::MAX, |_| Ok(()))
    }

    /// Sends all requests as [`Stored::send`] does; calls `watch` with the number of requests
    /// answered, about every `every` of them.
    ///
    /// # Errors
    /// If the server answers with an error, and those of `watch`.
    pub fn send_watched(
        &self,
        server: &Server,
        every: u64,
        watch: impl FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let shape = ScriptShape {
            request: self.request.clone(),
            numbers: self.numbers.clone(),
            count: self.below,
            pipeline: PIPELINE,
        };
        let mut script = Script::new(&shape, 1)?;
        let mut generator = Generator::connect(server.port, 1)?;
        // Detects a missing command before it is sent millions of times.
        let first = generator.drive(&mut script, Stop::Operations(1))?;
        ensure!(first.replies.error == 0, "{}", first.first_error.unwrap_or_default());
        let rest = Stop::Operations(self.count.saturating_sub(1));
        let outcome = generator.drive_watched(&mut script, rest, every, watch)?;
        ensure!(outcome.replies.error == 0, "{}", outcome.first_error.unwrap_or_default());
        ensure!(outcome.operations + 1 == self.count.max(1), "replies are missing");
        Ok(())
    }
}

/// Checks the number of elements.
///
/// # Errors
/// If the command (LLEN and a key, for example) does not answer with this number.
pub fn expect(server: &Server, command: &str, elements: u64) -> Result<()> {
    let counted = server.control()?.integer(command)?;
    if counted != elements {
        bail!("{command} is {counted}, not {elements}");
    }
    Ok(())
}

const PIPELINE: usize = 100;
