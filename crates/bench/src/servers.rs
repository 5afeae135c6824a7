//! Starts servers with equal settings, each on its cores, and stops them.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::control::{self, Control, Reply, Statistics};
use crate::process;
use crate::valkey_benchmark::ValkeyBenchmark;

/// What kind of command line a program understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Options as Valkey has them, and `--threads`.
    Varve,
    /// Valkey or Redis.
    Peer,
    /// Memcached.
    Memcached,
    /// `--port` only.
    Null,
}

/// A server that can be started.
#[derive(Clone, Debug)]
pub struct Program {
    /// The name in tables.
    pub label: String,
    /// What it understands.
    pub kind: Kind,
    command: Vec<String>,
    /// The same for a profiler, which cannot follow into another root; absent if there is no way
    /// around that.
    direct: Option<Vec<String>>,
    ended: Ended,
}

/// Servers that ended though nobody had asked them to, in words.
type Ended = Arc<Mutex<Vec<String>>>;

/// How a server is started for one measurement.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Worker threads, for servers that have the option.
    pub threads: usize,
    /// First and last core, as `taskset -c` takes them.
    pub cores: String,
    /// Further options, as name and value; ignored by the null server.
    pub options: Vec<(String, String)>,
}

impl Default for Launch {
    fn default() -> Self {
        Self { threads: 1, cores: SERVER_CORE.to_string(), options: Vec::new() }
    }
}

impl Launch {
    /// With one more option.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.options.push((name.to_owned(), value.to_string()));
        self
    }

    /// With this many worker threads.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// On the first `cores` cores, or on all there are.
    #[must_use]
    pub fn on_cores(mut self, cores: usize) -> Self {
        self.cores = format!("0-{}", cores.min(process::cores()) - 1);
        self
    }
}

impl Program {
    fn new(label: &str, kind: Kind, command: Vec<String>) -> Self {
        let direct = Some(command.clone());
        Self { label: label.to_owned(), kind, command, direct, ended: Ended::default() }
    }

    /// Those of its servers that ended by themselves since this was asked last, in words.
    pub fn ended(&self) -> Vec<String> {
        std::mem::take(&mut self.ended.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A program by its command line; `valkey`, `redis`, `memcached` and `null` name the known
    /// ones.
    ///
    /// # Errors
    /// If the peers are asked for and not there.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "null" => Self::null(),
            "valkey" | "redis" | "memcached" => Peers::find()?.program(text),
            _ => Self::parse_command(text),
        }
    }

    fn parse_command(text: &str) -> Result<Self> {
        let command: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        let name = command.first().context("an empty command line")?;
        let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy();
        Ok(Self::new(&label_of(&name), kind_of(text), command))
    }

    /// A peer by its name and its own command line.
    ///
    /// # Errors
    /// If the command line is empty.
    pub fn peer(name: &str, text: &str) -> Result<Self> {
        let kind = if name == "memcached" { Kind::Memcached } else { Kind::Peer };
        let program = Self::parse_command(text)?;
        Ok(Self { label: name.to_owned(), kind, ..program })
    }

    /// Its command line without folders, as far as it is always the same.
    pub fn words(&self) -> String {
        let file = |word: &String| Path::new(word).file_name()?.to_str().map(str::to_owned);
        let words = self.command.iter().map(|word| file(word).unwrap_or_default());
        words.collect::<Vec<_>>().join(" ")
    }

    /// The null server beside the running program.
    ///
    /// # Errors
    /// If it was not built.
    pub fn null() -> Result<Self> {
        let path = env::current_exe()?.with_file_name("varve-null");
        if !path.exists() {
            bail!("{} is missing: build the package bench", path.display());
        }
        let command = vec![path.to_string_lossy().into_owned()];
        Ok(Self::new("null", Kind::Null, command))
    }

    /// Whether it can be started, as far as its path tells.
    ///
    /// # Errors
    /// If it is a path at which there is no file.
    pub fn must_be_there(&self) -> Result<()> {
        let path = Path::new(&self.command[0]);
        // A bare name is looked for where programs are.
        if path.components().count() > 1 && !path.is_file() {
            bail!("there is no server {}: build it, or name one by --server", path.display());
        }
        Ok(())
    }

    /// The program as the last words of a profiler's command; `None` if that cannot reach it.
    pub fn profiled(&self, words: &[String]) -> Option<Self> {
        let command = [words, self.direct.as_ref()?].concat();
        Some(Self { command, ..self.clone() })
    }

