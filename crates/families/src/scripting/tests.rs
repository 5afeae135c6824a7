//! Scripts in a server without sockets.

use crate::testing::{World, check};
use settings::Sources;

#[test]
fn a_script_reads_and_writes_as_its_client() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("EVAL 'return 1' 0", ":1"),
            ("EVAL 'return redis.call(\"SET\",KEYS[1],ARGV[1])' 1 k v", "+OK"),
            ("GET k", "$1 v"),
            ("EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0", ":1"),
        ],
    );
}

#[test]
fn a_script_that_is_seen_to_remove_everything_does_so_and_another_one_is_refused() {
    let mut world = World::new();
    let hidden = "-ERR A script that calls this command has its name in its source or among its \
                  arguments script: on @user_script:1.";
    check(
        &mut world,
        &[
            ("SET k v", "+OK"),
            ("EVAL 'return redis.call(\"flush\"..\"all\")' 0", hidden),
            ("EXISTS k", ":1"),
            ("EVAL 'return redis.call(\"FlushAll\")' 0", "+OK"),
            ("SET k v", "+OK"),
            ("EVAL 'return redis.call(ARGV[1])' 0 flushdb", "+OK"),
            ("EXISTS k", ":0"),
        ],
    );
}

#[test]
fn a_transaction_runs_scripts_among_its_commands() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("MULTI", "+OK"),
            ("SET k 1", "+QUEUED"),
            ("EVAL 'return redis.call(\"INCR\",\"k\")' 0", "+QUEUED"),
            ("EVAL 'redis.call(\"FLUSHALL\")' 0", "+QUEUED"),
            ("EXISTS k", "+QUEUED"),
            ("EXEC", "*4 +OK :2 $-1 :0"),
        ],
    );
}

#[test]
fn what_scripts_keep_is_counted_and_goes() {
    let mut world = World::new();
    check(&mut world, &[("EVAL 'return 1' 0", ":1")]);
    let scripts = &world.instance.scripts;
    assert!(scripts.interpreters.bytes() > 20_000 && scripts.cache.len() == 1);
    check(&mut world, &[("SCRIPT FLUSH", "+OK")]);
    let scripts = &world.instance.scripts;
    assert_eq!((scripts.bytes(), scripts.cache.len()), (0, 0));
}

#[test]
fn settings_make_interpreters_anew_and_bound_their_memory() {
    let mut world = World::new();
    let lacking = "-ERR user_script:1: Script attempted to access nonexistent global variable \
                   'newproxy' script: on @user_script:1.";
    check(&mut world, &[("EVAL 'return type(newproxy)' 0", lacking)]);
    let grow = "EVAL 'local t = {} for at = 1, 1e7 do t[at] = at .. \"x\" end' 0";
    check(&mut world, &[("CONFIG SET script-memory-limit 4mb", "+OK")]);
    world.instance.scripts.interpreters.clear();
    check(&mut world, &[(grow, "-ERR not enough memory"), ("EVAL 'return 2' 0", ":2")]);
}

#[test]
fn a_script_calls_nothing_larger_than_a_client_can_send() {
    let mut world = World::new();
    let call = |times: usize| {
        format!(
            "EVAL 'local t = {{}} for at = 1, {times} do t[at] = (\"x\"):rep(100000) end \
             return redis.call(\"DEL\", unpack(t))' 0"
        )
    };
    let refused = "-ERR The arguments of the command exceed client-query-buffer-limit script: on \
                   @user_script:1.";
    check(&mut world, &[("CONFIG SET client-query-buffer-limit 1mb", "+OK")]);
    check(&mut world, &[(&call(10), ":0"), (&call(11), refused)]);
}

/// Returns whether a script with these arguments is seen to keep to its keys.
fn is_bound(source: &str, arguments: &[&[u8]]) -> bool {
    let world = World::new();
    let options = session::script_options(&world.instance.settings);
    let mut own = session::OwnInterpreter::new(&options).expect("memory");
    let digest = session::Digest::of(source.as_bytes());
    let script = session::Script::of(digest, source.as_bytes(), false).expect("a script");
    own.compile(&std::sync::Arc::new(script)).expect("it compiles");
    let table = crate::table();
    let reach = command::script::reach_of(table, own.call_sites(&digest));
    command::script::reaches_only_keys(table, &world.instance.settings, &reach, arguments)
}

