//! The server under test, and a process that keeps its core busy.

use crate::addresses::{Addresses, free_port};
use crate::client::{Client, Reply};
use anyhow::{Context, Result, bail, ensure};
use bench::Certificates;
use bench::process::{anonymous_bytes, core, resident_bytes};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Server process whose exit status can be read, which [`bench::servers`] does not offer.
pub(crate) struct Server {
    /// Where it is reached.
    pub(crate) addresses: Addresses,
    /// Port of Memcached's protocol.
    pub(super) memcached_port: u16,
    certificates: Option<Arc<Certificates>>,
    pub(super) pid: u32,
    child: Mutex<Child>,
    pub(super) log: PathBuf,
    /// Where its files of data are.
    folder: PathBuf,
}

impl Server {
    /// Starts the server, with a journal in a folder of its own, and waits until it answers. With
    /// `tls`, every other connection to it is encrypted.
    pub(crate) fn start(
        program: &Path,
        threads: usize,
        options: &[String],
        tls: bool,
    ) -> Result<Self> {
        let folder = format!("varve-hammer-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let certificates = tls.then(|| Certificates::make("ecdsa")).transpose()?.map(Arc::new);
        Self::start_in(folder, program, threads, options, certificates)
    }

    fn start_in(
        folder: PathBuf,
        program: &Path,
        threads: usize,
        options: &[String],
        certificates: Option<Arc<Certificates>>,
    ) -> Result<Self> {
        let (port, memcached_port) = (free_port()?, free_port()?);
        let (addresses, of_tls) = match &certificates {
            None => (Addresses::plain(port), Vec::new()),
            Some(certificates) => {
                let tls_port = free_port()?;
                let addresses = Addresses::both(port, tls_port, certificates)?;
                (addresses, certificates.options(tls_port))
            }
        };
        let log = std::env::temp_dir().join(format!("varve-hammer-{port}.log"));
        let file = File::create(&log).with_context(|| log.display().to_string())?;
        let mut command = bound_to_this_process(program);
        command
            .args(["--port", &port.to_string(), "--threads", &threads.to_string()])
            .args(["--save", "", "--enable-debug-command", "yes", "--appendonly", "yes"])
            .args(["--memcached-port", &memcached_port.to_string()])
            .arg("--dir")
            .arg(&folder)
            .args(of_tls)
            .args(options)
            .env("RUST_BACKTRACE", "1")
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file);
        let child = command.spawn().context("setpriv (package util-linux) cannot be started")?;
        let (pid, child) = (child.id(), Mutex::new(child));
        let server = Self { addresses, memcached_port, certificates, pid, child, log, folder };
        let started = Instant::now();
        while !server.answers() {
            if let Some(status) = server.ended() {
                bail!("the server ended: {status}\n{}", server.log_tail());
            }
            ensure!(started.elapsed() < START_MAX, "no answer on port {port}");
            sleep(Duration::from_millis(20));
        }
        server.move_connections()?;
        Ok(server)
    }

