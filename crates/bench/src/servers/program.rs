//! Servers that can be started: by their command lines, or by name; the peers are run by a script.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};

use super::Kind;

/// A server that can be started.
#[derive(Clone, Debug)]
pub struct Program {
    /// Name in tables.
    pub label: String,
    /// Kind of command line that it takes.
    pub kind: Kind,
    pub(super) command: Vec<String>,
    /// Command line for a profiler, which cannot follow into another root; absent if there is none.
    direct: Option<Vec<String>>,
    /// Messages about its servers that ended without a request.
    ended: Arc<Mutex<Vec<String>>>,
}

impl Program {
    /// Creates a program from its command line; `valkey`, `redis`, `memcached` and `null` name the
    /// known ones. Fails if a peer is requested and not installed.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "null" => Self::null(),
            "valkey" | "redis" | "memcached" => Ok(Peers::find()?.program(text)),
            _ => {
                let command: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
                let name = file_name(command.first().context("an empty command line")?);
                let label = name.strip_suffix("-server").unwrap_or(&name);
                Ok(Self::new(label, Kind::of(&name), command))
            }
        }
    }

    fn new(label: &str, kind: Kind, command: Vec<String>) -> Self {
        let direct = Some(command.clone());
        Self { label: label.to_owned(), kind, command, direct, ended: Arc::default() }
    }

    /// Creates a peer from its name and its own command line.
    pub fn peer(name: &str, text: &str) -> Result<Self> {
        let kind = if name == "memcached" { Kind::Memcached } else { Kind::Peer };
        Ok(Self { label: name.to_owned(), kind, ..Self::parse(text)? })
    }

    /// Returns the null server in the folder of the running program.
    pub fn null() -> Result<Self> {
        let path = env::current_exe()?.with_file_name("varve-null");
        ensure!(path.exists(), "{} is missing: build the package bench", path.display());
        Ok(Self::new("null", Kind::Null, vec![path.to_string_lossy().into_owned()]))
    }

    /// Returns messages about its servers that ended by themselves since the last call.
    pub fn ended(&self) -> Vec<String> {
        std::mem::take(&mut self.ended.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn add_ended(&self, message: String) {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }

    /// Returns its command line without folders, so that it is the same on every machine.
    pub fn words(&self) -> String {
        self.command.iter().map(|word| file_name(word)).collect::<Vec<_>>().join(" ")
    }

    /// Checks that its path leads to a file.
    pub fn must_be_there(&self) -> Result<()> {
        let path = Path::new(&self.command[0]);
        // A bare name is searched for in PATH.
        ensure!(
            path.components().count() < 2 || path.is_file(),
            "there is no server {}: build it, or name one by --server",
            path.display()
        );
        Ok(())
    }

    /// Returns the program under a profiler, whose command begins with `words`; `None` if the
    /// profiler cannot reach it.
    pub fn profiled(&self, words: &[String]) -> Option<Self> {
        let command = [words, self.direct.as_ref()?].concat();
        Some(Self { command, ..self.clone() })
    }

    /// Returns the program with the file system of this process, which the script of the peers
    /// would hide from it; `None` if it cannot be run like that.
    pub fn among_our_files(&self) -> Option<Self> {
        self.profiled(&[])
    }

    /// Appends arguments to the command line.
    #[must_use]
    pub fn with_arguments(mut self, words: &[&str]) -> Self {
        self.command.extend(words.iter().map(|&word| word.to_owned()));
        self
    }
}

fn file_name(word: &str) -> String {
    Path::new(word).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The script that runs the peers: the servers that Varve is compared with.
pub struct Peers {
    script: String,
    /// Their versions, one per line.
    pub versions: String,
}

impl Peers {
    /// Finds the script, the environment variable PEERS or `../shared/peers/peers`, and installs
    /// the peers where necessary.
    pub fn find() -> Result<Self> {
        let script = env::var("PEERS").unwrap_or_else(|_| "../shared/peers/peers".to_owned());
        let output = Command::new(&script).arg("versions").output();
        let output = output.with_context(|| format!("no peers: {script} (set PEERS)"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "no peers: {}", said.trim_end());
        Ok(Self { script, versions: String::from_utf8_lossy(&output.stdout).into_owned() })
    }

    /// Returns the peer of a name: `valkey`, `redis` or `memcached`.
    pub fn program(&self, name: &str) -> Program {
        let program = if name == "memcached" { name } else { &format!("{name}-server") };
        let direct = from_outside(program);
        Program { direct, ..Program::new(name, Kind::of(program), self.run(program)) }
    }

    /// Returns the command line of a program of the peers.
    pub fn run(&self, program: &str) -> Vec<String> {
        [&*self.script, "run", program].map(str::to_owned).into()
    }
}

/// Returns the command line that runs a program of the peers' root, with the libraries there, from
/// outside of that root.
fn from_outside(program: &str) -> Option<Vec<String>> {
    let folder = env::var_os("PEERS_DIR").map_or_else(|| "/opt/peers".into(), PathBuf::from);
    let [loader, libraries, programs] =
        [LOADER, LIBRARIES, "usr/bin"].map(|path| folder.join("root").join(path));
    let program = programs.join(program);
    if !loader.exists() || !program.exists() {
        return None;
    }
    let words = [&loader, Path::new("--library-path"), &libraries, &program];
    words.iter().map(|word| word.to_str().map(str::to_owned)).collect()
}

const LOADER: &str = "usr/lib64/ld-linux-x86-64.so.2";
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";

#[cfg(test)]
mod tests {
    use super::{Kind, Program};

    #[test]
    fn only_the_name_of_the_program_tells_label_and_kind() {
        for (text, label, kind) in [
            ("target/release/varve-server --hz 10", "varve", Kind::Varve),
            ("/src/redis-server-x/varve-server", "varve", Kind::Varve),
            ("/memcached/varve --dir /data/valkey-server", "varve", Kind::Varve),
            ("/varve-null.d/redis-server-8.0 --hz 10", "redis-server-8.0", Kind::Peer),
            ("./valkey-server", "valkey", Kind::Peer),
            ("/redis-server/memcached -v", "memcached", Kind::Memcached),
            ("target/varve-null", "varve-null", Kind::Null),
        ] {
            let program = Program::parse(text).unwrap();
            assert_eq!((program.label.as_str(), program.kind), (label, kind), "{text}");
        }
    }

    #[test]
    fn a_peer_of_any_name_is_what_it_is_called() {
        let peer = |name, text| Program::peer(name, text).map(|it| (it.label, it.kind)).unwrap();
        assert_eq!(peer("valkey", "/opt/kv/serve"), ("valkey".to_owned(), Kind::Peer));
        assert_eq!(peer("memcached", "/opt/mc -v"), ("memcached".to_owned(), Kind::Memcached));
        assert!(Program::peer("redis", " ").is_err());
        assert_eq!(Program::peer("redis", "/a/b run /c/d").unwrap().words(), "b run d");
    }
}
