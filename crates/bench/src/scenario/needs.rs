//! What a scenario cannot run without, and whether it is there.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

/// What Varve does not have yet, and what it would be.
const MISSING: [(&str, &str); 2] = [
    ("persistence", "a log on disk and snapshots, which Varve does not have yet"),
    ("cluster", "several nodes that share the keys, which Varve does not have yet"),
];
/// Programs of the machine.
const PROGRAMS: [&str; 1] = ["valgrind"];

/// Checks the names.
pub fn known(needs: &[String]) -> Result<()> {
    for need in needs {
        let is_missing = MISSING.iter().any(|(name, _)| name == need);
        if !is_missing && !PROGRAMS.contains(&need.as_str()) {
            bail!("needs {need:?}: nobody knows what that is");
        }
    }
    Ok(())
}

/// Why the scenario cannot be run, if it cannot.
pub fn missing(needs: &[String]) -> Option<String> {
    needs.iter().find_map(|need| {
        if let Some((name, what)) = MISSING.iter().find(|(name, _)| name == need) {
            return Some(format!("needs {name}: {what}"));
        }
        let found = Command::new(need).arg("--version").stdout(Stdio::null()).status();
        let is_there = found.is_ok_and(|status| status.success());
        (!is_there).then(|| format!("needs the program {need}: install its package"))
    })
}
