//! A running server, from its start to its end.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::{Builder, NamedTempFile};

use super::{Kind, Launch, Program};
use crate::address::Address;
use crate::certificates::Certificates;
use crate::control::{self, Control};
use crate::process::{self, bound_command, core, first_cores};
use crate::protocol::Protocol;
use crate::replies::Value;

/// A running server. Dropping it ends the server and all processes that a wrapper started beside
/// it.
pub struct Server {
    /// Name in tables.
    pub label: String,
    /// Kind of command line that it takes.
    pub kind: Kind,
    /// TCP port on 127.0.0.1.
    pub port: u16,
    /// Process that serves the port; 0 if it is not known, when its CPU time and memory are errors.
    pub pid: u32,
    /// Number of its cores.
    pub cores: usize,
    /// Time from its start to its first answer.
    pub ready_after: Duration,
    /// Leader of a process group of its own; absent after an end that was requested.
    child: Option<Child>,
    /// Output of a server that was started here.
    log: Option<NamedTempFile>,
    /// File of its users, if it has one.
    users: Option<NamedTempFile>,
    /// Port and certificate of TLS, if it speaks that.
    tls: Option<(u16, Certificates)>,
    /// Port for Memcached's clients, if it has one beside its own.
    memcached: Option<u16>,
    /// Hears about an end by itself; absent until the server is ready.
    program: Option<Program>,
}

impl Program {
    /// Starts the program and waits until it answers. Fails if it cannot be started, ends, or does
    /// not answer in time; the error holds the end of its output.
    pub fn start(&self, launch: &Launch) -> Result<Server> {
        let free = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
        let (listener, other, third) = (free()?, free()?, free()?);
        let port = listener.local_addr()?.port();
        let tls = launch.tls.as_ref().map(|kind| -> Result<_> {
            Ok((other.local_addr()?.port(), Certificates::make(kind)?))
        });
        let tls = tls.transpose()?;
        let of_tls = tls.as_ref().map(|(port, certificates)| certificates.options(*port));
        let memcached = third.local_addr()?.port();
        let memcached = (launch.has_memcached && self.kind == Kind::Varve).then_some(memcached);
        let of_memcached = memcached.map(|port| ["--memcached-port".to_owned(), port.to_string()]);
        drop((listener, other, third));
        let users = launch.has_users_file.then(|| NamedTempFile::with_prefix("varve-bench-users-"));
        let users = users.transpose()?;
        let of_users =
            users.iter().flat_map(|file| ["--aclfile".as_ref(), file.path().as_os_str()]);
        // Both streams are appended to the log, which is removed in any case.
        let log = Builder::new().prefix("varve-bench-").suffix(".log").append(true).tempfile()?;
        let started = Instant::now();
        // Processes that a wrapper starts get no signal when this process is killed; they are ended
        // with the wrapper's group.
        let cores =
            launch.core.map_or_else(|| first_cores(launch.cores), |it| core(it).to_string());
        let child = bound_command(&cores)
            .args(&self.command)
            .args(launch.arguments(self.kind, port))
            .args(of_tls.unwrap_or_default())
            .args(of_memcached.into_iter().flatten())
            .args(of_users)
            .process_group(0)
            .stdout(log.as_file().try_clone()?)
            .stderr(log.as_file().try_clone()?)
            .spawn()
            .context("setpriv (package util-linux) cannot be started")?;
        let mut server = Server::at(port, self.kind);
        server.label.clone_from(&self.label);
        (server.pid, server.cores) = (child.id(), launch.cores);
        (server.child, server.log, server.tls) = (Some(child), Some(log), tls);
        (server.users, server.memcached) = (users, memcached);
        let is_ready = within(launch.ready_within, || server.is_ready());
        server.ready_after = started.elapsed();
        is_ready
            .unwrap_or_else(|| Err(anyhow!("{} does not answer on port {port}", self.label)))
            .with_context(|| server.complaint())?;
        server.program = Some(self.clone());
        Ok(server)
    }
}

