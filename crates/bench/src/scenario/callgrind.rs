//! Servers under callgrind, whose counts by function are read from time to time.

use std::cmp::max;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::{array, fs, mem};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::servers::{Launch, Program, Server};

/// Instructions, and misses of data in the first and in the last level of the cache; both are zero
/// if no cache is simulated.
pub type Events = [u64; 3];

/// Events by function.
pub type Counts = BTreeMap<String, Events>;

/// Adds up events.
pub fn sum<'a>(all: impl IntoIterator<Item = &'a Events>) -> Events {
    all.into_iter().fold([0; 3], |sum, events| array::from_fn(|at| sum[at] + events[at]))
}

/// Server under callgrind.
pub struct Profiled {
    /// The server.
    pub server: Server,
    /// Folder with one file for each thread and reading; removed in any case.
    folder: TempDir,
    readings: u64,
}

impl Profiled {
    /// Starts a program that is not counted yet, with a simulated last-level cache of so many
    /// bytes; `None` if the profiler cannot reach it.
    pub fn start(
        program: &Program,
        launch: &Launch,
        last_level: Option<u64>,
    ) -> Result<Option<Self>> {
        let folder = tempfile::Builder::new().prefix("varve-bench-callgrind-").tempdir()?;
        let out = format!("--callgrind-out-file={}/%p", folder.path().display());
        let caches = last_level.map(|bytes| format!("{CACHES}{bytes},16,64"));
        let words = OPTIONS.split(' ').chain(caches.iter().flat_map(|it| it.split(' ')));
        let words: Vec<_> = words.chain([out.as_str()]).map(str::to_owned).collect();
        let Some(program) = program.profiled(&words) else { return Ok(None) };
        Ok(Some(Self { server: program.start(launch)?, folder, readings: 0 }))
    }

    /// Begins to count.
    pub fn count(&self) -> Result<()> {
        self.run_vgdb(&["instrumentation", "on"])
    }

    /// Returns the counts of each thread since the last call or the beginning.
    pub fn counts(&mut self) -> Result<Vec<Counts>> {
        self.run_vgdb(&["dump"])?;
        self.readings += 1;
        let begin = format!("{}.{}-", self.server.pid, self.readings);
        let mut threads = Vec::new();
        for entry in fs::read_dir(self.folder.path())? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(&begin) {
                threads.push(parse(&fs::read_to_string(entry.path())?)?);
            }
        }
        ensure!(!threads.is_empty(), "callgrind wrote no file {begin}*");
        Ok(threads)
    }

    fn run_vgdb(&self, command: &[&str]) -> Result<()> {
        let status = Command::new("vgdb")
            .arg(format!("--pid={}", self.server.pid))
            .args(command)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .context("vgdb (package valgrind) cannot be started")?;
        ensure!(status.success(), "vgdb does not reach {}: {status}", self.server.label);
        Ok(())
    }
}

/// Reads callgrind's file, in which names and places are not compressed: below each `fn=` its own
/// cost, and behind each `calls=` what a called function and those below it cost.
fn parse(text: &str) -> Result<Counts> {
    let mut names = Vec::new();
    let (mut object, mut function) = ("", String::new());
    let (mut called_object, mut called) = (None, None);
    let (mut costs, mut totals) = (Counts::new(), None);
    // The caller that costs most, of each function.
    let mut callers = BTreeMap::<String, (Events, String)>::new();
    for line in text.lines() {
        match line.split_once(['=', ' ']).unwrap_or_default() {
            ("events:", all) => names = all.split(' ').collect(),
            ("totals:", all) => totals = Some(events(&names, all)?),
            ("ob", path) => object = path,
            ("fn", name) => function = named(object, name),
            ("cob", path) => called_object = Some(path),
            ("cfn", name) => called = Some(named(called_object.take().unwrap_or(object), name)),
            (place, numbers) if place.parse::<u32>().is_ok() => {
                let cost = events(&names, numbers)?;
                if let Some(called) = called.take() {
                    let caller = callers.entry(called).or_default();
                    *caller = max(mem::take(caller), (cost, function.clone()));
                } else {
                    add(&mut costs, &function, &cost);
                }
            }
            _ => {}
        }
    }
    let totals = totals.context("callgrind's file has no totals")?;
    ensure!(totals == sum(costs.values()), "callgrind's functions are not all there is");
    let mut counts = Counts::new();
    for (function, cost) in &costs {
        let caller = callers.get(function).map(|(_, caller)| caller.as_str());
        add(&mut counts, &label(function, caller), cost);
    }
    Ok(counts)
}

