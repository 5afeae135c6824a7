//! `varve-bench run` as a user sees it: its output, its files and its exit status.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// Runs a load of GETs on a port; also returns what it wrote to `--json`.
fn run(port: u16, options: &[&str]) -> (Output, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let output = Command::new(env!("CARGO_BIN_EXE_varve-bench"))
        .args(["run", "--warm-up-ms", "0", "--port", &port.to_string()])
        .arg("--json")
        .arg(&path)
        .args(options)
        .output()
        .unwrap();
    (output, read(&path))
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn listen() -> (TcpListener, u16) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Starts a server that answers each GET, sent one at a time, with the result of `answer`, until
/// that is `None`. All other commands are refused.
fn fake(answer: impl Fn(u64) -> Option<Vec<u8>> + Clone + Send + 'static) -> u16 {
    let (listener, port) = listen();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, answer) = (stream.unwrap(), answer.clone());
            thread::spawn(move || serve(stream, answer));
        }
    });
    port
}

fn serve(mut stream: TcpStream, answer: impl Fn(u64) -> Option<Vec<u8>>) {
    let mut request = [0; 1024];
    let mut answered = 0;
    while let Ok(length @ 1..) = stream.read(&mut request) {
        let reply = if request[..length].starts_with(b"*2\r\n$3\r\nGET\r\n") {
            answered += 1;
            answer(answered)
        } else {
            Some(b"-ERR unknown command\r\n".to_vec())
        };
        let Some(reply) = reply else { return };
        if stream.write_all(&reply).is_err() {
            return;
        }
    }
}

#[test]
fn a_whole_run_is_complete() {
    let (listener, port) = listen();
    thread::spawn(move || bench::null::serve(&listener, 1, &bench::null::Replies::new(10, 100)));
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("samples.csv");
    let options = ["--operations", "5000", "--client-threads", "2", "--choice", "zipf:0.5"];
    let pid = std::process::id().to_string();
    let more = ["--pid", &pid, "--csv", csv.to_str().unwrap()];
    let (output, result) = run(port, &[&options[..], &more].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("run: 5000 operations"));
    assert_eq!((&result["version"], &result["complete"]), (&3.into(), &true.into()));
    assert_eq!(result["totals"]["operations"], 5000);
    assert_eq!(result["settings"]["choice"]["zipf"]["exponent"], 0.5);
    let latency = |quantile: &str| result["latency_us"][quantile].as_f64().unwrap();
    assert!(0.0 < latency("p99.99") && latency("p99.99") <= latency("max"));
    let samples = result["samples"].as_array().unwrap();
    assert_eq!(samples.last().unwrap()["operations"], 5000);
    assert!(samples[0]["resident_bytes"].as_u64() > Some(100_000));
    let lines = std::fs::read_to_string(csv).unwrap();
    assert_eq!(lines.lines().count(), samples.len() + 1);
}

#[test]
fn phases_of_ycsb_are_told_by_kind_of_operation() {
    let (listener, port) = listen();
    thread::spawn(move || bench::null::serve(&listener, 1, &bench::null::Replies::new(10, 100)));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let output = Command::new(env!("CARGO_BIN_EXE_varve-bench"))
        .args(["ycsb", "--port", &port.to_string(), "-p", "recordcount=100"])
        .args(["-p", "operationcount=200", "-p", "threadcount=3"])
        .arg("--json")
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("load: INSERT in us") && said.contains("run: READ in us"), "{said}");
    let [load, run] = [0, 1].map(|phase| read(&path)["phases"][phase].clone());
    assert_eq!((&load["complete"], &load["kinds"]["INSERT"]["done"]), (&true.into(), &100.into()));
    assert_eq!(run["totals"]["operations"], 200);
}

#[test]
fn what_goes_wrong_is_named_and_leaves_what_was_measured() {
    let ends = fake(|answered| (answered <= 100).then(|| b"$1\r\nv\r\n".to_vec()));
    let full = fake(|_| Some(b"-OOM no memory left\r\n".to_vec()));
    // Its listener is closed.
    let (_, gone) = listen();
    for (port, count, done, reason) in [
        (ends, "1000", 100, "after 100 operations"),
        (full, "70", 70, "70 errors, the first: OOM no memory left"),
        (gone, "100", 0, &format!("cannot connect to port {gone}")),
    ] {
        let options = ["--connections", "1", "--pipeline", "1", "--operations", count];
        let (output, result) = run(port, &options);
        let (said, printed) = (stderr(&output), String::from_utf8_lossy(&output.stdout));
        assert!(!output.status.success() && said.contains(reason), "{said}");
        assert!(printed.contains(&format!("run: {done} operations")), "{printed}");
        assert_eq!((&result["complete"], &result["status"]), (&false.into(), &"partial".into()));
        assert_eq!(result["totals"]["operations"], done);
        assert_eq!(result["error"].as_str().map(|error| said.contains(error)), Some(true));
    }
}

#[test]
fn an_open_loop_that_cannot_be_held_says_so() {
    // The first reply takes longer than the whole schedule.
    let port = fake(|answered| {
        if answered == 1 {
            thread::sleep(Duration::from_millis(300));
        }
        Some(b"$-1\r\n".to_vec())
    });
    let options = ["--rate", "1000", "--open", "even", "--operations", "100"];
    let more = ["--connections", "1", "--pipeline", "1"];
    let (output, result) = run(port, &[&options[..], &more].concat());
    assert!(!output.status.success());
    let said = stderr(&output);
    assert!(said.contains("behind schedule"), "{said}");
    assert_eq!(
        (&result["complete"], &result["status"]),
        (&false.into(), &"behind schedule".into())
    );
    assert_eq!(result["totals"]["operations"], 100, "what was due is still done");
    assert!(result["schedule"]["late_seconds_most"].as_f64() > Some(0.2));
    assert!(result["schedule"]["unsent_at_end"].as_u64() > Some(90));
}
