//! Codecs of scripts take any bytes: what cjson and cmsgpack read is written so that it is read
//! again as something of the same length (fields may change places); struct takes any format. The
//! reply of a command may be any bytes too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use script::{Call, Host, Input, Interpreter, LogLevel, Options, Protocol, Replication, Verdict};
use std::cell::RefCell;

const JSON: &str = "local ok, value = pcall(cjson.decode, ARGV[1]) if not ok then return 'no' end \
    local ok, text = pcall(cjson.encode, value) if not ok then return 'no' end \
    return #cjson.encode(cjson.decode(text)) == #text and 'same' or text";
const PACK: &str = "local ok, value = pcall(cmsgpack.unpack, ARGV[1]) \
    pcall(cmsgpack.unpack_one, ARGV[1], 1) pcall(cmsgpack.unpack_limit, ARGV[1], 2, 0) \
    if not ok then return 'no' end local ok, bytes = pcall(cmsgpack.pack, value) \
    if not ok then return 'no' end \
    return #cmsgpack.pack(cmsgpack.unpack(bytes)) == #bytes and 'same' or bytes";
const STRUCT: &str = "pcall(struct.size, ARGV[1]) pcall(struct.unpack, ARGV[1], ARGV[2]) \
    pcall(struct.pack, ARGV[1], 1, 2.5, ARGV[2], -3) pcall(bit.tohex, #ARGV[1], #ARGV[2]) \
    return 'no'";
const REPLY: &str = "local reply = redis.pcall('x') redis.setresp(3) \
    local again = redis.pcall('x') pcall(cjson.encode, {reply, again}) \
    pcall(cmsgpack.pack, {reply, again}) return {reply, again}";

/// A host whose commands all have the same reply.
struct Same<'r>(&'r [u8]);

impl Host for Same<'_> {
    fn call(&mut self, _: &Call<'_>, reply: &mut Vec<u8>) -> u32 {
        reply.extend_from_slice(self.0);
        0
    }

    fn log(&mut self, _: LogLevel, _: &[u8]) {}

    fn poll(&mut self) -> Verdict {
        Verdict::Continue
    }

    fn replicate(&mut self, _: Replication) {}

    fn may_call(&mut self, _: &[&[u8]]) -> Option<bool> {
        None
    }
}

thread_local! {
    static LUA: RefCell<Interpreter> = RefCell::new(
        Interpreter::new(&Options { memory_limit: 64 << 20, ..Options::default() })
            .expect("there is memory"),
    );
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else { return };
    let (source, split) = match kind % 4 {
        0 => (JSON, rest.len()),
        1 => (PACK, rest.len()),
        2 => (STRUCT, rest.iter().position(|byte| *byte == b'|').unwrap_or(rest.len())),
        _ => (REPLY, rest.len()),
    };
    let (first, second) = rest.split_at(split);
    LUA.with_borrow_mut(|lua| {
        let function = lua.compile(source.as_bytes()).expect("it is Lua");
        let protocol = if kind & 64 == 0 { Protocol::Resp2 } else { Protocol::Resp3 };
        let input = Input { keys: &[], arguments: &[first, second], protocol };
        let mut reply = Vec::new();
        lua.run(&function, input, &mut Same(rest), &mut reply);
        lua.release(function);
        let is_expected = reply == b"$2\r\nno\r\n" || reply == b"$4\r\nsame\r\n";
        let is_too_much = reply.starts_with(b"-");
        assert!(
            kind % 4 == 3 || is_expected || is_too_much,
            "{:?} became {:?}",
            String::from_utf8_lossy(rest),
            String::from_utf8_lossy(&reply)
        );
    });
});
