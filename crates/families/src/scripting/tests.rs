//! Scripts in a server without sockets.

use crate::testing::{World, check};

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
