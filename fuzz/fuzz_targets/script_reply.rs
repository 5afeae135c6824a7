//! What a command answers a script becomes values of Lua and a reply again, whatever its bytes are,
//! in both protocols: what a script answers comes back at the same length if a command answers it
//! (fields may change places). The codecs take such values too.
#![no_main]

mod script;

use ::script::Protocol;
use libfuzzer_sys::fuzz_target;

const ENCODE: &str = "local reply = redis.pcall('x') pcall(cjson.encode, reply) \
    pcall(cmsgpack.pack, reply) return {reply, cjson.decode('[1]')}";

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let (protocol, source) = if first & 1 == 0 {
        (Protocol::Resp2, "return redis.pcall('x')")
    } else {
        (Protocol::Resp3, "redis.setresp(3) return redis.pcall('x')")
    };
    let once = script::run(source, &[], protocol, rest);
    let twice = script::run(source, &[], protocol, &once);
    let (one, two) = (String::from_utf8_lossy(&once), String::from_utf8_lossy(&twice));
    assert_eq!(once.len(), twice.len(), "{one:?} became {two:?}");
    script::run(ENCODE, &[], protocol, rest);
});
