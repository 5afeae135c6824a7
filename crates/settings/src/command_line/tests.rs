use super::{Invocation, Loaded, Request, load};
use crate::memory::MAXMEMORY;
use crate::network::{BIND, PORT, TIMEOUT};
use std::fs;

fn options(arguments: &[&str]) -> String {
    let arguments: Vec<Vec<u8>> = arguments.iter().map(|word| word.as_bytes().to_vec()).collect();
    String::from_utf8(Request::of(&arguments).options).expect("the arguments are UTF-8")
}

fn start(arguments: &[&str], mut stdin: &[u8]) -> Result<Loaded, String> {
    let arguments = arguments.iter().map(Into::into);
    match load(arguments, &mut stdin) {
        Ok(Invocation::Serve(loaded)) => Ok(loaded),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn each_option_becomes_a_line_of_a_file() {
    assert_eq!(
        options(&["--port", "6380", "--save", "", "--maxmemory", "100mb"]),
        "port \"6380\" \nsave \"\" \nmaxmemory \"100mb\" "
    );
    assert_eq!(options(&["--save", "900", "1", "300", "10"]), "save \"900\" \"1\" \"300\" \"10\" ");
}

#[test]
fn a_name_and_its_value_may_be_one_argument() {
    assert_eq!(options(&["--port 6380", "--timeout", "1"]), "port 6380 \ntimeout \"1\" ");
}

#[test]
fn a_value_may_start_with_dashes_but_save_may_have_none() {
    assert_eq!(
        options(&["--requirepass", "--x", "--port", "1"]),
        "requirepass \"--x\" \nport \"1\" "
    );
    assert_eq!(options(&["--save", "--port", "1"]), "save \"\"\nport \"1\" ");
    assert_eq!(options(&["--save"]), "save \"\"");
}

#[test]
fn options_win_over_standard_input_which_wins_over_the_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("v.conf");
    fs::write(&file, "port 1\ntimeout 1\nmaxmemory 1").expect("written");
    let file = file.to_str().expect("UTF-8");
    let loaded = start(&[file, "--port", "3", "-"], b"port 2\ntimeout 2").expect("valid");
    assert_eq!(PORT.get(&loaded.settings), 3);
    assert_eq!(TIMEOUT.get(&loaded.settings), 2);
    assert_eq!(MAXMEMORY.get(&loaded.settings), 1);
    assert_eq!(loaded.config_file.as_deref().and_then(|path| path.to_str()), Some(file));
}

#[test]
fn without_arguments_everything_is_at_its_default_and_there_is_no_file() {
    let loaded = start(&[], b"port 1").expect("valid");
    assert_eq!(PORT.get(&loaded.settings), 6379);
    assert_eq!(loaded.config_file, None);
}

#[test]
fn standard_input_is_read_when_asked_for_first_or_last() {
    let port = |arguments: &[&str]| PORT.get(&start(arguments, b"port 5").expect("valid").settings);
    assert_eq!(port(&["-"]), 5);
    assert_eq!(port(&["-", "--timeout", "1"]), 5);
    assert_eq!(port(&["--timeout", "1", "-"]), 5);
}

#[test]
fn several_words_reach_their_setting() {
    let loaded = start(&["--bind", "127.0.0.1", "::1", "--save", ""], b"").expect("valid");
    assert_eq!(*BIND.get(&loaded.settings), ["127.0.0.1", "::1"]);
    let loaded = start(&["--bind", "127.0.0.1 ::1"], b"").expect("valid");
    assert_eq!(*BIND.get(&loaded.settings), ["127.0.0.1", "::1"]);
}

#[test]
fn a_wrong_option_is_reported_as_the_line_it_became() {
    let report = start(&["--timeout", "1", "--port", "x"], b"").expect_err("not a port");
    assert!(report.contains("at line 2 of the command line\n>>> 'port \"x\"'"), "{report}");
}

#[test]
fn a_missing_file_is_reported_with_its_name() {
    let report = start(&["/no/such.conf"], b"").expect_err("there is no such file");
    assert!(
        report.contains("can't open config file '/no/such.conf': No such file or directory"),
        "{report}"
    );
}

#[test]
fn help_and_version_are_recognised_as_the_first_argument() {
    assert_eq!(start(&["--help"], b"").expect_err("no settings"), "Help");
    assert_eq!(start(&["-v"], b"").expect_err("no settings"), "Version");
}