impl Server {
    /// Returns a server that was started by others; its process is asked for, unless it is known.
    pub fn running(port: u16, pid: Option<u32>, protocol: Protocol) -> Self {
        let kind = if protocol == Protocol::Memcached { Kind::Memcached } else { Kind::Varve };
        let mut server = Self::at(port, kind);
        server.pid = pid.or_else(|| server.answer().ok().flatten()).unwrap_or_default();
        server
    }

    fn at(port: u16, kind: Kind) -> Self {
        Self {
            label: format!("port {port}"),
            kind,
            port,
            pid: 0,
            cores: 1,
            ready_after: Duration::ZERO,
            child: None,
            log: None,
            users: None,
            tls: None,
            memcached: None,
            program: None,
        }
    }

    /// Returns the protocol of its port, by which it is controlled.
    pub fn protocol(&self) -> Protocol {
        self.kind.protocol()
    }

    /// Returns the protocol in which it gets loads.
    pub fn protocol_of_loads(&self) -> Protocol {
        if self.memcached.is_some() { Protocol::Memcached } else { self.protocol() }
    }

    /// Returns where it is reached in a protocol, with TLS or without.
    pub fn address_for(&self, protocol: Protocol, is_encrypted: bool) -> Result<Address> {
        match self.memcached.filter(|_| protocol == Protocol::Memcached) {
            Some(port) => Ok(port.into()),
            None => self.address(is_encrypted),
        }
    }

    /// Returns the microseconds that a command takes in the server, as INFO tells them.
    pub fn micros_per_call(&self, command: &str) -> Result<f64> {
        let info = self.control()?.ask(["INFO", "commandstats"])?.text().unwrap_or_default();
        let line = info.split(&format!("cmdstat_{command}:")).nth(1);
        let micros = line.and_then(|it| it.split("usec_per_call=").nth(1)?.split(',').next());
        let micros = micros.and_then(|it| it.parse().ok());
        micros.with_context(|| format!("INFO tells no time of {command}"))
    }

    /// Opens a connection for commands that control the server.
    pub fn control(&self) -> Result<Control> {
        Control::open(&self.port.into(), self.protocol())
    }

    /// Returns where it is reached, with TLS or without.
    pub fn address(&self, is_encrypted: bool) -> Result<Address> {
        if is_encrypted { self.encrypted(true) } else { Ok(self.port.into()) }
    }

    /// Returns where it is reached with TLS, by clients that take up sessions or do not.
    pub fn encrypted(&self, resumes: bool) -> Result<Address> {
        let (port, certificates) = self.tls.as_ref().context("it was started without TLS")?;
        Ok(Address::encrypted(*port, certificates.rules(resumes)?))
    }

    /// Returns the resident memory in bytes.
    pub fn resident_bytes(&self) -> Result<u64> {
        process::resident_bytes(self.pid).with_context(|| self.complaint())
    }

    /// Returns the CPU time used so far, as [`process::cpu_time`] computes it.
    pub fn cpu_time(&self) -> Result<Duration> {
        process::cpu_time(self.pid).with_context(|| self.complaint())
    }

    /// Stops its process, or lets it go on. Its next use finds out if it has ended.
    pub fn pause(&self, is_paused: bool) {
        let signal = if is_paused { Signal::STOP } else { Signal::CONT };
        let _ = pid_of(self.pid).map(|pid| kill_process(pid, signal));
    }

    /// Asks the server to end, and waits until it has, for two minutes at most. Fails if it ended
    /// by itself before.
    pub fn end(&mut self) -> Result<()> {
        let Some(child) = &mut self.child else { return Ok(()) };
        ensure!(child.try_wait()?.is_none(), "{} ended before", self.label);
        kill_process(pid_of(self.pid)?, Signal::TERM)?;
        let ended = within(END_MAX, || child.try_wait().transpose());
        ended.with_context(|| format!("{} does not end", self.label))??;
        kill_group(child);
        self.child = None;
        Ok(())
    }

