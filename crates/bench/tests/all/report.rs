//! `varve-bench report` as a user sees it: runs in which something fails.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Scenarios, a server, and a folder for the results.
struct Place(TempDir);

impl Place {
    fn new(scenarios: &[(&str, &str)]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.path("scenarios")).unwrap();
        for (name, text) in scenarios {
            fs::write(place.path("scenarios").join(format!("{name}.toml")), text).unwrap();
        }
        fs::write(place.path("server"), SERVER).unwrap();
        fs::set_permissions(place.path("server"), fs::Permissions::from_mode(0o755)).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the exit status of a run, and what it prints to each stream.
    fn report(&self, options: &[&str]) -> (Option<i32>, String, String) {
        let Output { status, stdout, stderr } = self.command(options).output().unwrap();
        let [printed, said] = [stdout, stderr].map(|it| String::from_utf8(it).unwrap());
        (status.code(), printed, said)
    }

    fn command(&self, options: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_varve-bench"));
        command.args(["report", "--name", "test", "--scenarios"]).arg(self.path("scenarios"));
        command.arg("--results").arg(self.path("results")).args(options);
        // The last output of the server must be its error.
        command.env("RUST_BACKTRACE", "0").env("PEERS", self.path("no-peers"));
        command.env("VARVE_SERVER", self.path("server"));
        command.env("NULL_SERVER", env!("CARGO_BIN_EXE_varve-null"));
        command
    }

    /// Returns the text of the only result file with this ending.
    fn result(&self, ending: &str) -> String {
        let files = fs::read_dir(self.path("results")).unwrap();
        let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|it| it == ending));
        assert_eq!(paths.len(), 1, "{paths:?}");
        fs::read_to_string(&paths[0]).unwrap()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.result("json")).unwrap()
    }
}

#[test]
fn a_server_that_dies_ends_its_scenario_and_no_other_and_what_is_not_there_is_named() {
    let cluster = "title = \"Shards\"\nskipped = \"needs a cluster\"\n";
    let place = Place::new(&[("a-dies", POLICIES), ("b-lives", OVERHEAD), ("c-shards", cluster)]);
    let (status, printed, said) = place.report(&[]);
    assert!(status == Some(1) && said.contains("scenarios were broken off"), "{said}");
    assert!(printed.contains("SKIPPED: needs a cluster"), "{printed}");
    let report = place.json();
    assert_eq!(report["complete"], true, "it came to its end");
    let [dies, lives, shards] = &report["sections"].as_array().unwrap()[..] else {
        panic!("{report}")
    };
    let reason = dies["state"]["failed"].as_str().unwrap();
    assert!(reason.contains("greedy ended by itself (exit status: 1)"), "{reason}");
    assert!(reason.contains("Too many open files"), "its last words: {reason}");
    let rows = dies["rows"].as_array().unwrap().iter();
    let failed = rows.filter(|row| row[2] == "failed").map(|row| &row[1]);
    assert_eq!(failed.collect::<Vec<_>>(), ["greedy"], "the others are measured");
    assert_eq!(dies["rows"].as_array().unwrap().len(), 3);
    assert_eq!(lives["state"], "measured");
    assert!(!lives["rows"].as_array().unwrap().is_empty());
    let reason = shards["state"]["skipped"].as_str().unwrap();
    assert!(reason.starts_with("needs a cluster"), "{reason}");
    for ending in ["md", "html"] {
        let text = place.result(ending);
        assert!(text.contains("FAILED, and incomplete") && text.contains("SKIPPED"), "{ending}");
    }
}

