//! What is proven of a script holds: while it runs, it calls commands at its call sites alone. The
//! bytes choose a script of a small grammar, or are a script themselves, or bytecode, of which
//! nothing may be believed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use script::proof::{CallSite, Source, call_sites};
use script::{Call, Host, Input, Interpreter, LogLevel, Options, Protocol, Replication, Verdict};
use std::cell::RefCell;

/// Bytes as choices; all zero behind the last one.
struct Choices<'d>(&'d [u8]);

impl Choices<'_> {
    fn below(&mut self, count: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first) % count
    }

    fn variable(&mut self) -> &'static str {
        ["a", "b", "c", "d"][self.below(4)]
    }

    fn block(&mut self, depth: usize) -> String {
        let count = 1 + self.below(3);
        (0..count).map(|_| self.statement(depth) + " ").collect()
    }

    fn statement(&mut self, depth: usize) -> String {
        let (v, w) = (self.variable(), self.variable());
        let d = depth.saturating_sub(1);
        match self.below(if depth == 0 { 8 } else { 20 }) {
            0 | 1 => format!("local {v} = {}", self.expression(d)),
            2 => format!("{v} = {}", self.expression(d)),
            3 => format!("{v}, {w} = {}, {}", self.expression(d), self.expression(d)),
            4 => format!("pcall({v}, {})", self.expression(d)),
            5 | 6 => format!("redis.pcall({}, {})", self.name(), self.expression(d)),
            7 => format!("pcall(redis.call, {}, {})", self.name(), self.expression(d)),
            8 => format!("local {v}, {w} = {}", self.expression(d)),
            9 => format!("if type({v}) == 'table' then {v}[1] = {} end", self.expression(d)),
            10 => {
                let (then, other) = (self.block(d), self.block(d));
                format!("if {} then {then} else {other} end", self.expression(d))
            }
            11 => format!("for {v} = 1, 3 do {} end", self.block(d)),
            12 => {
                let each = ["pairs", "ipairs"][self.below(2)];
                let table = ["KEYS", "ARGV", "{'x'}"][self.below(3)];
                format!("for {v}, {w} in {each}({table}) do {} end", self.block(d))
            }
            13 => format!("do {} end", self.block(d)),
            14 => format!("local function {v}({w}, ...) {} return {w} end", self.block(d)),
            15 => format!("pcall(function() {} end)", self.block(d)),
            16 => format!("pcall(coroutine.wrap(function({v}) {} end), {w})", self.block(d)),
            17 => format!("repeat {} until true", self.block(d)),
            18 => format!("while {} do {} break end", self.expression(d), self.block(d)),
            _ => format!("pcall(table.insert, {}, {v})", self.expression(d)),
        }
    }

    fn name(&mut self) -> &'static str {
        ["'get'", "'set'", "ARGV[1]", "ARGV[2]", "a", "'g' .. 'et'"][self.below(6)]
    }

    fn expression(&mut self, depth: usize) -> String {
        let d = depth.saturating_sub(1);
        let v = self.variable();
        match self.below(if depth == 0 { 10 } else { 25 }) {
            0 | 1 => v.to_owned(),
            2 | 3 => format!("KEYS[{}]", 1 + self.below(3)),
            4 => format!("ARGV[{}]", 1 + self.below(3)),
            5 => "'x'".to_owned(),
            6 => "nil".to_owned(),
            7 => ["redis.call", "redis.pcall", "redis", "KEYS", "ARGV"][self.below(5)].to_owned(),
            8 => format!("KEYS[{v}]"),
            9 => "unpack(KEYS)".to_owned(),
            10 => format!("{} or {}", self.expression(d), self.expression(d)),
            11 => format!("{} and {}", self.expression(d), self.expression(d)),
            12 => format!("tostring({}) .. 'x'", self.expression(d)),
            13 => format!("function({v}, ...) {} return {} end", self.block(d), self.expression(d)),
            14 => format!("{{{}}}", self.expression(d)),
            15 => format!("{{callback = {}, x = {v}}}", self.expression(d)),
            16 => format!("redis.call({}, {})", self.name(), self.expression(d)),
            17 => format!("select(2, {}, ...)", self.expression(d)),
            18 => format!("pcall({}, {})", self.expression(d), self.expression(d)),
            19 => format!("(type({v}) == 'table' and {v}[1])"),
            20 => format!("(type({v}) == 'function' and {v}({}))", self.expression(d)),
            21 => {
                let event = ["__index", "__add", "__newindex", "__call", "__concat", "__eq"];
                let event = event[self.below(event.len())];
                format!("setmetatable({{}}, {{{event} = {}}})", self.expression(d))
            }
            22 => format!("pcall(function() return {} + {v} end)", self.expression(d)),
            23 => format!("pcall(function() return {v}[{}] end)", self.expression(d)),
            _ => "unpack(ARGV)".to_owned(),
        }
    }
}

