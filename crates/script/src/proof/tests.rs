//! Sources whose call sites can be told, and sources whose cannot.

use super::{CallSite, Word};
use crate::{Interpreter, Options};

/// Returns the call sites of a source, each as its words: `K` for a key, `A0` for an argument, `?`
/// for what is not known, and `...` behind the word that may be there many times.
fn sites(source: &str, options: &Options) -> Option<Vec<String>> {
    let mut lua = Interpreter::new(options).expect("there is memory");
    let function = lua.compile(source.as_bytes()).expect("it is Lua");
    let sites = lua.call_sites(&function)?;
    Some(sites.iter().map(text_of).collect())
}

fn text_of(site: &CallSite) -> String {
    let mut words: Vec<String> = site.words.iter().map(word).collect();
    words.extend(site.rest.as_ref().map(|rest| word(rest) + "..."));
    words.join(" ")
}

fn word(word: &Word) -> String {
    match word {
        Word::Literal(text) => String::from_utf8_lossy(text).into_owned(),
        Word::Key => "K".to_string(),
        Word::Argument(place) => format!("A{place}"),
        Word::Other => "?".to_string(),
    }
}

#[track_caller]
fn proven(source: &str, expected: &[&str]) {
    let expected: Vec<String> = expected.iter().map(ToString::to_string).collect();
    assert_eq!(sites(source, &Options::default()), Some(expected), "{source}");
}

