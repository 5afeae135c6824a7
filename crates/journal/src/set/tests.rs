//! Sets of files on a simulated disk.

use super::*;
use crate::disk::simulated::SimulatedFiles;
use std::thread;

fn open(files: &SimulatedFiles) -> Result<Set<SimulatedFiles>, SetError> {
    Set::open(files.clone(), "a.aof")
}

#[test]
fn an_empty_directory_is_an_empty_set() {
    let files = SimulatedFiles::new();
    files.put("other", &[b'x'; 1_000]);
    assert_eq!(open(&files).expect("a set").manifest(), &Manifest::default());
}

#[test]
fn what_a_manifest_names_must_be_there_but_for_history() {
    let files = SimulatedFiles::new();
    files.put("a.aof.manifest", b"file x seq 1 type h\nfile y seq 2 type i\n");
    assert!(matches!(open(&files), Err(SetError::Missing(name)) if name == "y"));
    files.put("y", b"");
    let mut set = open(&files).expect("a set");
    while !matches!(set.delete_step(1, |_| false).expect("a step"), Deletion::Done) {}
    assert_eq!(files.contents("a.aof.manifest"), Some(b"file y seq 2 type i\n".to_vec()));
}

#[test]
fn history_that_is_kept_stays_until_it_is_kept_no_longer() {
    let files = SimulatedFiles::new();
    let lines = ["base seq 1", "kept seq 1", "x seq 2"].map(|it| format!("file {it} type h\n"));
    files.put("a.aof.manifest", format!("{}file y seq 3 type i\n", lines.concat()).as_bytes());
    for name in ["base", "kept", "x", "y"] {
        files.put(name, b"some");
    }
    let mut set = open(&files).expect("a set");
    let mut delete = |kept: &str| {
        let mut removed = 0;
        while let Deletion::Removed = set.delete_step(100, |name| name == kept).expect("a step") {
            removed += 1;
        }
        let manifest = files.contents("a.aof.manifest").expect("there");
        (removed, String::from_utf8(manifest).expect("text"))
    };
    let left = format!("{}file y seq 3 type i\n", lines[1]);
    assert_eq!(delete("kept"), (2, left.clone()));
    assert_eq!(delete("kept"), (0, left));
    assert!(files.contents("kept").is_some() && files.contents("x").is_none());
    assert_eq!(delete(""), (1, "file y seq 3 type i\n".to_owned()));
    assert!(files.contents("kept").is_none() && files.contents("y").is_some());
}

#[test]
fn data_without_a_manifest_is_not_overwritten() {
    let files = SimulatedFiles::new();
    files.put("a.aof.1.incr.aof", &[b'x'; 100]);
    assert!(open(&files).is_ok(), "a header, whose manifest was never written");
    files.put("a.aof.2.base.rdb", &[b'x'; 1_000]);
    assert!(matches!(open(&files), Err(SetError::NoManifest(_))));
}

#[test]
fn a_manifest_that_is_wrong_is_named() {
    let files = SimulatedFiles::new();
    files.put("a.aof.manifest", b"# set\nfile ../x seq 1 type i\n");
    let message = open(&files).expect_err("refused").to_string();
    assert_eq!(message, "a.aof.manifest: line 2: the name of a file may not be a path");
}

#[test]
fn numbers_go_on_where_history_ends() {
    let files = SimulatedFiles::new();
    files.put("a.aof.manifest", b"file x seq 7 type h\nfile a.aof.3.incr.aof seq 3 type i\n");
    files.put("a.aof.3.incr.aof", b"");
    let mut set = open(&files).expect("a set");
    set.begin_incremental(b"").expect("begun");
    assert_eq!(set.last_incremental(), 8);
}

#[test]
fn leftovers_of_interrupted_changes_are_removed() {
    let files = SimulatedFiles::new();
    files.put("temp-a.aof.manifest", b"half");
    files.put("temp-a.aof.base", b"half");
    open(&files).expect("a set");
    assert!(files.list().expect("listed").is_empty());
}

#[test]
fn a_rehearsal_tells_whether_a_set_can_be_begun_and_leaves_no_trace() {
    let files = SimulatedFiles::new();
    let rehearse = || Set::rehearse(files.clone(), "a.aof");
    for name in ["temp-a.aof.base", "temp-a.aof.manifest", "a.aof.1.incr.aof"] {
        files.put(name, &[b'x'; 1_000]);
    }
    rehearse().expect("a set");
    assert_eq!(files.list().expect("listed").len(), 3);
    files.set_full(true);
    assert!(matches!(rehearse(), Err(SetError::Disk { doing: "write", .. })));
    assert_eq!(files.list().expect("listed").len(), 3);
    files.set_full(false);
    files.put("a.aof.manifest", b"file a.aof.2.incr.aof seq 2 type i\n");
    assert!(matches!(rehearse(), Err(SetError::Missing(_))));
}

#[test]
fn opening_a_set_and_rehearsing_that_are_in_nobodys_way() {
    let files = SimulatedFiles::new();
    let rehearse = || (0..2_000).for_each(|_| Set::rehearse(files.clone(), "a.aof").expect("fit"));
    thread::scope(|scope| {
        scope.spawn(rehearse);
        scope.spawn(|| (0..2_000).for_each(|_| drop(open(&files).expect("a set"))));
    });
    assert!(files.list().expect("listed").is_empty());
}

#[test]
fn a_look_leaves_all_that_a_writer_is_about_to_switch() {
    let files = SimulatedFiles::new();
    assert!(matches!(Set::look(files.clone(), "a.aof"), Err(SetError::Disk { .. })));
    for name in ["temp-a.aof.manifest", "temp-a.aof.base", "temp-a.aof.incr", "a.aof.1.incr.aof"] {
        files.put(name, b"half");
    }
    assert!(Set::look(files.clone(), "a.aof").is_err());
    files.put("a.aof.manifest", b"file a.aof.1.incr.aof seq 1 type i\n");
    let set = Set::look(files.clone(), "a.aof").expect("a set");
    assert_eq!(set.last_incremental(), 1);
    assert_eq!(files.list().expect("listed").len(), 5);
}
