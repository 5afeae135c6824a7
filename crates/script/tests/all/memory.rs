//! Memory of scripts is counted and bounded, and nothing of it is lost.

use script::{Interpreter, Options};

use crate::host::Server;

fn small() -> Server {
    Server::with(&Options { memory_limit: 8 << 20, ..Options::default() })
}

#[test]
fn a_script_that_needs_too_much_ends_and_the_next_one_runs() {
    let mut server = small();
    for script in [
        "local s = 'x' while true do s = s .. s end",
        "return ('x'):rep(100000000)",
        "local t = {} while true do t[#t + 1] = {} end",
        "local t = {} for i = 1, 1e9 do t[i] = i end",
        "return {unpack({}, 1, 7000)}, ('x'):rep(2^31 - 1)",
    ] {
        let reply = server.eval(script);
        let reply = String::from_utf8_lossy(&reply);
        assert!(reply.starts_with("-ERR not enough memory"), "{script}: {reply}");
        assert_eq!(server.eval("return 1"), b":1\r\n");
    }
    server.interpreter.collect();
    assert!(server.interpreter.memory_bytes() < 1 << 20);
}

#[test]
fn a_script_may_catch_that_memory_is_out() {
    let mut server = small();
    let script = "return {pcall(string.rep, 'x', 1e8)}";
    assert_eq!(server.eval(script), b"*2\r\n$-1\r\n$17\r\nnot enough memory\r\n");
}

#[test]
fn garbage_does_not_fill_the_limit() {
    let mut server = small();
    let script = "local kept = ('k'):rep(1000000) \
                  for i = 1, 200 do local s = ('x'):rep(100000) .. i end return #kept";
    assert_eq!(server.eval(script), b":1000000\r\n");
}

#[test]
fn codecs_do_not_go_beyond_the_limit() {
    let mut server = small();
    for script in [
        "local s, t = ('x'):rep(1e6), {} for i = 1, 1000 do t[i] = s end return cjson.encode(t)",
        "local s, t = ('x'):rep(1e6), {} for i = 1, 1000 do t[i] = s end return cmsgpack.pack(t)",
        "cjson.encode_sparse_array(false, 0) return cjson.encode({[1] = 1, [2147483647] = 1})",
        "local t = {} for i = 1, 200 do t[i] = ('x'):rep(100000) end \
         return struct.pack(('s'):rep(200), unpack(t))",
    ] {
        let reply = server.eval(script);
        let reply = String::from_utf8_lossy(&reply);
        assert!(reply.contains("not enough memory"), "{script}: {reply}");
    }
    assert!(server.interpreter.memory_bytes() < 9 << 20);
}

#[test]
fn a_reply_does_not_go_beyond_the_limit() {
    let mut server = small();
    let script = "local s, t = ('x'):rep(1e6), {} for i = 1, 1e5 do t[i] = s end return t";
    assert_eq!(server.eval(script), b"-ERR not enough memory\r\n");
    assert_eq!(server.eval(format!("redis.log(3, 'a') {script}")), b"-ERR not enough memory\r\n");
}

#[test]
fn a_line_of_the_log_does_not_go_beyond_the_limit() {
    let mut server = small();
    let script = "local s, t = ('x'):rep(1e6), {} for i = 1, 7000 do t[i] = s end \
                  redis.log(redis.LOG_NOTICE, unpack(t))";
    assert!(String::from_utf8_lossy(&server.eval(script)).contains("not enough memory"));
    assert!(server.fake.lines.is_empty());
}

#[test]
fn a_collector_that_a_script_has_stopped_runs_again() {
    let mut server = Server::new();
    server.eval("collectgarbage('stop') collectgarbage('setpause', 100000)");
    for _ in 0..50 {
        server.eval("return #('x'):rep(1000000)");
    }
    assert!(server.interpreter.memory_bytes() < 20 << 20);
}

#[test]
fn functions_that_are_released_leave_nothing() {
    let mut server = Server::new();
    let script = format!("return '{}'", "x".repeat(10_000));
    server.eval(&script);
    server.interpreter.collect();
    let before = server.interpreter.memory_bytes();
    (0..100).for_each(|_| drop(server.eval(&script)));
    server.interpreter.collect();
    assert!(server.interpreter.memory_bytes() < before + 10_000);
}

#[test]
fn an_interpreter_is_small_and_needs_a_few_bytes() {
    let interpreter = Interpreter::new(&Options::default()).expect("there is memory");
    let bytes = interpreter.memory_bytes();
    println!("an interpreter takes {bytes} bytes");
    assert!(bytes < 64 << 10, "{bytes}");
    for limit in (0..bytes).step_by(997) {
        drop(Interpreter::new(&Options { memory_limit: limit, ..Options::default() }));
    }
}

#[test]
fn wherever_memory_is_out_the_interpreter_stays_usable() {
    let script = "local t = cjson.decode('{\"a\":[1,2,{\"b\":\"c\\\\u00e9\"}]}') \
                  local packed = cmsgpack.pack(t, 'x', {1, 2}) \
                  local r = redis.call('raw', '*2\\r\\n$3\\r\\nabc\\r\\n+OK\\r\\n') \
                  return {cjson.encode(cmsgpack.unpack(packed)), struct.pack('si4', 'x', 5), r[1]}";
    let usual = Server::new().eval(script);
    let least = Server::new().interpreter.memory_bytes();
    for limit in (least..least + 12_000).step_by(37) {
        let options = Options { memory_limit: limit, ..Options::default() };
        let Ok(interpreter) = Interpreter::new(&options) else { continue };
        let mut server = Server { interpreter, ..Server::new() };
        let reply = server.eval(script);
        let is_out = reply.starts_with(b"-ERR") && reply.windows(10).any(|w| w == b"not enough");
        assert!(reply == usual || is_out, "{limit}: {}", String::from_utf8_lossy(&reply));
    }
}
