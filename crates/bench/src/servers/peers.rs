//! The script that runs the peers: the servers that Varve is compared with.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Kind, Program};
use crate::valkey_benchmark::ValkeyBenchmark;

/// The script that runs the peers.
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

    /// Installs the peers where necessary; returns their versions, one per line.
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

    /// Returns the peer of a name: `valkey`, `redis` or `memcached`.
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
        Ok(Program::new(name, kind, command).reached_by(direct))
    }

    /// Returns the command line that runs a program of the peers' root, with the libraries there,
    /// from outside of that root.
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

    /// Returns valkey-benchmark.
    pub fn valkey_benchmark(&self) -> ValkeyBenchmark {
        ValkeyBenchmark::new(vec![
            self.script.clone().into(),
            "run".into(),
            "valkey-benchmark".into(),
        ])
    }
}

impl Program {
    /// Creates a program from its command line; `valkey`, `redis`, `memcached` and `null` name the
    /// known ones.
    ///
    /// # Errors
    /// If a peer is requested and not installed.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "null" => Self::null(),
            "valkey" | "redis" | "memcached" => Peers::find()?.program(text),
            _ => Self::parse_command(text),
        }
    }
}

const LOADER: &str = "usr/lib64/ld-linux-x86-64.so.2";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
