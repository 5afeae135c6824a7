//! A running server, from its start to its end.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tempfile::{Builder, NamedTempFile};

use super::ended::Ended;
use super::{Kind, Launch, Program, ask_pid};
use crate::control::{self, Control};
use crate::generator::{Protocol, Value};
use crate::process::{self, CpuMeter, first_cores};

/// A running server. Dropping it ends the server and all processes that a wrapper started beside
/// it.
pub struct Server {
    /// Name in tables.
    pub label: String,
    /// Kind of command line that it takes.
    pub kind: Kind,
    /// TCP port on 127.0.0.1.
    pub port: u16,
    /// Process that serves the port.
    pub pid: u32,
    /// Number of its cores.
    pub cores: usize,
    /// Time from its start to its first answer.
    pub ready_after: Duration,
    /// Leader of a process group of its own; absent after it has ended on request.
    child: Option<Child>,
    meter: Mutex<CpuMeter>,
    log: NamedTempFile,
    ended: Ended,
}

impl Program {
    /// Starts the program and waits until it answers.
    ///
    /// # Errors
    /// If it cannot be started, ends, or does not answer in time; the error holds the
    /// end of its output.
    pub fn start(&self, launch: &Launch) -> Result<Server> {
        Server::start(self, launch)
    }
}

impl Server {
    fn start(program: &Program, launch: &Launch) -> Result<Self> {
        let port = free_port()?;
        // Both streams are appended to the log, which is removed in any case.
        let log = Builder::new().prefix("varve-bench-").suffix(".log").append(true).tempfile()?;
        // A server must not outlive a bench that is killed. Processes that a wrapper starts do not
        // get this signal; they are ended with the wrapper's group.
        let started = Instant::now();
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "taskset", "-c", &first_cores(launch.cores)])
            .args(&program.command)
            .args(launch.arguments(program.kind, port))
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(log.as_file().try_clone()?)
            .stderr(log.as_file().try_clone()?)
            .spawn()
            .context("setpriv (package util-linux) cannot be started")?;
        let pid = child.id();
        let mut server = Self {
            label: program.label.clone(),
            kind: program.kind,
            port,
            pid,
            cores: launch.cores,
            ready_after: Duration::ZERO,
            child: Some(child),
            meter: Mutex::new(CpuMeter::new(pid)),
            log,
            ended: program.ended.clone(),
        };
        let ready = server.wait_until_ready(launch.ready_within);
        server.ready_after = started.elapsed();
        if let Err(error) = ready {
            // The error already contains everything.
            server.ended = Ended::default();
            return Err(error.context(server.complaint()));
        }
        Ok(server)
    }

    /// Opens a connection for commands that control the server.
    ///
    /// # Errors
    /// If the server does not accept.
    pub fn control(&self) -> Result<Control> {
        Control::open(self.port)
    }

    /// Returns a function that counts the keys; it returns zero for the null server, which keeps
    /// none.
    ///
    /// # Errors
    /// If the server does not accept.
    pub fn key_counter(&self) -> Result<Box<dyn FnMut() -> Result<u64>>> {
        if self.kind == Kind::Memcached {
            let mut control = Control::speaking(self.port, Protocol::Memcached)?;
            return Ok(Box::new(move || control.statistic("curr_items")));
        }
        let mut control = self.control()?;
        Ok(Box::new(move || Ok(control.key_count()?.unwrap_or(0))))
    }

    /// Returns the resident memory in bytes.
    ///
    /// # Errors
    /// If the server ended.
    pub fn resident_bytes(&self) -> Result<u64> {
        process::resident_bytes(self.pid).with_context(|| self.complaint())
    }

    /// Returns the CPU time used so far, as [`CpuMeter`] computes it.
    ///
    /// # Errors
    /// If the server ended.
    pub fn cpu_time(&self) -> Result<Duration> {
        let mut meter = self.meter.lock().unwrap_or_else(PoisonError::into_inner);
        meter.read().with_context(|| self.complaint())
    }

    /// Asks the server to end, and waits until it has.
    ///
    /// # Errors
    /// If the request fails, or the server does not end within two minutes.
    pub fn end(mut self) -> Result<()> {
        let Some(child) = &mut self.child else { return Ok(()) };
        kill_process(pid_of(self.pid)?, Signal::TERM)?;
        let asked = Instant::now();
        while asked.elapsed() < END_MAX {
            if child.try_wait()?.is_some() {
                kill_group(child);
                self.child = None;
                return Ok(());
            }
            thread::sleep(Duration::from_millis(20));
        }
        bail!("{} does not end", self.label)
    }

    fn wait_until_ready(&mut self, longest: Duration) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < longest {
            if let Some(child) = &mut self.child
                && let Some(status) = child.try_wait()?
            {
                bail!("{} ended: {status}", self.label);
            }
            if self.answers()
                && let Ok(said) = self.ask_pid()
            {
                return said.map_or(Ok(()), |pid| self.recognize(pid));
            }
            thread::sleep(ASK_AGAIN);
        }
        bail!("{} does not answer on port {}", self.label, self.port)
    }

    fn answers(&self) -> bool {
        if self.kind == Kind::Memcached {
            return self.ask_pid().is_ok();
        }
        let pong = self.control().and_then(|mut control| control.ask(&["PING"]));
        matches!(pong, Ok(Value::Text(_)))
    }

    fn ask_pid(&self) -> Result<Option<u32>> {
        let is_memcached = self.kind == Kind::Memcached;
        ask_pid(self.port, if is_memcached { Protocol::Memcached } else { Protocol::Resp })
    }

    /// Sets the process that serves. If a wrapper forks, that is not the wrapper's process, so the
    /// server's own answer counts; but only for a process that was started here, since another
    /// program may have taken the port.
    fn recognize(&mut self, pid: u32) -> Result<()> {
        ensure!(
            process::descends_from(pid, self.pid),
            "process {pid} answers on port {}, which was not started as {}",
            self.port,
            self.label
        );
        self.pid = pid;
        self.meter = Mutex::new(CpuMeter::new(pid));
        Ok(())
    }

    fn complaint(&self) -> String {
        let log = fs::read(self.log.path()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let tail: Vec<_> = log.lines().rev().take(5).collect();
        format!("{} said: {}", self.label, tail.into_iter().rev().collect::<Vec<_>>().join(" | "))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        if let Some(status) = kill(&mut child, self.pid, self.port) {
            let said = self.complaint();
            self.ended.add(format!("{} ended by itself ({status}); {said}", self.label));
        }
    }
}

