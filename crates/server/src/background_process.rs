//! `daemonize`: another process serves, without a terminal, and the one that was started ends.
//!
//! The other process is the same program with the same arguments, and not a fork: threads, which
//! the allocator has too, do not survive a fork, and a new program needs no trust in what does.

use crate::service_manager;
use settings::{Settings, general};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Variable by which the process that serves knows that it does.
const MARK: &str = "VARVE_SERVES_IN_BACKGROUND";

/// Pid file of a server in the background that has no `pidfile`.
const PIDFILE: &str = "/var/run/varve.pid";

/// Returns true if serving is to go on in another process.
pub(crate) fn is_wanted(settings: &Settings) -> bool {
    general::DAEMONIZE.get(settings) && !service_manager::is_there(settings) && !is_this()
}

fn is_this() -> bool {
    std::env::var_os(MARK).is_some()
}

/// Leaves the terminal and the session of the process that started this one, if this process
/// serves in the background.
pub(crate) fn leave_terminal() {
    if is_this() {
        // It fails where the process has left already.
        let _ = rustix::process::setsid();
    }
}

/// Path of the file that receives the process id; none if it is empty.
pub(crate) fn pid_file(settings: &Settings) -> Option<String> {
    let named = general::PIDFILE.get(settings);
    match &*named {
        "" => is_this().then(|| PIDFILE.to_owned()),
        named => Some(named.to_owned()),
    }
}

/// Starts the process that serves; it reads the same standard input.
///
/// # Errors
/// When the system cannot start it.
pub(crate) fn start(arguments: &[OsString], input: &[u8]) -> io::Result<()> {
    let program = std::env::current_exe()?;
    let mut command = Command::new(program);
    if let Some(name) = std::env::args_os().next() {
        command.arg0(name);
    }
    let input_from = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    command.args(arguments).env(MARK, "1");
    command.stdin(input_from).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn()?;
    child.stdin.map_or(Ok(()), |mut pipe| pipe.write_all(input))
}

/// Standard input that remembers what was read of it.
pub(crate) struct Remembering<R> {
    /// What is read.
    pub(crate) source: R,
    /// What was read.
    pub(crate) read: Vec<u8>,
}

impl<R: Read> Read for Remembering<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.source.read(buffer)?;
        self.read.extend_from_slice(&buffer[..len]);
        Ok(len)
    }
}
