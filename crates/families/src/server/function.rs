//! FUNCTION: libraries of files that were loaded.

use command::{Call, Outcome};
use session::{Args, Library, Refusal};

pub(super) fn flush(call: &mut Call<'_>) -> Outcome {
    let args = call.args;
    if args.len() > 3 || (args.len() == 3 && !args.is(2, "SYNC") && !args.is(2, "ASYNC")) {
        return Err(Refusal::of("ERR FUNCTION FLUSH only supports SYNC|ASYNC option").into());
    }
    let libraries = &call.instance.libraries;
    let words: Vec<&[u8]> = args.from(0).collect();
    call.instance.store.act_for_all(call.thread, &words, || libraries.lock().clear());
    call.reply.ok();
    Ok(())
}

/// Options of FUNCTION LIST.
#[derive(Default)]
struct Options<'c> {
    with_code: bool,
    pattern: Option<&'c [u8]>,
}

pub(super) fn list(call: &mut Call<'_>) -> Outcome {
    let options = parse(call.args)?;
    let libraries = call.instance.libraries.lock();
    let is_wanted = |library: &Library<'_>| {
        options.pattern.is_none_or(|pattern| text::glob_match(pattern, library.name, true))
    };
    let libraries: Vec<Library<'_>> = libraries.iter().filter(is_wanted).collect();
    let reply = &mut call.reply;
    reply.array(libraries.len());
    for library in libraries {
        reply.map(if options.with_code { 4 } else { 3 });
        reply.bulk(b"library_name");
        reply.bulk(library.name);
        reply.bulk(b"engine");
        reply.bulk(&library.engine);
        reply.bulk(b"functions");
        reply.array(0);
        if options.with_code {
            reply.bulk(b"library_code");
            reply.bulk(library.code);
        }
    }
    Ok(())
}

fn parse(args: Args<'_>) -> Result<Options<'_>, Refusal> {
    let (mut options, mut at) = (Options::default(), 2);
    while at < args.len() {
        if args.is(at, "WITHCODE") {
            options.with_code = true;
            at += 1;
        } else if args.is(at, "LIBRARYNAME") {
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