/// Ends a server and the processes started with it; returns its status if it ended by itself.
fn kill(child: &mut Child, pid: u32, port: u16) -> Option<ExitStatus> {
    let asked = Instant::now();
    let mut status = None;
    // A server that is about to end may still log the reason.
    while status.is_none() && !control::answers(port) && asked.elapsed() < LAST_WORDS_MAX {
        status = child.try_wait().ok().flatten();
        thread::sleep(Duration::from_millis(5));
    }
    kill_group(child);
    // A wrapper may have put it in another group.
    if !process::has_ended(pid)
        && let Ok(pid) = pid_of(pid)
    {
        let _ = kill_process(pid, Signal::KILL);
    }
    let was_killed = |status: &ExitStatus| status.signal() == Some(Signal::KILL.as_raw());
    let status = status.or_else(|| child.wait().ok().filter(|status| !was_killed(status)));
    // The next server needs the memory and the core of one that is no child, too.
    let killed = Instant::now();
    while !process::has_ended(pid) && killed.elapsed() < KILLED_MAX {
        thread::sleep(Duration::from_millis(1));
    }
    status
}

/// Kills a process group, which may be empty.
fn kill_group(leader: &Child) {
    if let Ok(group) = pid_of(leader.id()) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn pid_of(number: u32) -> Result<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw).context("the number of a process")
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

