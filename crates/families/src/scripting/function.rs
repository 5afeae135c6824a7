//! FUNCTION: libraries of functions.

use command::{Call, Outcome};
use rdb::{Checks, Flaw};
use session::{Args, Conflict, Libraries, Library, LibraryTable, Refusal};
use std::sync::Arc;

/// FUNCTION LOAD.
pub(super) fn load(call: &mut Call<'_>) -> Outcome {
    let (args, last) = (call.args, call.args.len() - 1);
    for at in 2..last {
        if !args.is(at, "REPLACE") {
            return Err(Refusal::naming("ERR Unknown option given: {}", &[args.get(at)]).into());
        }
    }
    let library = loaded(call, args.get(last))?;
    let name = library.name.clone();
    change(call, |table| table.add(library, last > 2).map_err(|conflict| conflict.refusal()))?;
    call.reply.bulk(&name);
    Ok(())
}

/// FUNCTION DELETE.
pub(super) fn delete(call: &mut Call<'_>) -> Outcome {
    let name = call.args.get(2);
    change(call, |table| {
        if table.remove(name) { Ok(()) } else { Err(Refusal::of("ERR Library not found")) }
    })?;
    call.reply.ok();
    Ok(())
}

/// FUNCTION FLUSH.
pub(super) fn flush(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    if args.len() > 3 {
        return Err(call.wrong_subcommand().into());
    }
    if args.len() == 3 && !args.is(2, "SYNC") && !args.is(2, "ASYNC") {
        return Err(Refusal::of("ERR FUNCTION FLUSH only supports SYNC|ASYNC option").into());
    }
    change(call, |table| {
        *table = LibraryTable::default();
        Ok(())
    })?;
    call.instance.libraries.interpreters.clear();
    call.reply.ok();
    Ok(())
}

/// FUNCTION RESTORE.
pub(super) fn restore(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    if args.len() > 4 {
        return Err(call.wrong_subcommand().into());
    }
    let (flushes, replaces) = (args.is(3, "FLUSH"), args.is(3, "REPLACE"));
    if args.len() == 4 && !(flushes || replaces || args.is(3, "APPEND")) {
        let text = "ERR Wrong restore policy given, value should be either FLUSH, APPEND or \
                    REPLACE.";
        return Err(Refusal::of(text).into());
    }
    // A primary of another make has taken what it sends.
    let checks = Checks { version: !call.is_obeyed(), ..Checks::ALL };
    let codes = rdb::open_libraries(args.get(2), checks).map_err(|error| of_payload(&error))?;
    let mut restored = LibraryTable::default();
    for code in &codes {
        restored.add(loaded(call, code)?, false).map_err(|conflict| conflict.refusal())?;
    }
    change(call, |table| {
        if flushes {
            *table = LibraryTable::default();
        }
        let mut libraries = restored.libraries();
        let added = libraries.try_for_each(|library| table.add(Arc::clone(library), replaces));
        added.map_err(|conflict| of_restored(&conflict))
    })?;
    call.reply.ok();
    Ok(())
}

/// The refusal of a payload with something in the way of a library.
fn of_restored(conflict: &Conflict) -> Refusal {
    match conflict {
        Conflict::Library(name) => Refusal::naming("ERR Library {} already exists", &[name]),
        Conflict::Function(_) => conflict.refusal(),
    }
}

/// FUNCTION DUMP. It has the version that Redis 7 reads.
pub(super) fn dump(call: &mut Call<'_>) -> Outcome {
    let mut payload = rdb::Output::new(true);
    call.instance.libraries.table().libraries().for_each(|library| payload.function(&library.code));
    call.reply.bulk(&rdb::seal_payload(payload.take(), rdb::Version::COMMON));
    Ok(())
}

/// FUNCTION KILL.
pub(super) fn kill(call: &mut Call<'_>) -> Outcome {
    call.instance.scripts.long_runs.kill(true)?;
    call.reply.ok();
    Ok(())
}