#[track_caller]
fn library(source: &str, expected: Option<&[&str]>) {
    let options = Options { for_libraries: true, ..Options::default() };
    let expected = expected.map(|it| it.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(sites(source, &options), expected, "{source}");
}

#[track_caller]
fn not_proven(source: &str) {
    assert_eq!(sites(source, &Options::default()), None, "{source}");
}

#[test]
fn keys_are_known_wherever_they_are_put() {
    proven("return redis.call('get', KEYS[1])", &["get K"]);
    proven("return server.pcall('set', KEYS[1], ARGV[1], 'ex', 10)", &["set K A0 ex 10"]);
    proven("local k = KEYS[tonumber(ARGV[1])] redis.call('get', k) k = k .. 'x'", &["get K"]);
    proven(
        "local k if ARGV[1] then k = KEYS[1] else k = KEYS[2] end redis.call('get', k)",
        &["get K"],
    );
    proven("redis.call('get', KEYS[2] or KEYS[1])", &["get K"]);
    proven("redis.call('get', KEYS[1] .. 'x')", &["get ?"]);
    proven("local k = KEYS[1] if ARGV[1] then k = 'x' end redis.call('get', k)", &["get ?"]);
}

#[test]
fn keys_are_known_in_loops_and_unpacked() {
    proven("for i = 1, #KEYS do redis.call('incr', KEYS[i]) end", &["incr K"]);
    proven("for _, k in ipairs(KEYS) do redis.call('incr', k) end", &["incr K"]);
    proven("for i, k in pairs(KEYS) do redis.call('set', k, i) end", &["set K ?"]);
    proven("for k in pairs(KEYS) do redis.call('incr', k) end", &["incr ?"]);
    proven("for _, a in ipairs(ARGV) do redis.call('sadd', KEYS[1], a) end", &["sadd K ?"]);
    proven("return redis.call('del', unpack(KEYS))", &["del K..."]);
    proven("return redis.call('del', KEYS[1], unpack(ARGV))", &["del K ?..."]);
    proven("return redis.call('mset', unpack(KEYS), 'x')", &["mset K x"]);
    proven("local k = KEYS[1] while redis.call('get', k) do k = KEYS[2] end", &["get K"]);
    proven("local k = KEYS[1] while redis.call('get', k) do k = k .. 'x' end", &["get ?"]);
}

#[test]
fn what_calls_is_followed_through_locals_and_closures() {
    proven("local call = redis.call call('get', KEYS[1])", &["get K"]);
    proven("local r = redis local f = r.pcall return f('get', KEYS[1])", &["get K"]);
    proven(
        "local call, key = redis.call, KEYS[1] \
         local function get(field) return call('hget', key, field) end \
         return get('a') or get(ARGV[1])",
        &["hget K ?"],
    );
    proven(
        "local call = redis.call \
         local function outer() local function inner() return call('get', KEYS[1]) end \
         return inner() end return outer()",
        &["get K"],
    );
    proven("return pcall(redis.call, 'get', KEYS[1])", &["get K"]);
    proven("return pcall(function() return redis.call('get', KEYS[1]) end)", &["get K"]);
    proven(
        "local function f(n) if n > 0 then redis.call('incr', KEYS[1]) f(n - 1) end end f(3)",
        &["incr K"],
    );
    proven("local function f(key) redis.call('get', key) end f(KEYS[1])", &["get ?"]);
}

#[test]
fn a_variable_that_closures_share_is_not_known() {
    proven("local k = KEYS[1] local function f() k = 'x' end f() redis.call('get', k)", &["get ?"]);
    proven("local k = KEYS[1] local function f() redis.call('get', k) end k = 'x' f()", &["get ?"]);
    proven(
        "local k = KEYS[1] local function f() return function() k = 'x' end end \
         f()() redis.call('get', k)",
        &["get ?"],
    );
    not_proven("local c = redis.call local function f() c = print end f() c('get', KEYS[1])");
    not_proven("local c local function f() c = redis.call end f() c('get', KEYS[1])");
    not_proven("local c = tostring local function f() c('x', 'y') end c = redis.call f()");
    not_proven("local f local function g() f('get', 'x') end f = redis.call g()");
}

#[test]
fn names_may_be_arguments_that_nobody_changes() {
    proven("redis.call(ARGV[2], KEYS[1], ARGV[1])", &["A1 K A0"]);
    proven("cjson.encode(ARGV) redis.call(ARGV[1], KEYS[1])", &["A0 K"]);
    not_proven("ARGV[1] = 'get' redis.call(ARGV[1], KEYS[1])");
    not_proven("table.insert(ARGV, 1, 'x') redis.call(ARGV[1], KEYS[1])");
    not_proven("local f, a = pairs(ARGV) a[1] = 'get' redis.call(ARGV[1], KEYS[1])");
    not_proven("local t = {ARGV} t[1][1] = 'get' redis.call(ARGV[1], KEYS[1])");
    proven("ARGV[1] = 'x' redis.call('set', KEYS[1], ARGV[1])", &["set K A0"]);
    not_proven("redis.call(ARGV[tonumber(ARGV[1])], KEYS[1])");
    not_proven("redis.call(KEYS[1])");
    not_proven("redis.call(unpack(ARGV))");
    not_proven("redis.call('g' .. 'et', KEYS[1])");
}

#[test]
fn what_leads_to_commands_must_not_get_out_of_sight() {
    for source in [
        "local t = {redis.call} t[1]('get', 'x')",
        "local t = {} t.f = redis.call t.f('get', 'x')",
        "local t = {r = redis} t.r.call('get', 'x')",
        "local function f(c) c('get', 'x') end f(redis.call)",
        "local function f() return redis.call end f()('get', 'x')",
        "local name = 'ca' .. 'll' redis[name]('get', 'x')",
        "return load(\"redis.call('get', 'x')\")()",
        "return loadstring(\"redis.call('get', 'x')\")()",
        "return _G.redis.call('get', 'x')",
        "return getfenv().redis",
        "setfenv(1, {})",
        "coroutine.wrap(redis.call)('get', 'x')",
        "return pcall(pcall, redis.call, 'get', 'x')",
        "string.gsub('x', 'x', redis.call)",
        "setmetatable({}, {__index = redis})",
        "for x in redis.call do end",
        "local c = redis.call local d = ARGV[1] and c or tostring d('get', KEYS[1])",
        "redis:call('get')",
    ] {
        not_proven(source);
    }
}

#[test]
fn keys_must_stay_what_they_are() {
    for source in [
        "KEYS[1] = 'x' redis.call('get', KEYS[1])",
        "local k = KEYS k[1] = 'x' redis.call('get', KEYS[1])",
        "rawset(KEYS, 1, 'x') redis.call('get', KEYS[1])",
        "table.insert(KEYS, 'x')",
        "table.sort(KEYS, function(a, b) return a < b end)",
        "setmetatable(KEYS, {__index = function() return 'x' end})",
        "local f, k = ipairs(KEYS) local t = {k} t[1][1] = 'x'",
        "local function f(t) t[1] = 'x' end f(KEYS)",
        "local function f() return KEYS end f()[1] = 'x'",
        "for _, k in next, KEYS do redis.call('get', k) end",
    ] {
        not_proven(source);
    }
    proven("return {#KEYS, type(KEYS), table.concat(KEYS, ' '), KEYS[1]}", &[]);
    proven(
        "local f, k, c = ipairs(KEYS) for _, x in f, {'x'}, 0 do redis.call('get', x) end",
        &["get ?"],
    );
    proven("return KEYS", &[]);
}

#[test]
fn functions_of_a_library_get_their_keys_as_an_argument() {
    let body = "function(keys, args) return redis.call('set', keys[1], args[1]) end";
    library(&format!("redis.register_function('f', {body})"), Some(&["set K A0"]));
    library(&format!("local f = {body} redis.register_function('f', f)"), Some(&["set K A0"]));
    library(
        &format!(
            "redis.register_function{{function_name = 'f', flags = {{'no-writes'}}, \
             callback = {body}}}"
        ),
        Some(&["set K A0"]),
    );
    // It may be called with other keys.
    library(
        &format!("local f = {body} redis.register_function('f', f) f({{'x'}}, {{'y'}})"),
        Some(&["set ? ?"]),
    );
    library(
        &format!(
            "local f = {body} redis.register_function('f', f) \
             redis.register_function('g', function(keys) f({{'x'}}) end)"
        ),
        Some(&["set ? ?"]),
    );
    library(
        "redis.register_function('f', function(keys) keys[1] = 'x' redis.call('get', keys[1]) end)",
        None,
    );
    library("local r = redis.register_function local t = {r}", None);
    library(
        "local call = redis.call local function get(k) return call('get', k) end \
         redis.register_function('f', function(keys) return call('incr', keys[1]) end)",
        Some(&["incr K", "get ?"]),
    );
}

#[test]
fn code_that_is_not_whole_is_not_proven() {
    let mut lua = Interpreter::new(&Options::default()).expect("there is memory");
    let source = b"local a, b = redis.call, {1, 2, f = function(...) return a, ... end} \
                   for i = 1, 3 do a('get', KEYS[i] or b.f(unpack(KEYS))) end return #b";
    let function = lua.compile(source).expect("it is Lua");
    let whole = lua.dump(&function).expect("it is a function of Lua");
    assert!(super::call_sites(&whole, super::Source::Script).is_some());
    for length in 0..whole.len() {
        assert!(super::call_sites(&whole[..length], super::Source::Script).is_none());
    }
    // Whatever is found in code that was changed: nothing of it may be taken for a place.
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            let _ = super::call_sites(&changed, super::Source::Script);
            let _ = super::call_sites(&changed, super::Source::Library);
        }
    }
}

#[test]
fn a_loop_without_an_end_is_walked_once() {
    proven("while true do redis.call('rpush', KEYS[1], 1) end", &["rpush K 1"]);
    proven("while true do end", &[]);
    proven("repeat redis.call('get', KEYS[1]) until false", &["get K"]);
}

#[test]
fn many_registers_at_many_branches_are_too_much_for_a_proof() {
    let locals: Vec<_> = (0..190).map(|at| format!("a{at}")).collect();
    let moves: Vec<_> = (1..190).rev().map(|at| format!("a{at}=a{}", at - 1)).collect();
    let branches = "if ARGV[1] then a1=a2 end ".repeat(3000);
    let source = format!(
        "local {} local x=0 while x<1 do x=x+1 {branches} {} a0=KEYS[1] {branches} end return 1",
        locals.join(","),
        moves.join(" ")
    );
    not_proven(&source);
}
