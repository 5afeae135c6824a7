//! Files that go when the server ends, wherever the working directory is then.

use crate::background_process;
use settings::{Settings, network};
use std::path::{Path, PathBuf};

/// The socket in the file system, and the file with the process id.
pub struct OwnFiles {
    socket: Option<PathBuf>,
    pid: Option<PathBuf>,
}

impl OwnFiles {
    /// Those that the settings name.
    pub fn of(settings: &Settings) -> OwnFiles {
        let absolute = |name: String| std::path::absolute(name).ok();
        let socket = Some(network::UNIX_SOCKET.get(settings).to_string());
        OwnFiles {
            socket: socket.filter(|name| !name.is_empty()).and_then(absolute),
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

    /// Removes the socket.
    pub fn remove_socket(&self) {
        remove(self.socket.as_deref());
    }

    /// Removes both.
    pub fn remove(&self) {
        self.remove_socket();
        remove(self.pid.as_deref());
    }
}

fn remove(path: Option<&Path>) {
    if let Some(path) = path {
        // What is gone already, or not to be removed by this user, stays as it is.
        let _ = std::fs::remove_file(path);
    }
}
