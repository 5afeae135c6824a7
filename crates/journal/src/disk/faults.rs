//! Faults of the disk, for tests of the whole server in builds with assertions.
//!
//! `VARVE_FAULT=die@7` ends the process before its seventh step with files. `fail@7` makes that
//! step fail, `full@7` as if the disk were full: once, or from that step on with `7+`. `wait@7+`
//! makes each step from there on take 50 ms, `slow@7+` a second, as a disk does that takes a MB a
//! second of a snapshot; `stop@7+` has it stand still. Steps are counted for the whole process;
//! with `fail@rename:7`, or `full@create,append:7+`, only those of these kinds are. Where
//! `VARVE_STOP` names a file, nothing of this happens while that is not there, nor is it counted.

use super::step::Step;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Time that a step takes under `wait`.
const WAIT: Duration = Duration::from_millis(50);
/// Time that a step takes under `slow`.
const SLOW: Duration = Duration::from_secs(1);

/// Names of steps.
const STEPS: [(Step, &str); 8] = [
    (Step::Create, "create"),
    (Step::Rename, "rename"),
    (Step::Remove, "remove"),
    (Step::SyncNames, "sync-names"),
    (Step::Append, "append"),
    (Step::Pad, "pad"),
    (Step::Sync, "sync"),
    (Step::Truncate, "truncate"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Die,
    Fail,
    Full,
    Wait,
    Slow,
    Stop,
}

/// What is to happen, and at which step.
#[derive(Clone, Debug)]
struct Fault {
    kind: Kind,
    /// The steps that count; all of them if there are none.
    steps: Vec<Step>,
    step: u64,
    goes_on: bool,
}

/// To be called before each step with files.
///
/// # Errors
/// The one that is asked for.
pub fn about_to(step: Step) -> io::Result<()> {
    static FAULT: OnceLock<Option<Fault>> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let wanted = || parse(&std::env::var("VARVE_FAULT").ok()?);
    let Some(fault) = FAULT.get_or_init(wanted) else { return Ok(()) };
    if !(fault.steps.is_empty() || fault.steps.contains(&step)) || !is_asked_for() {
        return Ok(());
    }
    let step = COUNT.fetch_add(1, Relaxed) + 1;
    let is_met = step == fault.step || (fault.goes_on && step > fault.step);
    if is_met { strike(fault.kind) } else { Ok(()) }
}

/// False while the file is missing that `VARVE_STOP` names.
fn is_asked_for() -> bool {
    std::env::var_os("VARVE_STOP").map(PathBuf::from).is_none_or(|path| path.exists())
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
            while is_asked_for() {
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
    let (steps, step) = step.split_once(':').unwrap_or(("", step));
    let named = |name: &str| STEPS.iter().find(|(_, it)| *it == name).map(|(step, _)| *step);
    let steps = steps.split(',').filter(|name| !name.is_empty()).map(named);
    let goes_on = step.ends_with('+');
    let step = step.trim_end_matches('+').parse().ok()?;
    Some(Fault { kind, steps: steps.collect::<Option<_>>()?, step, goes_on })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named_with_their_step() {
        let fault = parse("full@12+").expect("a fault");
        assert_eq!((fault.kind, fault.step, fault.goes_on), (Kind::Full, 12, true));
        let fault = parse("fail@rename,sync-names:3").expect("a fault");
        assert_eq!(fault.steps, [Step::Rename, Step::SyncNames]);
        assert!(parse("fail@renames:3").is_none());
        assert!(parse("die@").is_none() && parse("burn@1").is_none() && parse("").is_none());
        assert_eq!(strike(Kind::Full).expect_err("full").kind(), io::ErrorKind::StorageFull);
    }
}
