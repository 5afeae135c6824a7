//! Faults of the disk, for tests of the whole server in builds with assertions.
//!
//! `VARVE_FAULT=die@7` ends the process before its seventh step with files. `fail@7` makes that
//! step fail, `full@7` as if the disk were full: once, or from that step on with `7+`. `wait@7+`
//! makes each step from there on take 50 ms, `slow@7+` a second, as a disk does that takes a MB a
//! second of a snapshot; `stop@7+` has it stand still for as long as there is a file where
//! `VARVE_STOP` says. Steps are counted for the whole process.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Time that a step takes under `wait`.
const WAIT: Duration = Duration::from_millis(50);
/// Time that a step takes under `slow`.
const SLOW: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug)]
enum Kind {
    Die,
    Fail,
    Full,
    Wait,
    Slow,
    Stop,
}

/// What is to happen, and at which step.
#[derive(Clone, Copy, Debug)]
struct Fault {
    kind: Kind,
    step: u64,
    goes_on: bool,
}

/// To be called before each step with files.
///
/// # Errors
/// The one that is asked for.
pub fn step() -> io::Result<()> {
    static FAULT: OnceLock<Option<Fault>> = OnceLock::new();
    static STEPS: AtomicU64 = AtomicU64::new(0);
    let wanted = || parse(&std::env::var("VARVE_FAULT").ok()?);
    let Some(fault) = FAULT.get_or_init(wanted) else { return Ok(()) };
    let step = STEPS.fetch_add(1, Relaxed) + 1;
    if step == fault.step || (fault.goes_on && step > fault.step) {
        return strike(fault.kind);
    }
    Ok(())
}

fn strike(kind: Kind) -> io::Result<()> {
    match kind {
        Kind::Die => std::process::abort(),
        Kind::Fail => Err(io::Error::from_raw_os_error(rustix::io::Errno::IO.raw_os_error())),
        Kind::Full => Err(io::Error::from_raw_os_error(rustix::io::Errno::NOSPC.raw_os_error())),
        Kind::Wait => {
            std::thread::sleep(WAIT);
            Ok(())
        }
        Kind::Slow => {
            std::thread::sleep(SLOW);
            Ok(())
        }
        Kind::Stop => {
            let obstacle = std::env::var_os("VARVE_STOP").map(PathBuf::from);
            while obstacle.as_ref().is_some_and(|path| path.exists()) {
                std::thread::sleep(WAIT);
            }
            Ok(())
        }
    }
}

fn parse(text: &str) -> Option<Fault> {
    let (kind, step) = text.split_once('@')?;
    let kind = match kind {
        "die" => Kind::Die,
        "fail" => Kind::Fail,
        "full" => Kind::Full,
        "wait" => Kind::Wait,
        "slow" => Kind::Slow,
        "stop" => Kind::Stop,
        _ => return None,
    };
    let goes_on = step.ends_with('+');
    let step = step.trim_end_matches('+').parse().ok()?;
    Some(Fault { kind, step, goes_on })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named_with_their_step() {
        let fault = parse("full@12+").expect("a fault");
        assert!(matches!(fault, Fault { kind: Kind::Full, step: 12, goes_on: true }));
        assert!(parse("die@").is_none() && parse("burn@1").is_none() && parse("").is_none());
        assert_eq!(strike(Kind::Full).expect_err("full").kind(), io::ErrorKind::StorageFull);
    }
}
