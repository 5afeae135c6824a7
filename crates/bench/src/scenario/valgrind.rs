//! Servers under callgrind, whose counts by function are read from time to time.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::servers::{Launch, Program, Server};

/// Instructions, and the misses of data in the first and in the last level of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Events {
    /// Instructions.
    pub instructions: u64,
    /// Misses of the first level; zero if no cache is simulated, as those of the last.
    pub first: u64,
    /// Misses of the last level.
    pub last: u64,
}

/// Counts by function.
pub type Counts = BTreeMap<String, Events>;

/// Server under callgrind.
pub struct Profiled {
    /// The server.
    pub server: Server,
    /// Folder with one file for each thread and reading; removed in any case.
    folder: TempDir,
    readings: u64,
}

impl Events {
    /// Adds other counts.
    pub fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.first += other.first;
        self.last += other.last;
    }

    /// Returns the counts of all functions.
    pub fn sum<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        all.into_iter().for_each(|events| sum.add(events));
        sum
    }

    /// Reads the numbers that belong to callgrind's names; those at the end may be absent.
    fn parse(names: &[&str], numbers: &str) -> Result<Self> {
        let mut events = Self::default();
        for (name, number) in names.iter().zip(numbers.split_whitespace()) {
            let number: u64 = number.parse()?;
            match *name {
                "Ir" => events.instructions += number,
                "D1mr" | "D1mw" => events.first += number,
                "DLmr" | "DLmw" => events.last += number,
                _ => {}
            }
        }
        Ok(events)
    }
}

impl Profiled {
    /// Starts a program that is not counted yet, with further options of callgrind; `None` if the
    /// profiler cannot reach it.
    pub fn start(program: &Program, options: &[String]) -> Result<Option<Self>> {
        let folder = tempfile::Builder::new().prefix("varve-bench-callgrind-").tempdir()?;
        let words = format!(
            "valgrind --tool=callgrind --trace-children=yes --vgdb=yes --instr-atstart=no \
             --separate-threads=yes --dump-line=no --compress-strings=no --compress-pos=no \
             --callgrind-out-file={}/%p",
            folder.path().display()
        );
        let words = words.split(' ').map(str::to_owned).chain(options.iter().cloned());
        let Some(program) = program.profiled(&words.collect::<Vec<_>>()) else { return Ok(None) };
        Ok(Some(Self { server: program.start(&Launch::default())?, folder, readings: 0 }))
    }

    /// Begins to count.
    pub fn count(&self) -> Result<()> {
        self.tell(&["instrumentation", "on"])
    }

    /// Returns the counts of each thread since the last call or the beginning.
    pub fn counts(&mut self) -> Result<Vec<Counts>> {
        self.tell(&["dump"])?;
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

    fn tell(&self, command: &[&str]) -> Result<()> {
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
    let (mut object, mut function) = (String::new(), Function::default());
    let (mut called_object, mut called) = (None, None);
    let mut costs = BTreeMap::<Function, Events>::new();
    let mut callers = BTreeMap::<Function, BTreeMap<Function, Events>>::new();
    let mut totals = None;
    for line in text.lines() {
        match line.split_once(['=', ' ']).unwrap_or_default() {
            ("events:", all) => names = all.split(' ').collect(),
            ("totals:", all) => totals = Some(Events::parse(&names, all)?),
            ("ob", path) => object = file_name(path),
            ("fn", name) => function = Function::new(&object, name),
            ("cob", path) => called_object = Some(file_name(path)),
            ("cfn", name) => {
                called = Some(Function::new(&called_object.take().unwrap_or(object.clone()), name));
            }
            (line, numbers) if line.starts_with(|first: char| first.is_ascii_digit()) => {
                let events = Events::parse(&names, numbers)?;
                let cost = match called.take() {
                    Some(called) => callers.entry(called).or_default().entry(function.clone()),
                    None => costs.entry(function.clone()),
                };
                cost.or_default().add(&events);
            }
            _ => {}
        }
    }
    let totals = totals.context("callgrind's file has no totals")?;
    ensure!(totals == Events::sum(costs.values()), "callgrind's functions are not all there is");
    let mut counts = Counts::new();
    for (function, events) in &costs {
        counts.entry(function.label(callers.get(function))).or_default().add(events);
    }
    Ok(counts)
}

/// Name of a function, and of the file that holds it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Function {
    name: String,
    object: String,
}

impl Function {
    fn new(object: &str, name: &str) -> Self {
        Self { name: name.to_owned(), object: object.to_owned() }
    }

    /// Returns the name. A function without a symbol is named by its library, and by its caller if
    /// that has a name.
    fn label(&self, callers: Option<&BTreeMap<Self, Events>>) -> String {
        if !self.name.starts_with("0x") {
            return self.name.clone();
        }
        let by_cost = |(_, events): &(&Self, &Events)| Reverse((events.last, events.instructions));
        match callers.and_then(|callers| callers.iter().min_by_key(by_cost)) {
            Some((caller, _)) if !caller.name.starts_with("0x") => {
                format!("{} > {}", caller.name, self.object)
            }
            _ => format!("{} (no symbols)", self.object),
        }
    }
}

fn file_name(path: &str) -> String {
    Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Events, parse};

    const FILE: &str = "\
        events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\n\n\
        ob=/usr/bin/server\nfn=find\n0 5 0 0 1 2 3 1 4 5\n\
        cob=/lib/libc.so.6\ncfn=0x10\ncalls=2 0\n0 9 0 0 0 2 0 0 2\n0 1\n\n\
        fn=0x20\n0 4\n\n\
        ob=/lib/libc.so.6\nfn=0x10\n0 7 0 0 0 2 0 0 2\ncfn=memcpy\ncalls=1 0\n0 2\n\n\
        fn=memcpy\n0 2\n\n\
        totals: 19 0 0 1 4 3 1 6 5\n";

    #[test]
    fn own_costs_are_told_by_function_and_callees_without_symbols_by_their_caller() {
        let counts = parse(FILE).unwrap();
        let of = |name: &str, instructions, first, last| {
            assert_eq!(counts[name], Events { instructions, first, last }, "{name}");
        };
        of("find", 6, 5, 9);
        of("find > libc.so.6", 7, 2, 2);
        of("server (no symbols)", 4, 0, 0);
        of("memcpy", 2, 0, 0);
        assert_eq!(counts.len(), 4);
    }

    #[test]
    fn a_file_that_is_cut_off_or_not_understood_is_refused() {
        let (cut, _) = FILE.split_once("totals").unwrap();
        let other = FILE.replace("fn=memcpy\n0 2", "fn=memcpy\n0 3");
        for refused in ["", cut, &other] {
            assert!(parse(refused).is_err(), "{refused}");
        }
    }
}