const ASK_AGAIN: Duration = Duration::from_millis(10);
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);
const END_MAX: Duration = Duration::from_secs(120);
/// Time for the kernel to free the memory of a large server.
const KILLED_MAX: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::path::{Path, PathBuf};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{Command, Launch, Program, Server, TcpListener, fs, process};

    /// Starts a wrapper whose server and helper sleep. This process answers on the port, and names
    /// the process that `said` returns for the server's. Also returns the process ids of both
    /// sleepers.
    fn start_wrapped(
        said: impl FnOnce(u32) -> u32 + Send + 'static,
    ) -> (anyhow::Result<Server>, [u32; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("wrapper");
        fs::write(&script, WRAPPER).unwrap();
        let note = folder.path().join("wrapper.started");
        let answering = thread::spawn(move || {
            let [sleeper, helper, port] = read_when_there(&note);
            let listener = TcpListener::bind(("127.0.0.1", port as u16)).unwrap();
            thread::spawn(move || answer(&listener, said(sleeper)));
            [sleeper, helper]
        });
        let server = start(&script);
        (server, answering.join().unwrap())
    }

    fn start(script: &Path) -> anyhow::Result<Server> {
        Program::parse(&format!("sh {}", script.display())).unwrap().start(&Launch::default())
    }

    fn read_when_there(note: &PathBuf) -> [u32; 3] {
        loop {
            if let Ok(text) = fs::read_to_string(note) {
                let numbers: Vec<_> =
                    text.split_whitespace().map(|it| it.parse().unwrap()).collect();
                return numbers.try_into().unwrap();
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn answer(listener: &TcpListener, pid: u32) {
        let info = format!("process_id:{pid}\r\n");
        for stream in listener.incoming() {
            let (mut stream, mut request) = (stream.unwrap(), [0; 1024]);
            let length = stream.read(&mut request).unwrap_or(0);
            let asks = String::from_utf8_lossy(&request[..length]).contains("INFO");
            let told = if asks { format!("${}\r\n{info}\r\n", info.len()) } else { String::new() };
            // A client that has read enough closes the connection.
            let _ = stream.write_all(format!("{told}+PONG\r\n").as_bytes());
        }
    }

    /// Waits for the end of a process that is no child.
    fn wait_for_end(pid: u32) {
        let began = Instant::now();
        while !process::has_ended(pid) {
            assert!(began.elapsed() < Duration::from_secs(60), "process {pid} was left behind");
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_wrapper_is_not_measured_and_leaves_nothing_behind() {
        let (server, [sleeper, helper]) = start_wrapped(|sleeper| sleeper);
        let server = server.unwrap();
        let ended = server.ended.clone();
        assert_eq!(server.pid, sleeper);
        assert!(server.resident_bytes().unwrap() > 0 && !process::has_ended(sleeper));
        drop(server);
        assert!(process::has_ended(sleeper));
        wait_for_end(helper);
        assert!(ended.take().is_empty(), "it did not end by itself");
    }

    #[test]
    fn a_server_that_is_asked_to_end_has_ended() {
        let (server, [sleeper, helper]) = start_wrapped(|sleeper| sleeper);
        server.unwrap().end().unwrap();
        assert!(process::has_ended(sleeper));
        wait_for_end(helper);
    }

    #[test]
    fn a_process_that_was_not_started_here_is_refused() {
        let mut stranger = Command::new("sleep").arg("1000").spawn().unwrap();
        let number = stranger.id();
        let (server, _) = start_wrapped(move |_| number);
        let error = format!("{:#}", server.err().unwrap());
        assert!(error.contains(&format!("process {number} answers on port")), "{error}");
        assert!(!process::has_ended(number), "it is left alone");
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }

    #[test]
    fn a_server_that_does_not_start_is_heard_on_both_streams() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("talker");
        fs::write(&script, "echo one; echo two >&2; echo three; echo four >&2; exit 3").unwrap();
        let error = format!("{:#}", start(&script).err().unwrap());
        assert!(error.contains("sh said: one | two | three | four"), "{error}");
        assert!(error.contains("sh ended: exit status: 3"), "{error}");
    }

    const WRAPPER: &str = "\
        sleep 1000 &\n\
        helper=$!\n\
        sleep 1000 &\n\
        echo $! $helper $2 > $0.note\n\
        mv $0.note $0.started\n\
        wait $!\n";
}
