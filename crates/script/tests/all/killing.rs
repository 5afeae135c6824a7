//! Nothing that a script does keeps it from being ended.

use script::Ending;

use crate::host::Server;

/// Runs a script that the host ends at its third poll.
fn end(script: &str) -> (Option<Ending>, String) {
    let mut server = Server::new();
    server.fake.patience = Some(3);
    let (ending, reply) = server.eval_with(script, &[], &[]);
    assert!(server.fake.polls < 50, "{} polls", server.fake.polls);
    // The interpreter is as before.
    server.fake.patience = None;
    assert_eq!(
        server.eval("local n = 0 for i = 1, 100000 do n = n + 1 end return n"),
        b":100000\r\n"
    );
    (ending, String::from_utf8_lossy(&reply).into_owned())
}

fn assert_ended(script: &str) {
    let (ending, reply) = end(script);
    assert_eq!(ending, Some(Ending::Failed { is_counted: false }));
    assert!(
        reply.starts_with("-ERR Script killed by user with SCRIPT KILL. script: on "),
        "{reply}"
    );
}

#[test]
fn killing_ends_a_loop_and_names_its_line() {
    let (_, reply) = end("local x = 1\nwhile true do end");
    assert_eq!(
        reply,
        "-ERR Script killed by user with SCRIPT KILL. script: on @user_script:2.\r\n"
    );
}

#[test]
fn killing_ends_a_loop_that_catches_everything() {
    assert_ended("while true do pcall(function() while true do end end) end");
    assert_ended("local function f() while true do pcall(f) end end f()");
}

#[test]
fn killing_ends_a_loop_whose_error_function_loops() {
    assert_ended("xpcall(function() while true do end end, function() while true do end end)");
    assert_ended(
        "local function loop() while true do end end while true do xpcall(loop, loop) end",
    );
}

#[test]
fn killing_ends_coroutines_within_coroutines() {
    assert_ended(
        "local function loop() while true do end end \
         local function outer() pcall(coroutine.wrap(loop)) while true do end end \
         while true do pcall(coroutine.wrap(outer)) end",
    );
    assert_ended(
        "local function loop() while true do end end \
         while true do coroutine.resume(coroutine.create(loop)) end",
    );
}

#[test]
fn killing_ends_a_coroutine_that_yields_for_ever() {
    assert_ended(
        "local c = coroutine.wrap(function() while true do coroutine.yield() end end) \
         while true do c() end",
    );
}

#[test]
fn killing_ends_what_reads_a_chunk_or_compares_or_replaces() {
    assert_ended("while true do load(function() while true do end end) end");
    assert_ended("table.sort({3, 2, 1}, function() while true do end end)");
    assert_ended(
        "while true do pcall(string.gsub, 'x', 'x', function() while true do end end) end",
    );
}

#[test]
fn killing_ends_what_metatables_run() {
    assert_ended("return setmetatable({}, {__index = function() while true do end end}).x");
    assert_ended(
        "return tostring(setmetatable({}, {__tostring = function() while true do end end}))",
    );
    assert_ended("return setmetatable({}, {__concat = function() while true do end end}) .. ''");
}

#[test]
fn killing_ends_codecs() {
    assert_ended(
        "cjson.encode_sparse_array(false, 0) return cjson.encode({[1] = 1, [2147483647] = 1})",
    );
    assert_ended("local t = {} for i = 1, 7000 do t[i] = i end while true do cmsgpack.pack(t) end");
    assert_ended("local s = '[' .. ('1,'):rep(1e5) .. '1]' while true do cjson.decode(s) end");
}

#[test]
fn a_host_that_does_not_end_a_script_is_polled_on() {
    let mut server = Server::new();
    server.eval("for i = 1, 1000000 do end");
    assert!(server.fake.polls > 50, "{} polls", server.fake.polls);
}

#[test]
fn the_host_is_polled_behind_each_command_that_takes_long() {
    assert_ended("for i = 1, 10 do redis.call('slow') end");
    assert_ended("for i = 1, 10 do pcall(redis.pcall, 'slow') end");
}
