//! What a host gives to a script, and what it is told.

use script::{Ending, Input, LogLevel, Protocol, Replication};

use crate::host::{Fake, Server};

#[test]
fn keys_and_arguments_are_ordinary_tables_and_new_in_each_run() {
    let mut server = Server::new();
    let script = "KEYS[1] = KEYS[1] .. ARGV[2] return {KEYS[1], #KEYS, #ARGV}";
    for _ in 0..2 {
        let (_, reply) = server.eval_with(script, &[b"k"], &[b"a", b"\0b"]);
        assert_eq!(reply, b"*3\r\n$3\r\nk\0b\r\n:1\r\n:2\r\n");
    }
}

#[test]
fn what_a_script_does_to_its_keys_is_gone_in_the_next_one() {
    let mut server = Server::new();
    let count = "local n = 0 for _ in pairs(ARGV) do n = n + 1 end \
                 return {n, #ARGV, tostring(getmetatable(ARGV)), tostring(ARGV.x)}";
    let expected = |n: usize| format!("*4\r\n:{n}\r\n:{n}\r\n$3\r\nnil\r\n$3\r\nnil\r\n");
    for before in [
        "",
        "ARGV.x = 1",
        "ARGV[1000] = 'y'",
        "for i = 1, 100 do table.insert(ARGV, 'y') end",
        "table.remove(ARGV)",
        "for i = 1, 10 do ARGV[i] = nil end",
        "setmetatable(ARGV, {__index = function() return 'y' end})",
        "table.sort(ARGV, function(a, b) return a > b end) return load('x')",
    ] {
        for length in [0, 1, 2, 5, 40] {
            let arguments: Vec<&[u8]> = vec![b"a"; length];
            server.eval_with(before, &[], &[b"a", b"b", b"c"]);
            let reply = server.eval_with(count, &[], &arguments).1;
            assert_eq!(String::from_utf8_lossy(&reply), expected(length), "{before}");
        }
    }
}

#[test]
fn an_error_of_a_command_is_told_as_counted() {
    let mut server = Server::new();
    let mut ending = |script: &str| server.eval_with(script, &[], &[]).0;
    let counted = Some(Ending::Failed { is_counted: true });
    assert_eq!(ending("redis.call('lpush', 'k', 'v')"), counted);
    assert_eq!(ending("error(redis.pcall('lpush', 'k', 'v'))"), counted);
    assert_eq!(ending("redis.call()"), Some(Ending::Failed { is_counted: false }));
    assert_eq!(ending("error('x')"), Some(Ending::Failed { is_counted: false }));
    assert_eq!(ending("return redis.pcall('lpush', 'k', 'v')"), Some(Ending::Returned));
}

#[test]
fn the_protocol_of_a_script_ends_with_it() {
    let mut server = Server::new();
    server.eval("redis.setresp(3)");
    assert_eq!(server.eval("return type(redis.call('get', 'none'))"), b"$7\r\nboolean\r\n");
}

#[test]
fn lines_of_the_log_are_joined_by_blanks() {
    let mut server = Server::new();
    server.eval("redis.log(redis.LOG_WARNING, 'a', {}, 5, nil, 'b') redis.log('0', 'c')");
    let lines = [(LogLevel::Warning, b"a 5 b".to_vec()), (LogLevel::Debug, b"c".to_vec())];
    assert_eq!(server.fake.lines, lines);
}

#[test]
fn set_repl_says_where_writes_go() {
    let mut server = Server::new();
    server.eval("redis.set_repl(redis.REPL_AOF) redis.set_repl(redis.REPL_REPLICA)");
    let replications = [
        Replication { journal: true, replicas: false },
        Replication { journal: false, replicas: true },
    ];
    assert_eq!(server.fake.replications, replications);
}

#[test]
fn random_numbers_go_on_from_one_script_to_the_next() {
    let mut server = Server::new();
    assert_eq!(server.text("return tostring(math.random())"), "0.39646477363839");
    assert_eq!(server.text("return tostring(math.random())"), "0.84048536971234");
}

#[test]
fn settings_of_cjson_stay_for_all_later_scripts_as_in_valkey() {
    let mut server = Server::new();
    server.eval("cjson.encode_number_precision(3) cjson.encode_sparse_array(true)");
    assert_eq!(server.text("return cjson.encode({3.14159, {[100] = 1}})"), r#"[3.14,{"100":1}]"#);
    // Those of a set of functions of its own end with it.
    server.eval("cjson.new().encode_number_precision(5)");
    assert_eq!(server.text("return cjson.encode(3.14159)"), "3.14");
}

#[test]
fn an_interpreter_may_go_to_another_thread_between_runs() {
    let mut server = Server::new();
    let function = server.interpreter.compile(b"return redis.call('echo', 'x')").expect("valid");
    let mut interpreter = server.interpreter;
    let run = move || {
        let mut reply = Vec::new();
        let input = Input { keys: &[], arguments: &[], protocol: Protocol::Resp2 };
        interpreter.run(&function, input, &mut Fake::default(), &mut reply);
        reply
    };
    assert_eq!(std::thread::spawn(run).join().expect("no panic"), b"$1\r\nx\r\n");
}

#[test]
fn a_reply_that_is_cut_off_is_an_error() {
    let mut server = Server::new();
    for reply in [
        "",
        ":1",
        "$5\\r\\nab\\r\\n",
        "*2\\r\\n:1\\r\\n",
        "?\\r\\n",
        "$9999999999999999999\\r\\n",
        "%1\\r\\n:1\\r\\n",
        "=2\\r\\nab\\r\\n",
    ] {
        let reply = server.eval(format!("return redis.call('raw', '{reply}')"));
        assert!(reply.starts_with(b"-ERR") || reply == b"$-1\r\n", "{reply:?}");
    }
}

#[test]
fn a_table_that_holds_itself_ends_at_the_stack_limit() {
    let mut server = Server::new();
    for (script, least) in [
        ("local t = {} t[1] = t return t", 7900),
        ("local t = {} t.map = {[t] = 1} return t", 1900),
        ("local t = {} t.set = {[t] = 1} return t", 2600),
    ] {
        let reply = server.eval(script);
        let reply = String::from_utf8_lossy(&reply);
        assert!(reply.contains("-ERR reached lua stack limit\r\n"), "{script}");
        assert!(reply.matches('*').count() > least, "{script}");
    }
}
