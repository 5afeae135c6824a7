//! The program `varve-check`: checks, describes and repairs files of data (RDB files, append-only
//! files, manifests), and judges settings.
//!
//! Owner: nobody; it starts, and ends with its task.
//! Not here: what is found in files (`check`), and what a start says of settings (`server`).
//! Start at: `check`.
#![forbid(unsafe_code)]

use check::finding::{FileFinding, Look, State, ask_more, read, read_alone, servers_text};
use check::mend::mend;
use check::place::{FileSet, Place, look};
use check::servers::{Asked, SERVERS, Server, find};
use check::truncate::truncate;
use clap::Parser;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Checks, describes and repairs files of data: RDB files, append-only files, manifests. Judges
/// settings, and the users and files of TLS that they name.
///
/// The exit status is 0 if a server can load all of it, or start with the settings, 1 if something
/// is damaged or would be refused, 2 if there was nothing to check.
///
/// To find keys and members that are there twice it needs memory: of an RDB file 20 to 40 bytes for
/// each key, whatever its size, and 16 to 32 for each member of the largest collection; half as
/// much again for moments in which they grow.
#[derive(Debug, Parser)]
#[command(name = "varve-check", version)]
struct Options {
    /// A file of data, a manifest, a directory of append-only files, a working directory, or a file
    /// of settings, whose name ends with .conf.
    path: PathBuf,
    /// Cuts off a torn end, whose bytes are kept in FILE.cut-off. Streams of an RDB file that say a
    /// wrong number of entries get the right one; the file is kept as FILE.before-fix.
    #[arg(long)]
    fix: bool,
    /// Asks no question; with --fix, also cuts off what is no torn end.
    #[arg(long, requires = "fix")]
    yes: bool,
    /// Cuts the file at this byte, wherever the damage is.
    #[arg(long, requires = "fix", value_name = "OFFSET")]
    cut_at: Option<u64>,
    /// Tells only of this server whether it can read the data, such as valkey-9.1 or redis-7.2.
    #[arg(long, value_name = "SERVER", value_parser = server)]
    reader: Option<&'static Server>,
    /// Databases of the server that is to load the data.
    #[arg(long, default_value_t = 16, value_name = "COUNT")]
    databases: u64,
    /// Number of the largest keys to be named.
    #[arg(long, default_value_t = 10, value_name = "COUNT")]
    largest: usize,
}

impl Options {
    fn look(&self) -> Look {
        let judge_libraries = server::judge_libraries;
        Look { largest: self.largest, databases: self.databases, judge_libraries }
    }
}

fn server(name: &str) -> Result<&'static Server, String> {
    let names: Vec<&str> = SERVERS.iter().map(|server| server.name).collect();
    find(name).ok_or_else(|| format!("known are {}", names.join(", ")))
}

/// How a check ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Whole,
    Damaged,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match check(&options) {
        Ok(End::Whole) => ExitCode::SUCCESS,
        Ok(End::Damaged) => ExitCode::from(1),
        // The reader of the output has closed the pipe, so it has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::from(1),
        Err(error) => {
            eprintln!("varve-check: {error}");
            ExitCode::from(2)
        }
    }
}

fn check(options: &Options) -> io::Result<End> {
    if options.path.extension().is_some_and(|it| it == "conf") {
        return check_settings(options);
    }
    let places = look(&options.path).map_err(io::Error::other)?;
    if options.cut_at.is_some() && !matches!(places[..], [Place::File(_)]) {
        return Err(io::Error::other("--cut-at wants one file"));
    }
    let mut end = End::Whole;
    for place in places {
        let found = match place {
            Place::File(path) => check_file(options, &path)?,
            Place::Set(set) => check_set(options, &set)?,
        };
        if found == End::Damaged {
            end = End::Damaged;
        }
    }
    Ok(end)
}

fn check_settings(options: &Options) -> io::Result<End> {
    if options.fix {
        return Err(io::Error::other("--fix wants a file of data"));
    }
    let path = std::path::absolute(&options.path)?;
    let judged = server::judge(path, families::table());
    let judged = judged.map_err(|error| error.to_string());
    let mut out = io::stdout().lock();
    writeln!(out, "{}: settings", options.path.display())?;
    let (problems, notices) = match judged {
        Ok(judged) => (judged.problems, judged.notices),
        Err(error) => (vec![error], Vec::new()),
    };
    let is_whole = problems.is_empty();
    if is_whole {
        writeln!(out, "  {:<12} a server can start with them", "state")?;
    }
    for problem in problems {
        writeln!(out, "  {:<12} refused: {problem}", "state")?;
    }
    for notice in notices {
        writeln!(out, "  {:<12} {notice}", "note")?;
    }
    Ok(if is_whole { End::Whole } else { End::Damaged })
}