#[test]
fn a_script_keeps_to_its_keys_if_they_stand_where_its_commands_have_keys() {
    for source in [
        "return 1",
        "return redis.call('get', KEYS[1])",
        "return redis.call('mset', KEYS[1], ARGV[1], KEYS[2], 'x')",
        "return redis.call('del', KEYS[1], unpack(KEYS, 2))",
        "return redis.call('sadd', KEYS[1], unpack(ARGV))",
        "return redis.call('blpop', KEYS[1], KEYS[2], 0)",
        "return redis.call('zunionstore', KEYS[1], 2, KEYS[2], KEYS[3], 'weights', 1, 2)",
        "return redis.call('zunionstore', KEYS[1], #KEYS - 1, unpack(KEYS, 2))",
        "return redis.call('xread', 'count', 1, 'streams', KEYS[1], KEYS[2], '0', ARGV[1])",
        "return redis.call('object', 'encoding', KEYS[1])",
        "return redis.call('publish', ARGV[1], 'x')",
        "return redis.call('eval', 'return 1', 0)",
        "return redis.call('nosuchcommand', 'x')",
        "redis.call('select', 3) return redis.call('time')",
    ] {
        assert!(is_bound(source, &[]), "{source}");
    }
}

#[test]
fn a_script_that_may_reach_other_keys_is_not_bound() {
    for source in [
        "return redis.call('get', ARGV[1])",
        "return redis.call('get', 'x')",
        "return redis.call('mset', KEYS[1], 'x', ARGV[1], 'y')",
        "return redis.call('mset', unpack(ARGV))",
        "return redis.call('blpop', KEYS[1], 'x', 0)",
        "return redis.call('zunionstore', KEYS[1], 2, KEYS[2], ARGV[1])",
        "return redis.call('zunionstore', KEYS[1], ARGV[1], KEYS[2], 'aggregate', 'max')",
        "return redis.call('xread', ARGV[1], 1, 'streams', KEYS[1], '0')",
        "return redis.call('xread', 'streams', KEYS[1], ARGV[1], '0', '0')",
        "return redis.call('sort', KEYS[1], 'by', 'w_*')",
        "return redis.call('migrate', 'host', 1, KEYS[1], 0, 1)",
        "return redis.call('dbsize')",
        "return redis.call('keys', '*')",
        "return redis.call('object', ARGV[1], KEYS[1])",
    ] {
        assert!(!is_bound(source, &[]), "{source}");
    }
}

#[test]
fn nothing_is_proven_while_one_script_can_change_what_another_one_finds() {
    let mut world = World::new();
    let (settings, line) = (&world.instance.settings, b"lua-enable-insecure-api yes");
    settings::load_text(settings, "test", line, Sources::Nowhere).expect("it is a setting");
    check(
        &mut world,
        &[
            ("EVAL 'setfenv(0, {KEYS={\"evil\"},redis=redis,ARGV=ARGV}) return 1' 0", ":1"),
            ("EVAL 'return redis.call(\"set\",KEYS[1],\"v\")' 1 k", "+OK"),
        ],
    );
    assert!(world.answer("INFO stats").contains("scripts_beside_others:0"));
}

#[test]
fn a_command_that_an_argument_names_is_looked_at_when_it_is_known() {
    let source = "return redis.call(ARGV[2], KEYS[1], ARGV[1])";
    for (name, is_one) in
        [("publish", true), ("SPUBLISH", true), ("get", true), ("mget", false), ("keys", false)]
    {
        assert_eq!(is_bound(source, &[b"x", name.as_bytes()]), is_one, "{name}");
    }
    assert!(is_bound(source, &[b"x"]), "the call fails");
}