/// Holds each call against what was proven.
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
        assert!(self.sites.iter().any(is_there), "{}\n{:?}", self.source, call.arguments);
        reply.extend_from_slice(b"$1\r\nr\r\n");
        1000
    }

    fn poll(&mut self) -> Verdict {
        self.polls += 1;
        if self.polls > 20 { Verdict::End("end") } else { Verdict::Continue }
    }

    fn log(&mut self, _: LogLevel, _: &[u8]) {}

    fn replicate(&mut self, _: Replication) {}

    fn may_call(&mut self, _: &[&[u8]]) -> Option<bool> {
        None
    }
}

type Words = [&'static [u8]];

fn interpreter(for_libraries: bool) -> RefCell<Interpreter> {
    let options = Options { for_libraries, memory_limit: 16 << 20, ..Options::default() };
    RefCell::new(Interpreter::new(&options).expect("there is memory"))
}

thread_local! {
    static OF_SCRIPTS: RefCell<Interpreter> = interpreter(false);
    static OF_LIBRARIES: RefCell<Interpreter> = interpreter(true);
}

fn watch(lua: &mut Interpreter, source: &str, for_libraries: bool) {
    let Ok(compiled) = lua.compile(source.as_bytes()) else { return };
    let Some(sites) = lua.call_sites(&compiled) else { return lua.release(compiled) };
    let host = |keys, arguments| Watching { source, sites: &sites, keys, arguments, polls: 0 };
    let functions = if for_libraries {
        let loaded = lua.load(source.as_bytes(), &mut host(&[], &[])).unwrap_or_default();
        lua.release(compiled);
        loaded.into_iter().map(|it| it.function).collect()
    } else {
        vec![compiled]
    };
    let runs: [(&Words, &Words); 3] =
        [(&[b"k1", b"k2"], &[b"get", b"a2", b"a3"]), (&[b"q1"], &[b"del"]), (&[], &[b"k1", b"q"])];
    for (keys, arguments) in runs {
        for function in &functions {
            let input = Input { keys, arguments, protocol: Protocol::Resp2 };
            lua.run(function, input, &mut host(keys, arguments), &mut Vec::new());
        }
    }
    functions.into_iter().for_each(|function| lua.release(function));
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else { return };
    let mut choices = Choices(rest);
    match kind % 8 {
        0 => {
            let _ = call_sites(rest, Source::Script);
            let _ = call_sites(rest, Source::Library);
        }
        1 => {
            // Any text: what compiles runs as anything else does.
            let source = String::from_utf8_lossy(rest);
            OF_SCRIPTS.with_borrow_mut(|lua| watch(lua, &source, false));
            OF_LIBRARIES.with_borrow_mut(|lua| watch(lua, &source, true));
        }
        2 => {
            let source: String = (0..3).map(|_| choices.block(2)).collect();
            let callback = format!("function(KEYS, ARGV) {} end", choices.block(3));
            let source = format!(
                "local a, b, c, d {source} local f = {callback} \
                 redis.register_function('f', f) {} \
                 redis.register_function{{function_name = 'g', callback = {callback}}}",
                choices.block(2)
            );
            OF_LIBRARIES.with_borrow_mut(|lua| watch(lua, &source, true));
        }
        _ => {
            let source: String = (0..4).map(|_| choices.block(3)).collect();
            let source = format!("local a, b, c, d {source}");
            OF_SCRIPTS.with_borrow_mut(|lua| watch(lua, &source, false));
        }
    }
});