    /// Returns `None` while the server does not answer yet, and an error if it never will.
    fn is_ready(&mut self) -> Option<Result<()>> {
        match self.child.as_mut()?.try_wait() {
            Ok(None) => self.answer().ok()?.map(|pid| self.recognize(pid)).or(Some(Ok(()))),
            Ok(Some(status)) => Some(Err(anyhow!("{} ended: {status}", self.label))),
            Err(error) => Some(Err(error.into())),
        }
    }

    /// Returns the process id that the server reports, if it is not loading and reports one.
    fn answer(&self) -> Result<Option<u32>> {
        let mut field = "pid";
        if self.protocol() == Protocol::Resp {
            let pong = self.control()?.ask(["PING"])?;
            ensure!(matches!(pong, Value::Text(_)), "{pong:?}");
            field = "process_id";
        }
        let pid = self.control()?.info(field)?;
        pid.map(|pid| pid.parse().context("the number of a process")).transpose()
    }

    /// Sets the process that serves. If a wrapper forks, that is not the wrapper's process, so the
    /// server's own answer counts; but only for a process that was started here, since another
    /// program may have taken the port.
    fn recognize(&mut self, pid: u32) -> Result<()> {
        let (port, label) = (self.port, &self.label);
        let is_ours = process::descends_from(pid, self.pid);
        ensure!(is_ours, "process {pid} answers on port {port}, which was not started as {label}");
        self.pid = pid;
        Ok(())
    }

    fn complaint(&self) -> String {
        let log = self.log.as_ref().and_then(|log| fs::read(log.path()).ok()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        let tail = &lines[lines.len().saturating_sub(TAIL_LINES)..];
        format!("{} said: {}", self.label, tail.join(" | "))
    }

    /// Ends the server and the processes started with it; returns its status if it ended by itself.
    fn kill(&self, child: &mut Child) -> Option<ExitStatus> {
        // A server that is about to end may still log the reason.
        let ended = within(LAST_WORDS_MAX, || {
            let is_alive = control::answers(self.port);
            if is_alive { Some(None) } else { child.try_wait().ok().flatten().map(Some) }
        });
        kill_group(child);
        // A wrapper may have put it in another group.
        if !process::has_ended(self.pid)
            && let Ok(pid) = pid_of(self.pid)
        {
            let _ = kill_process(pid, Signal::KILL);
        }
        let was_killed = |status: &ExitStatus| status.signal() == Some(Signal::KILL.as_raw());
        let last = child.wait().ok().filter(|status| !was_killed(status));
        // The next server needs the memory and the core of one that is no child, too.
        within(KILLED_MAX, || process::has_ended(self.pid).then_some(()));
        ended.flatten().or(last)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let status = self.kill(&mut child);
        if let (Some(status), Some(program)) = (status, &self.program) {
            let said = self.complaint();
            program.add_ended(format!("{} ended by itself ({status}); {said}", self.label));
        }
    }
}

/// Asks again every few milliseconds until there is an answer; `None` if that takes too long.
fn within<T>(longest: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        let answer = ask();
        if answer.is_some() || began.elapsed() >= longest {
            return answer;
        }
        thread::sleep(ASK_AGAIN);
    }
}

/// Kills a process group, which may be empty.
fn kill_group(leader: &Child) {
    if let Ok(group) = pid_of(leader.id()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn pid_of(number: u32) -> Result<Pid> {
    Pid::from_raw(number.cast_signed()).context("the number of a process")
}

const ASK_AGAIN: Duration = Duration::from_millis(1);
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);
const END_MAX: Duration = Duration::from_secs(120);
/// Time for the kernel to free the memory of a large server.
const KILLED_MAX: Duration = Duration::from_secs(10);
const TAIL_LINES: usize = 5;
