//! Proofs of a size for each run of the tests.

use super::proof::Proof;
use super::scripts;
use crate::differential::generate::Generator;
use crate::differential::step::request;
use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(folder);
    let all = fs::read_dir(folder).expect("a folder").filter_map(|it| Some(it.ok()?.path()));
    let mut files: Vec<PathBuf> =
        all.filter(|it| it.extension().is_some_and(|it| it == "txt")).collect();
    files.sort();
    files
}

fn play(folder: &str) {
    let mut proof = Proof::new(Vec::new());
    for file in files(folder) {
        scripts::play(&mut proof, &file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
    assert!(proof.figures().effects > 500, "{}", proof.figures());
}

#[test]
fn effects_of_the_transcripts_make_the_same_data() {
    play("transcripts");
}

#[test]
fn effects_of_the_files_of_events_make_the_same_data() {
    play("events");
}

#[test]
fn effects_of_random_commands_make_the_same_data() {
    let (seed, rounds) = (1, 12);
    let generator = Generator::new(seed, None, false);
    let mut proof = Proof::new(Vec::new());
    for number in 0..rounds {
        proof.round(&generator, seed, number).unwrap_or_else(|error| panic!("{number}: {error}"));
    }
}

#[test]
fn keys_that_are_evicted_go_elsewhere_too() {
    let mut proof = Proof::new(Vec::new());
    proof.limit_memory(48 << 20);
    for number in 0..3000_u32 {
        let (key, value) = (format!("k{}", number % 700), "v".repeat(100_000));
        let words = match number % 3 {
            0 => request(&["SET", &key, &value]),
            1 => request(&["RPUSH", &format!("l{key}"), &value, &value]),
            _ => request(&["HSET", &format!("h{key}"), &key, &value]),
        };
        proof.send(0, &words).expect("the follower follows");
    }
    assert!(proof.figures().evicted > 100, "keys were evicted");
    proof.look().expect("the same keys are left");
}
