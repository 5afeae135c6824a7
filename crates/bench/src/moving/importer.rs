//! `varve-import`, which stands beside this program.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use std::{env, thread};

use anyhow::{Context, Result, bail, ensure};

/// A process that follows a server.
pub struct Importer {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Importer {
    /// Has a server on one port followed by one on another.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn follow(from: u16, to: u16, words: &[&str]) -> Result<Self> {
        let program = env::current_exe()?.with_file_name("varve-import");
        let mut child = Command::new(&program)
            .args([format!("127.0.0.1:{from}"), "--follow".to_owned()])
            .args(["--to".to_owned(), format!("127.0.0.1:{to}")])
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("{}: cargo build -p import makes it", program.display()))?;
        let input = child.stdin.take().context("no input")?;
        let (sender, lines) = channel();
        let (output, errors) = (child.stdout.take().context("no output")?, child.stderr.take());
        let pass = |from: Box<dyn BufRead + Send>, to: std::sync::mpsc::Sender<String>| {
            thread::spawn(move || from.lines().map_while(Result::ok).try_for_each(|it| to.send(it)))
        };
        pass(Box::new(BufReader::new(output)), sender.clone());
        pass(Box::new(BufReader::new(errors.context("no errors")?)), sender);
        Ok(Self { child, input, lines, said: Vec::new() })
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it says something that holds a text.
    ///
    /// # Errors
    /// If it ends before, or says nothing for long.
    pub fn hears(&mut self, text: &str) -> Result<()> {
        self.hears_one(&[text]).map(drop)
    }

    /// Waits until it says one of some texts, and returns which.
    fn hears_one(&mut self, texts: &[&str]) -> Result<usize> {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    let found = texts.iter().position(|text| line.contains(text));
                    self.said.push(line);
                    if let Some(at) = found {
                        return Ok(at);
                    }
                }
                Err(RecvTimeoutError::Timeout) => bail!("varve-import does not say {texts:?}"),
                Err(RecvTimeoutError::Disconnected) => {
                    bail!("varve-import has ended: {}", self.said.join("; "))
                }
            }
        }
    }

    /// Types a word.
    ///
    /// # Errors
    /// If it has ended.
    pub fn say(&mut self, word: &str) -> Result<()> {
        writeln!(self.input, "{word}").and_then(|()| self.input.flush()).context("varve-import")
    }

    /// Has writes held back, until both sides have the same.
    ///
    /// # Errors
    /// If that does not come about.
    pub fn cut_over(&mut self) -> Result<()> {
        for _ in 0..TRIES {
            self.say("cut-over")?;
            if self.hears_one(&["Type `switch`", "not yet"])? == 0 {
                return Ok(());
            }
            thread::sleep(BETWEEN_TRIES);
        }
        bail!("varve-import does not catch up: {}", self.said.join("; "))
    }

    /// Waits for its end, at which nothing may have failed.
    ///
    /// # Errors
    /// If something has.
    pub fn end(mut self) -> Result<()> {
        let status = self.child.wait()?;
        self.said.extend(self.lines.iter());
        ensure!(status.success(), "varve-import ends with {status}: {}", self.said.join("; "));
        Ok(())
    }
}

impl Drop for Importer {
    fn drop(&mut self) {
        // It has ended, or nobody waits for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const PATIENCE: Duration = Duration::from_secs(120);
const BETWEEN_TRIES: Duration = Duration::from_millis(200);
const TRIES: usize = 100;
