//! Requirements of a scenario, and checks for them.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

/// Features that Varve does not have yet, with their descriptions.
const MISSING: [(&str, &str); 1] =
    [("cluster", "several nodes that share the keys, which Varve does not have yet")];
/// Programs that may be required.
const PROGRAMS: [&str; 1] = ["valgrind"];

/// Refuses unknown names.
pub fn known(needs: &[String]) -> Result<()> {
    for need in needs {
        let is_missing = MISSING.iter().any(|(name, _)| name == need);
        if !is_missing && !PROGRAMS.contains(&need.as_str()) {
            bail!("needs {need:?}: nobody knows what that is");
        }
    }
    Ok(())
}

/// Returns the reason why the scenario cannot be run, if there is one.
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