fn named(error: &io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn check_file(options: &Options, path: &Path) -> io::Result<End> {
    let found = read_alone(path, options.look()).map_err(|error| named(&error, path))?;
    let mut out = io::stdout().lock();
    write!(out, "{found}{}", servers_text(&found.asked(), &found.state(), options.reader))?;
    if let Some(offset) = options.cut_at {
        return truncate_and_look(options, &mut out, &found, offset);
    }
    repair(options, &mut out, &found)
}

fn check_set(options: &Options, set: &FileSet) -> io::Result<End> {
    let mut out = io::stdout().lock();
    let (path, count) = (set.manifest.display(), set.to_load.len());
    writeln!(out, "{path}: manifest, {count} files to be loaded")?;
    let mut end = End::Whole;
    for problem in &set.problems {
        writeln!(out, "  {:<12} damaged: {problem}", "state")?;
        end = End::Damaged;
    }
    for note in &set.notes {
        writeln!(out, "  {:<12} {note}", "note")?;
    }
    let mut asked = Asked { manifest: true, ..Asked::default() };
    let (mut last, mut state, mut miscounted) = (None, State::Whole, None);
    for (number, path) in set.to_load.iter().enumerate() {
        let found = check_file_of_set(options, &mut out, path)?;
        ask_more(&mut asked, found.asked());
        if let unmended @ State::Miscounted(_) = found.state() {
            miscounted = Some(unmended);
            continue;
        }
        if number + 1 == count {
            last = Some(found);
            continue;
        }
        match found.state() {
            State::Whole => {}
            refused @ State::Refused(_) => state = refused,
            damaged => {
                if let State::Torn(_) = damaged {
                    writeln!(out, "  {:<12} only the last file of a set may be torn", "")?;
                }
                end = End::Damaged;
            }
        }
    }
    if end == End::Damaged {
        state = State::Lost(String::new());
    }
    if end == End::Damaged && options.fix {
        writeln!(out, "nothing is cut: what follows the damage would follow a hole")?;
    }
    match (miscounted, last) {
        _ if end == End::Damaged => {}
        (Some(unmended), _) => (end, state) = (End::Damaged, unmended),
        (None, None) => {}
        (None, Some(last)) => {
            end = repair(options, &mut out, &last)?;
            if end == End::Damaged {
                state = last.state();
            }
        }
    }
    let servers = servers_text(&asked, &state, options.reader);
    write!(out, "{}:\n{servers}", set.manifest.display())?;
    Ok(if let State::Refused(_) = state { End::Damaged } else { end })
}

/// Tells what a file of a set holds, and has wrong numbers of entries written anew if that is asked
/// for; returns what it holds then.
fn check_file_of_set(
    options: &Options,
    out: &mut impl Write,
    path: &Path,
) -> io::Result<FileFinding> {
    let look = || read(path, options.look()).map_err(|error| named(&error, path));
    let found = look()?;
    write!(out, "{found}")?;
    if !matches!(found.state(), State::Miscounted(_)) {
        return Ok(found);
    }
    repair(options, out, &found)?;
    if options.fix { look() } else { Ok(found) }
}

/// Truncates what is torn, if that is asked for.
fn repair(options: &Options, out: &mut impl Write, found: &FileFinding) -> io::Result<End> {
    let (path, whole, behind) = (&found.path, found.facts.whole, found.facts.bytes_behind());
    match found.state() {
        State::Whole => return Ok(End::Whole),
        State::Refused(_) => return Ok(End::Damaged),
        State::Miscounted(streams) => return mend_and_look(options, out, found, streams.count),
        State::Lost(_) => {
            if options.fix {
                writeln!(out, "this cannot be repaired: take another file, or a backup")?;
            }
            return Ok(End::Damaged);
        }
        State::Torn(_) | State::Damaged(_) if !options.fix => {
            writeln!(out, "to cut {behind} bytes off: varve-check --fix {}", path.display())?;
            return Ok(End::Damaged);
        }
        State::Torn(_) => {
            let question = format!("cut {} at byte {whole}, {behind} bytes?", path.display());
            if !agrees(options, out, &question)? {
                return Ok(End::Damaged);
            }
        }
        State::Damaged(_) if !options.yes => {
            writeln!(
                out,
                "this is no torn end, but maybe somebody's data: {behind} bytes would be lost. To \
                 cut them off all the same: varve-check --fix --yes {}",
                path.display()
            )?;
            return Ok(End::Damaged);
        }
        State::Damaged(_) => {}
    }
    truncate_and_look(options, out, found, whole)
}

fn agrees(options: &Options, out: &mut impl Write, question: &str) -> io::Result<bool> {
    if options.yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() {
        writeln!(out, "nobody can be asked here: add --yes")?;
        return Ok(false);
    }
    write!(out, "{question} [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().eq_ignore_ascii_case("y"))
}

/// Writes the right numbers of entries, if that is asked for.
fn mend_and_look(
    options: &Options,
    out: &mut impl Write,
    found: &FileFinding,
    streams: u64,
) -> io::Result<End> {
    let path = &found.path;
    if !options.fix {
        writeln!(out, "to write the right numbers: varve-check --fix {}", path.display())?;
        return Ok(End::Damaged);
    }
    let question = format!("write {} anew with {streams} numbers?", path.display());
    let Some(facts) = &found.facts.preamble else { return Ok(End::Damaged) };
    if !agrees(options, out, &question)? {
        return Ok(End::Damaged);
    }
    let kept = mend(path, found.stamp, facts).map_err(|error| named(&error, path))?;
    writeln!(out, "{streams} numbers were written; the file of before is {}", kept.display())?;
    print_state(options, out, path)
}

/// Prints the state of a file that was written anew.
fn print_state(options: &Options, out: &mut impl Write, path: &Path) -> io::Result<End> {
    let found = read_alone(path, options.look()).map_err(|error| named(&error, path))?;
    let state = found.state();
    writeln!(out, "{}: {state}", path.display())?;
    Ok(if state == State::Whole { End::Whole } else { End::Damaged })
}

fn truncate_and_look(
    options: &Options,
    out: &mut impl Write,
    found: &FileFinding,
    offset: u64,
) -> io::Result<End> {
    let path = &found.path;
    let kept = truncate(path, found.stamp, offset).map_err(|error| named(&error, path))?;
    writeln!(out, "cut at byte {offset}; what was behind it is in {}", kept.display())?;
    print_state(options, out, path)
}