/// FUNCTION STATS.
pub(super) fn stats(call: &mut Call<'_>) -> Outcome {
    let instance = call.instance;
    let running = instance.scripts.long_runs.longest();
    if let Some(script) = running.as_ref().filter(|run| run.function.is_none()) {
        return Err(script.busy().into());
    }
    let table = instance.libraries.table();
    let reply = &mut call.reply;
    reply.map(2);
    reply.bulk(b"running_script");
    match running {
        Some(run) => {
            let now = instance.stopwatch.read();
            let nanos = instance.stopwatch.nanos_between(run.began, now);
            reply.map(3);
            reply.bulk(b"name");
            reply.bulk(run.function.as_deref().unwrap_or_default());
            reply.bulk(b"command");
            reply.array(run.words.len());
            run.words.iter().for_each(|word| reply.bulk(word));
            reply.bulk(b"duration_ms");
            reply.integer((nanos / 1_000_000) as i64);
        }
        None => reply.null(),
    }
    reply.bulk(b"engines");
    reply.map(1);
    reply.bulk(b"LUA");
    reply.map(2);
    reply.bulk(b"libraries_count");
    reply.integer(table.libraries().len() as i64);
    reply.bulk(b"functions_count");
    reply.integer(table.functions() as i64);
    Ok(())
}

/// Options of FUNCTION LIST.
#[derive(Default)]
struct Options<'c> {
    with_code: bool,
    pattern: Option<&'c [u8]>,
}

/// FUNCTION LIST.
pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let options = parse(call.args)?;
    let table = call.instance.libraries.table();
    let is_wanted = |library: &&Arc<Library>| {
        options.pattern.is_none_or(|pattern| text::glob_match(pattern, &library.name, true))
    };
    let libraries: Vec<&Arc<Library>> = table.libraries().filter(is_wanted).collect();
    let reply = &mut call.reply;
    reply.array(libraries.len());
    for library in libraries {
        reply.map(if options.with_code { 4 } else { 3 });
        reply.bulk(b"library_name");
        reply.bulk(&library.name);
        reply.bulk(b"engine");
        reply.bulk(b"LUA");
        reply.bulk(b"functions");
        reply.array(library.functions.len());
        for function in &library.functions {
            reply.map(3);
            reply.bulk(b"name");
            reply.bulk(&function.name);
            reply.bulk(b"description");
            match &function.description {
                Some(text) => reply.bulk(text),
                None => reply.null(),
            }
            reply.bulk(b"flags");
            reply.set(function.flags.names().count());
            function.flags.names().for_each(|name| reply.simple(name));
        }
        if options.with_code {
            reply.bulk(b"library_code");
            reply.bulk(&library.code);
        }
    }
    Ok(())
}

fn parse(args: Args<'_>) -> Result<Options<'_>, Refusal> {
    let (mut options, mut at) = (Options::default(), 2);
    while at < args.len() {
        if args.is(at, "WITHCODE") && !options.with_code {
            options.with_code = true;
            at += 1;
        } else if args.is(at, "LIBRARYNAME") && options.pattern.is_none() {
            if at + 1 >= args.len() {
                return Err(Refusal::of("ERR library name argument was not given"));
            }
            options.pattern = Some(args.get(at + 1));
            at += 2;
        } else {
            return Err(Refusal::naming("ERR Unknown argument {}", &[args.get(at)]));
        }
    }
    Ok(options)
}

fn loaded(call: &Call<'_>, code: &[u8]) -> Result<Arc<Library>, Refusal> {
    Libraries::load(&call.instance.settings, &call.instance.stopwatch, code)
}

/// Changes the table of libraries while no function runs. The request is what it means to others.
fn change(
    call: &mut Call<'_>,
    act: impl FnOnce(&mut LibraryTable) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let libraries = &call.instance.libraries;
    let words: Vec<&[u8]> = call.args.from(0).collect();
    call.instance.store.act_for_all(call.thread, &words, || {
        let mut table = LibraryTable::clone(&libraries.table());
        act(&mut table)?;
        libraries.replace(table);
        Ok(())
    })
}

fn of_payload(error: &rdb::Error) -> Refusal {
    Refusal::of(match error.flaw {
        Flaw::UnknownVersion(_) | Flaw::Checksum { .. } => {
            "ERR DUMP payload version or checksum are wrong"
        }
        Flaw::UnknownType(FUNCTION_OF_CANDIDATES) => "ERR Pre-GA function format not supported",
        Flaw::UnknownType(_) => "ERR given type is not a function",
        _ => "ERR Failed loading library payload",
    })
}

/// Mark of libraries in files of release candidates of Redis 7.
const FUNCTION_OF_CANDIDATES: u8 = 246;
