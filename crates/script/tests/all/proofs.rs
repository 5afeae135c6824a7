//! What is proven of a script holds while it runs: it calls commands at its call sites alone.

use script::proof::CallSite;
use script::{Call, Host, Input, Interpreter, LogLevel, Options, Protocol, Replication, Verdict};

/// A host that holds each call against what was proven.
struct Watching<'w> {
    source: &'w str,
    sites: &'w [CallSite],
    keys: &'w [&'w [u8]],
    arguments: &'w [&'w [u8]],
    polls: u32,
}

impl Host for Watching<'_> {
    fn call(&mut self, call: &Call<'_>, reply: &mut Vec<u8>) -> u32 {
        let is_there = |site: &CallSite| site.allows(call.arguments, self.keys, self.arguments);
        assert!(self.sites.iter().any(is_there), "{}: {:?}", self.source, call.arguments);
        reply.extend_from_slice(b"$1\r\nr\r\n");
        0
    }

    fn poll(&mut self) -> Verdict {
        self.polls += 1;
        if self.polls > 100 { Verdict::End("end") } else { Verdict::Continue }
    }

    fn log(&mut self, _: LogLevel, _: &[u8]) {}

    fn replicate(&mut self, _: Replication) {}

    fn may_call(&mut self, _: &[&[u8]]) -> Option<bool> {
        None
    }
}