/// Adds events of a function.
fn add(counts: &mut Counts, function: &str, cost: &Events) {
    let before = counts.entry(function.to_owned()).or_default();
    *before = sum([&*before, cost]);
}

/// Reads the numbers that belong to callgrind's names; those at the end may be absent.
fn events(names: &[&str], numbers: &str) -> Result<Events> {
    let mut events = [0; 3];
    for (name, number) in names.iter().zip(numbers.split_whitespace()) {
        let at = match *name {
            "Ir" => 0,
            "D1mr" | "D1mw" => 1,
            "DLmr" | "DLmw" => 2,
            _ => continue,
        };
        events[at] += number.parse::<u64>()?;
    }
    Ok(events)
}

/// Returns the name of a function; one without a symbol is an address in a file.
fn named(object: &str, name: &str) -> String {
    let file = object.rsplit('/').next().unwrap_or_default();
    if name.starts_with("0x") { format!("{name} {file}") } else { name.to_owned() }
}

/// Returns the name, or the caller's beside the file's for a function without a symbol.
fn label(function: &str, caller: Option<&str>) -> String {
    let is_address = |name: &&str| name.starts_with("0x");
    let Some((_, file)) = Some(function).filter(is_address).and_then(|it| it.split_once(' '))
    else {
        return function.to_owned();
    };
    match caller.filter(|caller| !is_address(caller)) {
        Some(caller) => format!("{caller} > {file}"),
        None => format!("{file} (no symbols)"),
    }
}

const OPTIONS: &str = "valgrind --tool=callgrind --trace-children=yes --vgdb=yes \
    --instr-atstart=no --separate-threads=yes --dump-line=no --compress-strings=no \
    --compress-pos=no";
const CACHES: &str = "--cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 --LL=";

#[cfg(test)]
mod tests {
    use super::parse;

    const FILE: &str = "\
        events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\n\n\
        ob=/usr/bin/server\nfn=find\n0 5 0 0 1 2 3 1 4 5\n\
        cob=/lib/libc.so.6\ncfn=0x10\ncalls=2 0\n0 9 0 0 0 2 0 0 2\n0 1\n\n\
        fn=0x20\n0 4\n\n\
        ob=/lib/libc.so.6\nfn=0x10\n0 7 0 0 0 2 0 0 2\ncfn=memcpy\ncalls=1 0\n0 2\n\n\
        fn=memcpy\n0 2\n\n\
        totals: 19 0 0 1 4 3 1 6 5\n";

    #[test]
    fn own_costs_are_counted_by_function_and_callees_without_symbols_by_their_caller() {
        let counts = parse(FILE).unwrap();
        let expected = [
            ("find", [6, 5, 9]),
            ("find > libc.so.6", [7, 2, 2]),
            ("memcpy", [2, 0, 0]),
            ("server (no symbols)", [4, 0, 0]),
        ];
        assert!(counts.into_iter().eq(expected.map(|(name, events)| (name.to_owned(), events))));
    }

    #[test]
    fn a_truncated_file_or_one_that_is_not_understood_is_refused() {
        let (truncated, _) = FILE.split_once("totals").unwrap();
        for refused in ["", truncated, &FILE.replace("fn=memcpy\n0 2", "fn=memcpy\n0 3")] {
            assert!(parse(refused).is_err(), "{refused}");
        }
    }
}
