//! A client that sends single commands at given times.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::template::{Chance, Template};
use super::{Answer, Batch, Client, Heard, Moment, Next, Protocol};

/// Commands of one connection, each sent at its time, but not before the last was answered.
pub struct Commands {
    /// Commands that are left, with their times, the next one last.
    left: Vec<(Duration, Vec<u8>)>,
    began: Instant,
    /// Process of the server, and the moment at which the last command was sent.
    server: u32,
    sent: Moment,
    /// Latency of each command, less the time that other processes took.
    pub waited: Vec<Duration>,
}

impl Commands {
    /// Creates a client for commands at equal distances over `time`, the first at once.
    pub fn over(time: Duration, commands: &[String], server: u32) -> Result<Self> {
        let distance = time / u32::try_from(commands.len())?.max(1);
        let mut left = Vec::new();
        for (number, command) in (0..).zip(commands) {
            let mut bytes = Vec::new();
            let template = Template::parse(Protocol::Resp, command)?;
            template.write(0, &mut Chance::new(1), &mut bytes);
            left.push((distance * number, bytes));
        }
        left.reverse();
        let (began, sent) = (Instant::now(), Moment::now(server)?);
        Ok(Self { left, began, server, sent, waited: Vec::new() })
    }
}

impl Client for Commands {
    fn next(&mut self, _: usize, now: Instant, batch: &mut Batch) -> Result<Next> {
        let Some((at, _)) = self.left.last() else { return Ok(Next::Rest) };
        let due = self.began + *at;
        if due > now {
            return Ok(Next::At(due));
        }
        if let Some((_, command)) = self.left.pop() {
            batch.bytes.extend_from_slice(&command);
            batch.expect(Answer::Any);
        }
        self.sent = Moment::now(self.server)?;
        batch.since = Instant::now();
        Ok(Next::Send)
    }

    fn heard(&mut self, _: usize, heard: &Heard<'_>) -> Result<()> {
        if heard.replies.error > 0 {
            bail!("{}", heard.first_error.unwrap_or_default());
        }
        let taken = Moment::now(self.server)?.taken_since(&self.sent);
        self.waited.push((heard.now - heard.since).saturating_sub(taken));
        Ok(())
    }
}