    /// The program with more arguments.
    #[must_use]
    pub fn with_arguments(mut self, words: &[String]) -> Self {
        self.command.extend_from_slice(words);
        self
    }

    /// Starts the program and waits until it answers.
    ///
    /// # Errors
    /// If it cannot be started, ends, or does not answer within half a minute; the error holds
    /// the end of what it wrote.
    pub fn start(&self, launch: &Launch) -> Result<Server> {
        let port = free_port()?;
        let log = env::temp_dir().join(format!("varve-bench-{port}.log"));
        // A server must not outlive a bench that is killed.
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "taskset", "-c", &launch.cores])
            .args(&self.command)
            .args(self.arguments(port, launch))
            .stdin(Stdio::null())
            .stdout(File::create(&log)?)
            .stderr(File::options().append(true).open(&log)?)
            .spawn()
            .context("setpriv (package util-linux) cannot be started")?;
        let pid = child.id();
        let mut server = Server {
            label: self.label.clone(),
            kind: self.kind,
            port,
            pid,
            child: Some(child),
            log,
            ended: self.ended.clone(),
        };
        if let Err(error) = server.wait_until_ready() {
            // The error tells all there is.
            server.ended = Ended::default();
            return Err(error.context(server.complaint()));
        }
        Ok(server)
    }

    fn arguments(&self, port: u16, launch: &Launch) -> Vec<String> {
        if self.kind == Kind::Memcached {
            return memcached_arguments(port, launch);
        }
        let mut arguments = vec!["--port".to_owned(), port.to_string()];
        if self.kind != Kind::Peer {
            arguments.extend(["--threads".to_owned(), launch.threads.to_string()]);
        }
        let fixed: &[&str] = match self.kind {
            Kind::Null => return arguments,
            Kind::Peer => {
                &["--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--dir", "/tmp"]
            }
            Kind::Varve | Kind::Memcached => &[],
        };
        arguments.extend(fixed.iter().map(|part| (*part).to_owned()));
        for (name, value) in &launch.options {
            arguments.extend([format!("--{name}"), value.clone()]);
        }
        arguments
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

    /// A connection that says how many keys there are; zero for the null server, which keeps none.
    ///
    /// # Errors
    /// If the server does not accept.
    pub fn key_counter(&self) -> Result<Box<dyn FnMut() -> Result<u64>>> {
        if self.kind == Kind::Memcached {
            let mut statistics = Statistics::open(self.port)?;
            return Ok(Box::new(move || statistics.number("curr_items")));
        }
        let mut control = self.control()?;
        Ok(Box::new(move || Ok(control.key_count()?.unwrap_or(0))))
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
            self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(words);
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

/// The script that runs the servers Varve is compared with.
pub struct Peers {
    script: PathBuf,
}

impl Peers {
    /// Finds the script: the environment variable PEERS, or `../shared/peers/peers`.
    ///
    /// # Errors
    /// If it is not there.
    pub fn find() -> Result<Self> {
        let script =
            env::var_os("PEERS").map_or_else(|| "../shared/peers/peers".into(), PathBuf::from);
        let script = script.canonicalize().with_context(|| {
            format!("no peers: {} is missing (set PEERS to the script)", script.display())
        })?;
        Ok(Self { script })
    }

    /// Installs the peers where necessary and returns their versions, one per line.
    ///
    /// # Errors
    /// If they cannot be installed.
    pub fn versions(&self) -> Result<String> {
        let output = Command::new(&self.script).arg("versions").output()?;
        if !output.status.success() {
            bail!("no peers: {}", String::from_utf8_lossy(&output.stderr).trim_end());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// `valkey`, `redis` or `memcached`.
    ///
    /// # Errors
    /// If the path of the script is not UTF-8.
    pub fn program(&self, name: &str) -> Result<Program> {
        let script = self.script.to_str().context("the path of the peers")?.to_owned();
        let (kind, program) = match name {
            "memcached" => (Kind::Memcached, name.to_owned()),
            _ => (Kind::Peer, format!("{name}-server")),
        };
        let direct = Self::from_outside(&program);
        let command = vec![script, "run".to_owned(), program];
        Ok(Program { direct, ..Program::new(name, kind, command) })
    }

    /// A program of the peers' root with the libraries that are there, run from outside.
    fn from_outside(program: &str) -> Option<Vec<String>> {
        let folder = env::var_os("PEERS_DIR").map_or_else(|| "/opt/peers".into(), PathBuf::from);
        let root = folder.join("root");
        let paths = [LOADER, LIBRARIES, "usr/bin"].map(|path| root.join(path));
        let [loader, libraries, programs] = paths;
        let program = programs.join(program);
        if !loader.exists() || !program.exists() {
            return None;
        }
        let words = [&loader, Path::new("--library-path"), &libraries, &program];
        words.iter().map(|word| word.to_str().map(str::to_owned)).collect()
    }

    /// valkey-benchmark.
    pub fn valkey_benchmark(&self) -> ValkeyBenchmark {
        ValkeyBenchmark::new(vec![
            self.script.clone().into(),
            "run".into(),
            "valkey-benchmark".into(),
        ])
    }
}

/// No more memory than its machine has, where there is no limit: its own default is 64 MiB.
fn memcached_arguments(port: u16, launch: &Launch) -> Vec<String> {
    let maxmemory = launch.options.iter().find(|(name, _)| name == "maxmemory");
    let megabytes = maxmemory.map_or(MEGABYTES_MAX.to_owned(), |(_, value)| megabytes(value));
    let (port, threads) = (port.to_string(), launch.threads.to_string());
    // A process that changes its user would outlive a bench that is killed.
    let fixed = ["-l", "127.0.0.1", "-U", "0", "-u", "root", "-c", "4096"];
    let given = ["-p", &port, "-t", &threads, "-m", &megabytes];
    fixed.iter().chain(&given).map(|part| (*part).to_owned()).collect()
}

/// Memcached takes no bytes; the others take both.
fn megabytes(value: &str) -> String {
    match value.parse::<u64>() {
        Ok(bytes) => (bytes >> 20).to_string(),
        Err(_) => value.trim_end_matches("mb").to_owned(),
    }
}

fn kind_of(command: &str) -> Kind {
    match command {
        text if text.contains("varve-null") => Kind::Null,
        text if text.contains("memcached") => Kind::Memcached,
        text if text.contains("valkey-server") || text.contains("redis-server") => Kind::Peer,
        _ => Kind::Varve,
    }
}

fn label_of(name: &str) -> String {
    name.strip_suffix("-server").unwrap_or(name).to_owned()
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// The core of the server, where one is enough.
pub const SERVER_CORE: usize = 0;
/// Of Memcached without a limit.
const MEGABYTES_MAX: &str = "65536";
const START_MAX: Duration = Duration::from_secs(30);
const LAST_WORDS_MAX: Duration = Duration::from_secs(1);
const LOADER: &str = "usr/lib64/ld-linux-x86-64.so.2";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
const END_MAX: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::{Kind, Launch, Program};

    #[test]
    fn peers_are_not_told_the_threads() {
        let launch = Launch::default().with_threads(2).with("maxmemory", "64mb");
        let arguments = |text: &str| Program::parse(text).unwrap().arguments(7, &launch).join(" ");
        let varve = arguments("target/release/varve-server --x 1");
        assert_eq!(varve, "--port 7 --threads 2 --maxmemory 64mb");
        assert!(!arguments("valkey-server").contains("threads"));
        assert_eq!(arguments("./varve-null"), "--port 7 --threads 2");
        assert!(arguments("./memcached").ends_with("-p 7 -t 2 -m 64"));
        assert_eq!(super::megabytes("67108864"), "64");
    }

    #[test]
    fn a_peer_of_any_name_is_what_it_is_called() {
        let peer = |name, text| Program::peer(name, text).map(|it| (it.label, it.kind)).unwrap();
        assert_eq!(peer("valkey", "/opt/kv/serve"), ("valkey".to_owned(), Kind::Peer));
        assert_eq!(peer("memcached", "/opt/mc -v"), ("memcached".to_owned(), Kind::Memcached));
        assert!(Program::peer("redis", " ").is_err());
        assert_eq!(Program::peer("redis", "/a/b run /c/d").unwrap().words(), "b run d");
    }

    #[test]
    fn the_label_is_the_short_name() {
        let program = Program::parse("target/release/varve-server --hz 10").unwrap();
        assert_eq!((program.label.as_str(), program.kind), ("varve", Kind::Varve));
    }
}
