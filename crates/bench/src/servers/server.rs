//! A server that runs, from its start to its end.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::{Kind, Launch, Program};
use crate::control::{self, Control, Reply, Statistics};
use crate::process;

/// Servers that ended though nobody had asked them to, in words.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended(Arc<Mutex<Vec<String>>>);

impl Ended {
    /// Those that were added since this was asked last.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, words: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(words);
    }
}

/// A running server; if it was started here it is ended when this is dropped.
pub struct Server {
    /// The name in tables.
    pub label: String,
    /// What it understands.
    pub kind: Kind,
    /// TCP port on 127.0.0.1.
    pub port: u16,
    /// The process that serves.
    pub pid: u32,
    child: Option<Child>,
    log: PathBuf,
    ended: Ended,
}

impl Server {
    /// As [`Program::start`].
    pub(super) fn start(program: &Program, launch: &Launch) -> Result<Self> {
        let port = free_port()?;
        let log = env::temp_dir().join(format!("varve-bench-{port}.log"));
        // A server must not outlive a bench that is killed.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "taskset", "-c", &process::first_cores(launch.cores)])
            .args(&program.command)
            .args(launch.arguments(program.kind, port))
            .stdin(Stdio::null())
            .stdout(File::create(&log)?)
            .stderr(File::options().append(true).open(&log)?)
            .spawn()
            .context("setpriv (package util-linux) cannot be started")?;
        let pid = child.id();
        let mut server = Self {
            label: program.label.clone(),
            kind: program.kind,
            port,
            pid,
            child: Some(child),
            log,
            ended: program.ended.clone(),
        };
        if let Err(error) = server.wait_until_ready() {
            // The error tells all there is.
            server.ended = Ended::default();
            return Err(error.context(server.complaint()));
        }
        Ok(server)
    }

    /// A server that somebody else started, which reports its process in INFO.
    ///
    /// # Errors
    /// If it does not answer, or does not say which process it is.
    pub fn running(port: u16) -> Result<Self> {
        let pid = Control::open(port)?.info_number("process_id")?;
        let pid = pid.context("INFO does not hold process_id")? as u32;
        let label = format!("port {port}");
        Ok(Self {
            label,
            kind: Kind::Peer,
            port,
            pid,
            child: None,
            log: PathBuf::new(),
            ended: Ended::default(),
        })
    }

    /// Opens a connection for commands that steer the server.
    ///
    /// # Errors
    /// If the server does not accept.
    pub fn control(&self) -> Result<Control> {
        Control::open(self.port)
    }

    /// A connection that says how many keys there are.
    ///
    /// # Errors
    /// If the server does not accept.
    pub fn key_counter(&self) -> Result<Box<dyn FnMut() -> Result<u64>>> {
        if self.kind == Kind::Memcached {
            let mut statistics = Statistics::open(self.port)?;
            return Ok(Box::new(move || statistics.number("curr_items")));
        }
        let mut control = self.control()?;
        Ok(Box::new(move || control.key_count()))
    }

    /// Resident memory in bytes.
    ///
    /// # Errors
    /// If the server ended.
    pub fn resident_bytes(&self) -> Result<u64> {
        process::resident_bytes(self.pid).with_context(|| self.complaint())
    }

    /// CPU time used so far.
    ///
    /// # Errors
    /// If the server ended.
    pub fn cpu_time(&self) -> Result<Duration> {
        process::cpu_time(self.pid).with_context(|| self.complaint())
    }

    /// Asks the server to end, and waits until it has.
    ///
    /// # Errors
    /// If it cannot be asked, or does not end within two minutes.
    pub fn end(mut self) -> Result<()> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw).context("a process")?;
        kill_process(pid, Signal::TERM)?;
        let Some(child) = &mut self.child else { return Ok(()) };
        let asked = Instant::now();
        while asked.elapsed() < END_MAX {
            if child.try_wait()?.is_some() {
                self.child = None;
                return Ok(fs::remove_file(&self.log)?);
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("{} does not end", self.label)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < START_MAX {
            if let Some(child) = &mut self.child
                && let Some(status) = child.try_wait()?
            {
                bail!("{} ended: {status}", self.label);
            }
            if self.answers() {
                return self.find_pid();
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("{} does not answer on port {}", self.label, self.port)
    }

    fn answers(&self) -> bool {
        if self.kind == Kind::Memcached {
            return self.memcached_pid().is_ok();
        }
        let pong = self.control().and_then(|mut control| control.ask(&["PING"]));
        matches!(pong, Ok(Reply::Text(_)))
    }

    /// A wrapper that forks is not the process that serves, so the server's word counts.
    fn find_pid(&mut self) -> Result<()> {
        let pid = match self.kind {
            Kind::Memcached => Some(self.memcached_pid()?),
            _ => self.control()?.info_number("process_id")?.map(|pid| pid as u32),
        };
        self.pid = pid.unwrap_or(self.pid);
        Ok(())
    }

    fn memcached_pid(&self) -> Result<u32> {
        Ok(u32::try_from(Statistics::open(self.port)?.number("pid")?)?)
    }

    fn complaint(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let tail: Vec<_> = log.lines().rev().take(5).collect();
        format!("{} said: {}", self.label, tail.into_iter().rev().collect::<Vec<_>>().join(" | "))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let port = self.port;
        if let Some(status) = self.child.as_mut().and_then(|child| kill(child, port)) {
            let said = self.complaint();
            let words = format!("{} ended by itself ({status}); {said}", self.label);
            self.ended.add(words);
        }
        if self.child.is_some() {
            let _ = fs::remove_file(&self.log);
        }
    }
}

/// Ends a server; how it ended, if it did so by itself.
fn kill(child: &mut Child, port: u16) -> Option<ExitStatus> {
    let asked = Instant::now();
    // One that is about to end may still have to say why.
    while !control::answers(port) && asked.elapsed() < LAST_WORDS_MAX {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.kill().ok()?;
    child.wait().ok().filter(|status| status.signal() != Some(Signal::KILL.as_raw()))
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

const START_MAX: Duration = Duration::from_secs(30);
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);
const END_MAX: Duration = Duration::from_secs(120);
