//! Servers behind wrappers: the process that is measured, and what an end leaves behind.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use bench::process::{descends_from, has_ended};
use bench::servers::{Launch, Program, Server};
use rustix::process::{Pid, Signal, kill_process};

/// Starts a server by a script, whose second argument is the port. Also returns the numbers that
/// the script wrote beside itself.
fn start(script: &str) -> (Program, Result<Server>, Vec<u32>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wrapper");
    fs::write(&path, format!("null={}\n{script}", env!("CARGO_BIN_EXE_varve-null"))).unwrap();
    let program = Program::parse(&format!("sh {}", path.display())).unwrap();
    let server = program.start(&Launch::on(1, 1));
    let numbers = fs::read_to_string(path.with_extension("numbers")).unwrap_or_default();
    (program, server, numbers.split_whitespace().map(|it| it.parse().unwrap()).collect())
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::TERM).unwrap();
}

fn end_by_itself(server: Server, wrapper: u32) {
    kill(server.pid);
    wait_for_end(wrapper);
}

fn wait_for_end(pid: u32) {
    let began = Instant::now();
    while !has_ended(pid) {
        assert!(began.elapsed() < Duration::from_secs(60), "{pid} is left behind");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_wrapper_is_not_measured_leaves_nothing_behind_and_its_own_end_is_noticed() {
    let ends: [fn(Server, u32); 3] =
        [|server, _| drop(server), |mut server, _| server.end().unwrap(), end_by_itself];
    for (end, heard) in ends.iter().zip(["", "", "sh ended by itself (exit status: 143)"]) {
        let (program, server, numbers) = start(WRAPPER);
        let (server, [wrapper, helper]) = (server.unwrap(), numbers[..].try_into().unwrap());
        let pid = server.pid;
        assert!(pid != wrapper && pid != helper && descends_from(pid, wrapper));
        assert!(server.resident_bytes().unwrap() > 0 && !has_ended(pid) && !has_ended(helper));
        end(server, wrapper);
        assert!(has_ended(pid));
        wait_for_end(helper);
        assert_eq!(program.ended().join("; ").split("; sh said:").next(), Some(heard));
    }
}

#[test]
fn a_process_that_was_not_started_here_is_refused() {
    // It begins when its parent has ended, and ends if the test does not end it.
    let (_, server, _) = start(
        "(setsid sh -c \"sleep 0.3; exec timeout 100 $null --port $2\" &)\n\
         exec sleep 1000\n",
    );
    let error = format!("{:#}", server.err().unwrap());
    let number = error.split("process ").nth(1).and_then(|it| it.split(' ').next());
    let number = number.unwrap_or_else(|| panic!("{error}")).parse().unwrap();
    assert!(!has_ended(number), "it is left alone");
    kill(number);
}

#[test]
fn a_server_that_does_not_start_is_heard_on_both_streams() {
    let (_, server, _) = start("echo one; echo two >&2; echo three; echo four >&2; exit 3");
    let error = format!("{:#}", server.err().unwrap());
    assert!(error.contains("sh said: one | two | three | four"), "{error}");
    assert!(error.contains("sh ended: exit status: 3"), "{error}");
}

/// A server and a helper; the wrapper ends with the server's status.
const WRAPPER: &str = "\
    sleep 1000 &\n\
    echo $$ $! > $0.numbers\n\
    $null --port $2 &\n\
    wait $!\n";