/// Keys and arguments of some runs, one after the other.
type Words = [&'static [u8]];
const RUNS: [(&Words, &Words); 4] = [
    (&[b"k1", b"k2"], &[b"get", b"a2", b"2"]),
    (&[b"q1"], &[b"set", b"1"]),
    (&[], &[]),
    (&[b"z1", b"z2", b"z3"], &[b"del", b"b", b"c"]),
];

/// Runs a source if it is proven; returns whether it is.
fn watch(source: &str, for_libraries: bool) -> bool {
    let options = Options { for_libraries, ..Options::default() };
    let mut lua = Interpreter::new(&options).expect("there is memory");
    let compiled = lua.compile(source.as_bytes()).expect("it is Lua");
    let Some(sites) = lua.call_sites(&compiled) else { return false };
    let host = |keys, arguments| Watching { source, sites: &sites, keys, arguments, polls: 0 };
    let functions = if for_libraries {
        let loaded = lua.load(source.as_bytes(), &mut host(&[], &[])).unwrap_or_default();
        loaded.into_iter().map(|it| it.function).collect()
    } else {
        vec![compiled]
    };
    for (keys, arguments) in RUNS {
        for function in &functions {
            let input = Input { keys, arguments, protocol: Protocol::Resp2 };
            lua.run(function, input, &mut host(keys, arguments), &mut Vec::new());
        }
    }
    true
}

#[test]
fn metamethods_get_what_operators_are_given() {
    for source in METAMETHODS {
        watch(source, false);
    }
}

#[test]
fn functions_and_tables_of_a_library_live_on() {
    for source in LIVING_ON {
        watch(source, true);
    }
}

#[test]
fn what_is_proven_holds() {
    for source in PROVEN {
        assert!(watch(source, false), "{source}");
    }
}

const METAMETHODS: &[&str] = &[
    "local t = setmetatable({}, {__add = function(k, _) k[1] = 'x' end}) local _ = KEYS + \
     t return redis.call('get', KEYS[1])",
    "local t = setmetatable({}, {__add = function(r) return r.call('get', 'x') end}) \
     return redis + t",
    "local t = setmetatable({}, {__mul = function(_, c) return c('get', 'x') end}) return \
     t * redis.call",
    "local t = setmetatable({}, {__concat = function(k, _) k[1] = 'x' return '' end}) \
     local _ = KEYS .. t return redis.call('get', KEYS[1])",
    "local t = setmetatable({}, {__concat = function(a, b) return b('get', 'x') end}) \
     return t .. redis.call",
    "local t = setmetatable({}, {__index = function(_, k) k[1] = 'x' end}) local _ = \
     t[KEYS] return redis.call('get', KEYS[1])",
    "local t = setmetatable({}, {__index = function(_, c) return c('get', 'x') end}) \
     return t[redis.call]",
    "local t = setmetatable({}, {__index = function(_, r) return r.call('get', 'x') end}) \
     return t[redis]",
    "local t = setmetatable({}, {__add = function(k, _) k[1] = 'x' end}) local _ = ARGV + \
     t return redis.call(ARGV[1], KEYS[1])",
    "local t = setmetatable({}, {__index = function(_, k) k[1] = 'x' end}) local _ = \
     t[ARGV] return redis.call(ARGV[1], KEYS[1])",
    "local mt = {__eq = function(a, b) b[1] = 'x' return true end} local t = \
     setmetatable({}, mt) local _ = t == KEYS return redis.call('get', KEYS[1])",
    "local mt = {__lt = function(a, b) b[1] = 'x' return true end} local t = \
     setmetatable({}, mt) pcall(function() local _ = t < KEYS end) return \
     redis.call('get', KEYS[1])",
];

const LIVING_ON: &[&str] = &[
    "local t = {function_name = 'f'} local u = t t.callback = function(keys) return \
     redis.call('get', keys[1]) end redis.register_function(t) \
     redis.register_function('g', function(keys) return u.callback({'x'}) end)",
    "local t = {function_name = 'f'} redis.register_function('g', function(keys) return \
     t.callback({'x'}) end) t.callback = function(keys) return redis.call('get', keys[1]) \
     end redis.register_function(t)",
    "local t = {function_name = 'f'} local holder = {t} t.callback = function(keys) \
     return redis.call('get', keys[1]) end redis.register_function(t) \
     redis.register_function('g', function(keys) return holder[1].callback({'x'}) end)",
    "local got local t = setmetatable({}, {__newindex = function(t, k, v) got = v \
     rawset(t, k, v) end}) t.function_name = 'f' t.callback = function(keys) return \
     redis.call('get', keys[1]) end redis.register_function(t) \
     redis.register_function('g', function(keys) return got({'x'}) end)",
    "local got local t = {function_name = 'f'} setmetatable(t, {__newindex = function(t, \
     k, v) got = v rawset(t, k, v) end}) t.callback = function(keys) return \
     redis.call('get', keys[1]) end redis.register_function(t) \
     redis.register_function('g', function(keys) return got({'x'}) end)",
    "local saved redis.register_function('f', function(keys) if not saved then saved = \
     function() return redis.call('get', keys[1]) end end return saved() end)",
    "local saved redis.register_function('f', function(keys) local k = keys[1] saved = \
     saved or function() return redis.call('get', k) end return saved() end)",
    "local co redis.register_function('f', function(keys, args) if not co then co = \
     coroutine.wrap(function() for i = 1, 9 do redis.call('get', keys[1]) \
     coroutine.yield() end end) end co() end)",
    "local saved redis.register_function('f', function(keys, args) saved = saved or \
     function() return redis.call(args[1], 'x') end return saved() end)",
    "local got local t = setmetatable({}, {__index = function(_, f) got = f end}) local f \
     = function(keys) return redis.call('get', keys[1]) end local _ = t[f] \
     redis.register_function('f', f) redis.register_function('g', function(keys) return \
     got({'x'}) end)",
    "local store = {} redis.register_function('f', function(keys) store.f = store.f or \
     function() return redis.call('del', unpack(keys)) end return store.f() end)",
    "local it redis.register_function('f', function(keys) it = it or \
     coroutine.wrap(function() for _, k in ipairs(keys) do redis.call('get', k) \
     coroutine.yield() end end) return it() end)",
];

const PROVEN: &[&str] = &[
    "return redis.call('get', KEYS[1])",
    "local a, b = KEYS[1], KEYS[2] a, b = b, a redis.call('mget', a, b)",
    "for i, k in ipairs(KEYS) do redis.pcall('set', k, i, unpack(ARGV)) end",
    "local c = redis.call local function f(...) return c('set', KEYS[1], ...) end \
     return pcall(f, 'x', select(1, unpack(ARGV)))",
    "local k repeat k = KEYS[k and 2 or 1] redis.call('incr', k) until true",
    "local co = coroutine.wrap(function() for _, k in pairs(KEYS) do \
     coroutine.yield(redis.call('get', k)) end end) co() co()",
    "if #ARGV > 2 then return redis.call(ARGV[1], KEYS[1]) end return redis.call('ping')",
];