    /// Has the server move connections between its threads at random, whatever the load is.
    fn move_connections(&self) -> Result<()> {
        let mut client = Client::open(self.addresses.next(), Duration::from_secs(60))?;
        while let Reply::Error(_) = client.ask(&["DEBUG", "MOVE-CONNECTIONS", "1"])? {
            // It is still loading.
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn answers(&self) -> bool {
        let asked = Client::open(self.addresses.next(), Duration::from_secs(5))
            .and_then(|mut client| client.ask(&["PING"]));
        matches!(asked, Ok(Reply::Simple(_)))
    }

    /// Returns a number that INFO has, as of events that the server has counted.
    pub(crate) fn count(&self, field: &str) -> Result<u64> {
        let mut client = Client::open(self.addresses.next(), Duration::from_secs(60))?;
        let Reply::Bulk(info) = client.ask(&["INFO", "everything"])? else {
            bail!("INFO answers no text");
        };
        let info = String::from_utf8_lossy(&info);
        let named = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        Ok(named.with_context(|| format!("INFO has no {field}"))?.trim_end().parse()?)
    }

    /// Returns the exit status, if the server has ended.
    pub(super) fn ended(&self) -> Option<ExitStatus> {
        self.child.lock().ok()?.try_wait().ok()?
    }

    /// Starts once more from the files of a server that has ended, and looks that all of them was
    /// executed.
    pub(super) fn starts_again(&self, program: &Path, options: &[String]) -> Result<()> {
        let again =
            Self::start_in(self.folder.clone(), program, 2, options, self.certificates.clone())?;
        let began = Instant::now();
        let is_ready = |log: &str| log.contains("Ready to accept");
        while !is_ready(&fs::read_to_string(&again.log)?) {
            ensure!(again.ended().is_none(), "it does not start again: {}", again.log_tail());
            ensure!(began.elapsed() < END_MAX, "it does not start again in {END_MAX:?}");
            sleep(Duration::from_millis(20));
        }
        let log = fs::read_to_string(&again.log)?;
        ensure!(!log.contains("refused with"), "not all was executed again:\n{}", again.log_tail());
        let mut client = Client::open(again.addresses.next(), END_MAX)?;
        let size = client.ask(&["DBSIZE"])?;
        ensure!(size == Reply::Integer(0), "keys are there again behind FLUSHALL: {size:?}");
        again.end(false)
    }

    /// Returns the resident memory in bytes; zero if the server has ended.
    pub(super) fn resident(&self) -> u64 {
        resident_bytes(self.pid).unwrap_or(0)
    }

    /// Resident memory without the pages of its program, which are no fewer without keys.
    pub(super) fn resident_of_its_own(&self) -> u64 {
        anonymous_bytes(self.pid).unwrap_or(0)
    }

    /// Binds all threads to the given cores.
    pub(super) fn stay_on(&self, cores: &str) -> Result<()> {
        let arguments = ["-a", "-p", "-c", cores, &self.pid.to_string()];
        // It fails where a thread ends between being listed and being bound.
        for _ in 0..TASKSETS_MAX {
            let status = Command::new("taskset").args(arguments).stdout(Stdio::null()).status()?;
            if status.success() {
                return Ok(());
            }
        }
        bail!("taskset does not bind the threads of {}", self.pid)
    }

    /// Ends the server, and checks that it exits with status 0 and without a panic in the log.
    pub(crate) fn end(&self, by_command: bool) -> Result<()> {
        if by_command {
            // The reply is not needed; the end of the process is.
            let _ = Client::open(self.addresses.next(), END_MAX)?.ask(&["SHUTDOWN", "NOSAVE"]);
        } else {
            let status = Command::new("kill").args(["-TERM", &self.pid.to_string()]).status()?;
            ensure!(status.success(), "kill: {status}");
        }
        let asked = Instant::now();
        while asked.elapsed() < END_MAX {
            if let Some(status) = self.ended() {
                ensure!(status.success(), "the server ended with {status}");
                ensure!(!self.has_panicked(), "the log tells of a panic");
                fs::remove_file(&self.log)?;
                return Ok(());
            }
            sleep(Duration::from_millis(20));
        }
        bail!("the server does not end within {END_MAX:?}")
    }

    fn has_panicked(&self) -> bool {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        ["panicked at", "ERROR: AddressSanitizer", "WARNING: ThreadSanitizer"]
            .iter()
            .any(|words| log.contains(words))
    }

    /// Returns the stack of each thread, if a debugger is available.
    pub(super) fn stacks(&self) -> String {
        let arguments = ["-p", &self.pid.to_string(), "-batch", "-ex", "thread apply all bt 50"];
        let Ok(output) = Command::new("gdb").args(arguments).stderr(Stdio::null()).output() else {
            return "where its threads are would be told by gdb, which is not here".to_owned();
        };
        let text = String::from_utf8_lossy(&output.stdout);
        let is_ours = |line: &&str| line.starts_with("Thread") || line.contains(" at crates/");
        let frames = text.lines().filter(is_ours);
        frames.map(|line| format!("    {line}\n")).collect()
    }

    /// Returns the largest parts of resident memory: addresses, size of the mapping, resident size.
    pub(super) fn largest_mappings(&self) -> String {
        let text = fs::read_to_string(format!("/proc/{}/smaps", self.pid)).unwrap_or_default();
        let (mut mappings, mut head) = (Vec::new(), "");
        for line in text.lines() {
            match line.strip_prefix("Rss:").and_then(|rest| rest.trim().split(' ').next()) {
                Some(kilobytes) => mappings.push((kilobytes.parse().unwrap_or(0), head)),
                None if line.split(' ').next().is_some_and(|word| word.contains('-')) => {
                    head = line
                }
                None => {}
            }
        }
        mappings.sort_by_key(|mapping: &(u64, &str)| std::cmp::Reverse(mapping.0));
        let shown = mappings.iter().take(12).map(|(kilobytes, head)| {
            format!("    {kilobytes:8} kB of {}\n", head.split("  ").next().unwrap_or(head))
        });
        shown.collect()
    }

    /// Returns the end of the log, from the first panic on if there is one.
    pub(crate) fn log_tail(&self) -> String {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<_> = log.lines().collect();
        let panic = lines
            .iter()
            .position(|line| line.contains("panicked at") || line.contains("Sanitizer"));
        let first = panic.unwrap_or(lines.len().saturating_sub(LOG_LINES));
        let shown = lines[first..].iter().take(4 * LOG_LINES).map(|line| format!("    {line}"));
        format!("{}:\n{}", self.log.display(), shown.collect::<Vec<_>>().join("\n"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(child) = self.child.get_mut() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Process that only uses a core; dropping it ends the process.
pub(super) struct Spinner(Child);

impl Spinner {
    pub(super) fn start() -> Result<Self> {
        let mut command = bound_to_this_process(Path::new("taskset"));
        command.args(["-c", &core(0).to_string(), "sh", "-c", "while :; do :; done"]);
        Ok(Self(command.spawn().context("setpriv and taskset (package util-linux)")?))
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns a command whose process ends with this one.
fn bound_to_this_process(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program);
    command
}

const START_MAX: Duration = Duration::from_secs(60);
const END_MAX: Duration = Duration::from_secs(60);
const LOG_LINES: usize = 15;
const TASKSETS_MAX: usize = 20;
