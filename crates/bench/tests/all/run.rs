//! `varve-bench run` and `ycsb` as a user sees them: their output, files and exit status.

use std::process::{Command, Output};
use std::time::Duration;
use std::{fs, mem, thread};

use bench::null::{self, Replies};
use serde_json::Value;

use crate::fake;

/// Runs a command on a port; also returns what it wrote to `--json`.
fn bench(command: &str, port: u16, options: &str) -> (Output, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    let output = Command::new(env!("CARGO_BIN_EXE_varve-bench"))
        .args([command, "--port", &port.to_string()])
        .args(options.split(' '))
        .arg("--json")
        .arg(&path)
        .output()
        .unwrap();
    let written = fs::read_to_string(&path).unwrap();
    (output, serde_json::from_str(&written).unwrap())
}

fn said(stream: &[u8]) -> String {
    String::from_utf8_lossy(stream).into_owned()
}

fn null_server() -> u16 {
    let (listener, port) = fake::listen();
    thread::spawn(move || null::serve(&listener, 1, &Replies::new(10, 100)));
    port
}

/// Starts a server that answers each GET, sent one at a time, with the result of `answer`, until
/// that is `None`. All other commands are refused.
fn fake_server(mut answer: impl FnMut() -> Option<&'static str> + Clone + Send + 'static) -> u16 {
    fake::serve(move |request| {
        let is_get = request.starts_with(b"*2\r\n$3\r\nGET\r\n");
        let reply = if is_get { answer() } else { Some("-ERR unknown command\r\n") };
        Some(reply?.as_bytes().to_vec())
    })
}

#[test]
fn a_whole_run_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let (csv, pid) = (folder.path().join("samples.csv"), std::process::id());
    let options = format!(
        "--operations 5000 --client-threads 2 --choice zipf:0.5 --pid {pid} --csv {}",
        csv.display()
    );
    let (output, result) = bench("run", null_server(), &options);
    assert!(output.status.success(), "{}", said(&output.stderr));
    assert!(said(&output.stdout).contains("run: 5000 operations"));
    assert_eq!((&result["version"], &result["complete"]), (&3.into(), &true.into()));
    assert_eq!(result["totals"]["operations"], 5000);
    assert_eq!(result["settings"]["choice"]["zipf"]["exponent"], 0.5);
    let latency = |quantile: &str| result["latency_us"][quantile].as_f64().unwrap();
    assert!(0.0 < latency("p99.99") && latency("p99.99") <= latency("max"));
    let samples = result["samples"].as_array().unwrap();
    assert_eq!(samples.last().unwrap()["operations"], 5000);
    assert!(samples[0]["resident_bytes"].as_u64() > Some(100_000));
    let lines = fs::read_to_string(csv).unwrap();
    assert_eq!(lines.lines().count(), samples.len() + 1);
}

#[test]
fn phases_of_ycsb_are_told_by_kind_of_operation() {
    let options = "-p recordcount=100 -p operationcount=200 -p threadcount=3";
    let (output, result) = bench("ycsb", null_server(), options);
    assert!(output.status.success(), "{}", said(&output.stderr));
    let printed = said(&output.stdout);
    let lines = ["load: INSERT in us", "run: READ in us"];
    assert!(lines.iter().all(|it| printed.contains(it)), "{printed}");
    let [load, run] = [0, 1].map(|phase| &result["phases"][phase]);
    assert_eq!((&load["complete"], &load["kinds"]["INSERT"]["done"]), (&true.into(), &100.into()));
    assert_eq!(run["totals"]["operations"], 200);
}

#[test]
fn what_goes_wrong_is_named_and_leaves_what_was_measured() {
    let mut hundred = 0..100;
    let ends = fake_server(move || hundred.next().map(|_| "$1\r\nv\r\n"));
    let full = fake_server(|| Some("-OOM no memory left\r\n"));
    // Its listener is closed.
    let (_, gone) = fake::listen();
    // The first reply takes longer than the whole schedule; what was due is still done.
    let mut pause = Duration::from_millis(300);
    let slow = fake_server(move || {
        thread::sleep(mem::take(&mut pause));
        Some("$-1\r\n")
    });
    let late = "behind schedule";
    for (port, options, status, done, reason) in [
        (ends, "--operations 1000", "partial", 100, "after 100 operations"),
        (full, "--operations 70", "partial", 70, "70 errors, the first: OOM no memory left"),
        (gone, "--operations 100", "partial", 0, &format!("cannot connect to port {gone}")),
        (slow, "--operations 100 --rate 1000 --open even", late, 100, late),
    ] {
        let (output, result) =
            bench("run", port, &format!("{options} --connections 1 --pipeline 1"));
        let (error, printed) = (said(&output.stderr), said(&output.stdout));
        assert!(!output.status.success() && error.contains(reason), "{error}");
        assert!(printed.contains(&format!("run: {done} operations")), "{printed}");
        assert_eq!((&result["complete"], &result["status"]), (&false.into(), &status.into()));
        assert_eq!(result["totals"]["operations"], done);
        assert_eq!(result["error"].as_str().map(|it| error.contains(it)), Some(true));
        let schedule = &result["schedule"];
        assert_eq!(schedule["late_seconds_most"].as_f64() > Some(0.2), status == late);
        assert_eq!(schedule["unsent_at_end"].as_u64() > Some(90), status == late);
    }
}
