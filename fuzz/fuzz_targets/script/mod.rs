//! One interpreter for many inputs, with a host whose commands all have the same reply.

use script::{Call, Host, Input, Interpreter, LogLevel, Options, Protocol, Replication, Verdict};
use std::cell::RefCell;

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

/// The reply of `source`, whose commands all answer `answer`.
pub fn run(source: &str, arguments: &[&[u8]], protocol: Protocol, answer: &[u8]) -> Vec<u8> {
    LUA.with_borrow_mut(|lua| {
        let function = lua.compile(source.as_bytes()).expect("it is Lua");
        let mut reply = Vec::new();
        let input = Input { keys: &[], arguments, protocol };
        lua.run(&function, input, &mut Same(answer), &mut reply);
        lua.release(function);
        reply
    })
}

/// Holds what `source` says of `arguments`: that they are refused, or that what they mean is
/// written and read again alike. An interpreter without memory answers with an error.
#[allow(dead_code, reason = "targets that write nothing have no use for it")]
pub fn assert_is_refused_or_stays(source: &str, arguments: &[&[u8]]) {
    let reply = run(source, arguments, Protocol::Resp2, b"+OK\r\n");
    let is_expected = matches!(&reply[..], b"$7\r\nrefused\r\n" | b"$4\r\nsame\r\n");
    let is_out_of_memory = reply.starts_with(b"-");
    let said = String::from_utf8_lossy(&reply);
    assert!(is_expected || is_out_of_memory, "{said:?}");
}
