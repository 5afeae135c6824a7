//! Tests of `execute` with the commands of all families.

use crate::commands::table;
use crate::testing::{STARTED, World, check};
use session::{Needs, Pause, Refusal};
use std::sync::atomic::Ordering::Relaxed;

const UNKNOWN: &str = "-ERR unknown command 'NOSUCH', with args beginning with: ";

fn arity_of(name: &str) -> String {
    format!("-ERR wrong number of arguments for '{name}' command")
}

/// Returns the counts of a command: calls, rejections, failures.
fn counts(world: &World, name: &str) -> (u64, u64, u64) {
    let row = table().find(name.as_bytes()).expect("it exists");
    let counts = &world.statistics.commands[row.id];
    (counts.calls.get(), counts.rejected.get(), counts.failed.get())
}

#[test]
fn a_stranger_hears_of_a_password_before_anything_else() {
    let no_auth = "-NOAUTH Authentication required.";
    let mut world = World::new();
    world.session.set_authenticated(false);
    world.instance.clients.pause(Pause::Everything, STARTED.after(1000), STARTED);
    let lines = ["NOSUCH", "GET", "GET k", "CONFIG NOSUCH", "CLIENT PAUSE"];
    lines.iter().for_each(|line| check(&mut world, &[(line, no_auth)]));
}

#[test]
fn what_needs_no_password_is_refused_for_its_words() {
    let mut world = World::new();
    world.session.set_authenticated(false);
    for name in ["auth", "reset"] {
        let line = format!("{name}{}", if name == "reset" { " x" } else { "" });
        check(&mut world, &[(&line, &arity_of(name))]);
    }
}

#[test]
fn what_could_not_run_anyway_is_not_postponed() {
    let mut world = World::new();
    world.instance.clients.pause(Pause::Everything, STARTED.after(1000), STARTED);
    check(&mut world, &[("NOSUCH", UNKNOWN.trim_end()), ("GET", &arity_of("get"))]);
    assert!(world.is_postponed("GET k") && world.is_postponed("SET k v"));
}

#[test]
fn a_pause_of_writes_postpones_what_may_change_data() {
    let mut world = World::new();
    world.instance.clients.pause(Pause::Writes, STARTED.after(1000), STARTED);
    check(&mut world, &[("GET k", "$-1"), ("PING", "+PONG")]);
    assert!(world.is_postponed("SET k v") && world.is_postponed("PFCOUNT k"));
    assert_eq!(counts(&world, "set"), (0, 0, 0));
}

#[test]
fn a_pause_that_is_over_costs_no_second_look() {
    let mut world = World::new();
    world.instance.clients.pause(Pause::Everything, STARTED, STARTED);
    assert!(!world.instance.clients.grants.get().contains(Needs::UNPAUSED));
    check(&mut world, &[("PING", "+PONG")]);
    assert_eq!(world.instance.clients.grants.get(), Needs::OF_SERVER);
}

#[test]
fn without_memory_writes_are_refused_but_not_in_a_pause() {
    let oom = String::from_utf8_lossy(Refusal::OUT_OF_MEMORY.text()).into_owned();
    let mut world = World::new();
    check(&mut world, &[("CONFIG SET maxmemory 1 maxmemory-policy noeviction", "+OK")]);
    world.instance.memory.other_bytes.store(2, Relaxed);
    check(&mut world, &[("SET k v", &format!("-{oom}")), ("SET", &arity_of("set"))]);
    world.instance.clients.pause(Pause::Writes, STARTED.after(1000), STARTED);
    assert!(world.is_postponed("SET k v"));
}

#[test]
fn a_rejection_counts_for_the_command_that_is_named() {
    let mut world = World::new();
    check(&mut world, &[("GET", &arity_of("get")), ("NOSUCH", UNKNOWN.trim_end())]);
    check(&mut world, &[("CONFIG", &arity_of("config"))]);
    assert_eq!(counts(&world, "get"), (0, 1, 0));
    assert_eq!(counts(&world, "config"), (0, 1, 0));
    assert_eq!(world.instance.statistics.errors()["ERR"], 3);
}

#[test]
fn a_web_page_is_not_answered() {
    let mut world = World::new();
    check(&mut world, &[("POST /", "")]);
    assert!(world.session.close_after_reply);
}