#[test]
fn a_run_that_goes_on_keeps_what_was_measured_and_measures_the_rest() {
    let place = Place::new(&[("b-measured", OVERHEAD)]);
    let mut run = place.command(&[]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // A reader that has seen enough, as `head` has, does not end the run.
    drop(run.stdout.take());
    assert!(run.wait().unwrap().success());
    let earlier = place.json();
    fs::write(place.path("earlier.json"), earlier.to_string()).unwrap();
    fs::write(place.path("scenarios").join("a-rest.toml"), OVERHEAD).unwrap();
    let path = place.path("earlier.json").display().to_string();
    let (_, _, said) = place.report(&["--resume", &path]);
    let lines = "[1 of 2] a-rest\n[2 of 2] b-measured: measured before\n";
    assert!(said.contains(lines), "{said}");
    let report = place.json();
    assert_eq!(report["sections"][0]["name"], "a-rest");
    assert_eq!(report["sections"][1], earlier["sections"][0]);
    let (status, _, said) = place.report(&["--resume", &path, "--scale", "0.5"]);
    assert!(status == Some(1) && said.contains("scale was 1 and is 0.5 now"), "{said}");
}

#[test]
fn a_run_that_is_impossible_is_refused_before_anything_is_started_or_written() {
    let place = Place::new(&[("overhead", OVERHEAD)]);
    fs::write(place.path("recorded.json"), json!({"version": 7}).to_string()).unwrap();
    let [recorded, server] =
        ["recorded.json", "no-server"].map(|it| place.path(it).display().to_string());
    for (options, reasons) in [
        (["--against", &recorded], ["recorded.json: the file has version 7", ""]),
        (["--set", "haste=3"], ["\"haste=3\" does not fit \"overhead\"", ""]),
        (["--server", &server], ["there is no server", &server]),
    ] {
        let (status, _, said) = place.report(&options);
        assert!(status == Some(1) && reasons.iter().all(|it| said.contains(it)), "{said}");
        assert!(!place.path("server.started").exists() && !place.path("results").exists());
    }
}

#[test]
fn the_program_writes_the_page_and_prints_what_got_worse_or_names_a_bad_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let better = fs::read_to_string(SAMPLE).unwrap().replace("0.446", "0.3");
    fs::write(path("better.json"), better).unwrap();
    let run = |against: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_varve-bench"));
        command.args(["page", SAMPLE, "--against", &path(against), "--out", &path("report.html")]);
        let output = command.output().unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.success(), said)
    };
    let (is_written, said) = run("missing.json");
    assert!(!is_written && said.contains("missing.json: No such file"), "{said}");
    assert!(!fs::exists(path("report.html")).unwrap());
    let (is_written, said) = run("better.json");
    let worse = said.split("## Worse").nth(1).unwrap();
    assert!(is_written && worse.contains("| CPU of GET / Valkey"), "{said}");
    assert!(worse.contains("worse, +49 %"), "{said}");
    assert!(fs::read_to_string(path("report.html")).unwrap().ends_with("</html>\n"));
}

/// The null server. Under one reclaim policy, neither the first nor the last, it may open fewer
/// files than it gets clients, and ends while they are served.
const SERVER: &str = r#"#!/bin/sh
: > "$0.started"
case "$*" in
  *"reclaim-policy greedy"*)
    ulimit -n 20
    exec "$NULL_SERVER" --port "$2"
    ;;
  *) exec "$NULL_SERVER" --port "$2" ;;
esac
"#;
const POLICIES: &str = r#"
title = "SETs by policy"
kind = "script"

[parameters]
columns = "what | policy | us .3"
servers = [
  { program = "varve", label = "original", options = { reclaim-policy = "original" } },
  { program = "varve", label = "greedy", options = { reclaim-policy = "greedy" } },
  { program = "varve", label = "modified", options = { reclaim-policy = "modified" } },
]
values = ["it.us"]

[[parameters.groups]]
fresh = true
rows = [{ name = "SET" }]
steps = [{ load = { name = "it", request = "SET k{n} v", count = 10_000 } }]
"#;
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sample-report.json");
const OVERHEAD: &str = r#"
title = "Overhead"
kind = "script"

[parameters]
ms = 10
servers = ["varve"]

[[parameters.groups]]
rows = [{ name = "GET" }]
steps = [{ load = { name = "cost", request = "GET k{n:15}", keys = 200, ms = "= ms" } }]
"#;
