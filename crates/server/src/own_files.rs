//! Files that go when the server ends, wherever the working directory is then.

use crate::background_process;
use settings::memcached::MEMCACHED_UNIX_SOCKET;
use settings::{Settings, network};
use std::path::{Path, PathBuf};

/// The sockets in the file system, and the file with the process id.
pub struct OwnFiles {
    sockets: Vec<PathBuf>,
    pid: Option<PathBuf>,
}

impl OwnFiles {
    /// Those that the settings name.
    pub fn of(settings: &Settings) -> OwnFiles {
        let absolute = |name: String| std::path::absolute(name).ok();
        let names = [network::UNIX_SOCKET.get(settings), MEMCACHED_UNIX_SOCKET.get(settings)];
        let named = names.iter().filter(|name| !name.is_empty());
        OwnFiles {
            sockets: named.filter_map(|name| absolute(name.to_string())).collect(),
            pid: background_process::pid_file(settings).and_then(absolute),
        }
    }

    /// Writes the id of this process. An error is only logged.
    pub fn write_pid(&self) {
        if let Some(path) = &self.pid
            && let Err(error) = std::fs::write(path, format!("{}\n", std::process::id()))
        {
            tracing::warn!("writing the pid file {}: {error}", path.display());
        }
    }

    /// Removes the sockets.
    pub fn remove_sockets(&self) {
        self.sockets.iter().for_each(|path| remove(Some(path)));
    }

    /// Removes all.
    pub fn remove(&self) {
        self.remove_sockets();
        remove(self.pid.as_deref());
    }
}

fn remove(path: Option<&Path>) {
    if let Some(path) = path {
        // What is gone already, or not to be removed by this user, stays as it is.
        let _ = std::fs::remove_file(path);
    }
}