#[test]
fn a_command_that_does_not_tell_its_keys_fails_in_a_script_as_it_does_elsewhere() {
    let mut world = World::new();
    check(&mut world, &[("EVAL 'return redis.call(\"pfmerge\",KEYS[1])' 1 h", "+OK")]);
    for (words, keys, error) in [
        (
            "'zunionstore',KEYS[1],0,KEYS[2]",
            "2 d z",
            "at least 1 input key is needed for 'zunionstore' command",
        ),
        ("'zunionstore',KEYS[1],'x',KEYS[2]", "2 d z", "value is not an integer or out of range"),
        ("'zunionstore',KEYS[1],3,KEYS[2]", "2 d z", "syntax error"),
        ("'lmpop',0,KEYS[1],'left'", "1 d", "numkeys should be greater than 0"),
        ("'zmpop',0,KEYS[1],'min'", "1 d", "numkeys should be greater than 0"),
        ("'blmpop',0,0,KEYS[1],'left'", "1 d", "numkeys should be greater than 0"),
        ("'zinter',0,KEYS[1]", "1 d", "at least 1 input key is needed for 'zinter' command"),
        (
            "'sintercard',9,unpack(KEYS)",
            "2 d z",
            "Number of keys can't be greater than number of args",
        ),
        ("'msetex',0,KEYS[1],'v'", "1 d", "invalid numkeys value or out of range"),
        (
            "'xread','count',1,'streams',KEYS[1]",
            "1 d",
            "Unbalanced 'xread' list of streams: for each stream key an ID or '$' must be \
             specified.",
        ),
        ("'zdiff',unpack(KEYS)", "2 a b", "value is not an integer or out of range"),
        (
            "'xread','count','1','streams','evil'",
            "0",
            "Unbalanced 'xread' list of streams: for each stream key an ID or '$' must be \
             specified.",
        ),
        ("ARGV[1],unpack(KEYS)", "4 3 a 0 c zdiffstore", "value is not an integer or out of range"),
    ] {
        let line = format!("EVAL \"return redis.call({words})\" {keys}");
        let expected = format!("-ERR {error} script: on @user_script:1.");
        // The second time its proof is known before it begins, in a transaction too.
        check(&mut world, &[(&line, &expected), (&line, &expected)]);
        check(
            &mut world,
            &[("MULTI", "+OK"), (&line, "+QUEUED"), ("EXEC", &format!("*1 {expected}"))],
        );
    }
}

#[test]
fn scripts_and_functions_that_keep_to_their_keys_do_what_others_do() {
    let mut world = World::new();
    check(
        &mut world,
        &[
            ("EVAL 'return redis.call(\"incr\",KEYS[1])' 1 k", ":1"),
            ("EVAL 'return redis.call(\"incr\",KEYS[1])' 2 k j", ":2"),
            (
                "EVAL 'return redis.call(\"incr\",KEYS[1])' 0",
                "-ERR Command arguments must be strings or integers script: on @user_script:1.",
            ),
            (
                "FUNCTION LOAD '#!lua name=l\nredis.register_function(\"f\", function(keys) \
                 return redis.call(\"incr\", keys[1]) end)'",
                "$1 l",
            ),
            ("FCALL f 1 k", ":3"),
            ("MULTI", "+OK"),
            ("EVAL 'return redis.call(\"incr\",KEYS[1])' 1 k", "+QUEUED"),
            ("FCALL f 1 k", "+QUEUED"),
            ("EVAL 'return redis.call(\"incr\",\"o\")' 0", "+QUEUED"),
            ("EXEC", "*3 :4 :5 :1"),
        ],
    );
}

#[test]
fn all_of_a_transaction_sees_deadlines_as_of_one_moment() {
    let mut world = World::new();
    for line in
        ["SET k v PX 5", "MULTI", "GET k", "EVAL 'return redis.call(\"GET\",\"k\")' 0", "GET k"]
    {
        world.answer(line);
    }
    let granted = command::granted_for_batch(&world.instance);
    let (_, reply) = world.with_call(&[b"EXEC"], |call| {
        call.instance.clock.advance(10);
        command::execute(call, granted)
    });
    assert_eq!(String::from_utf8_lossy(&reply), "*3\r\n$1\r\nv\r\n$1\r\nv\r\n$1\r\nv\r\n");
    assert_eq!(world.answer("EVAL 'return redis.call(\"GET\",\"k\")' 0"), "$-1\r\n");
}
