//! Notes of attributes, which are a part of the command behind them.

use super::*;

const NOTE: &str = "*2\r\n$4\r\nECHO\r\n$8\r\nvarve:f5\r\n";

/// Units with what is noted for their commands: the first word of each, and its note.
fn noted(bytes: &[u8]) -> (Vec<String>, Option<(u64, Why)>, u64) {
    with_file(bytes, |file| {
        let (mut reader, mut units) = (AofReader::new(file, 0).expect("opened"), Vec::new());
        loop {
            match reader.next_unit() {
                Ok(None) => return (units, None, reader.whole()),
                Err(ReadError::Broken { offset, why }) => {
                    return (units, Some((offset, why)), reader.whole());
                }
                Err(ReadError::Disk(error)) => panic!("{error}"),
                Ok(Some(unit)) => {
                    let text = |number: usize| {
                        unit.note(number).map(|it| String::from_utf8_lossy(it).into_owned())
                    };
                    let commands = unit.commands().enumerate().map(|(number, words)| {
                        let words: Vec<_> = words.map(String::from_utf8_lossy).collect();
                        text(number).map_or(String::new(), |it| format!("<{it}>"))
                            + &words.join(" ")
                    });
                    let commands: Vec<_> = commands.collect();
                    let notes = commands.iter().filter(|it| it.starts_with('<')).count();
                    assert_eq!(unit.notes(), notes);
                    units.push(commands.join("; "));
                }
            }
        }
    })
}

#[test]
fn a_note_and_its_command_are_one_unit() {
    let file = format!("{NOTE}{SET}{SET}{MULTI}{SET}{NOTE}{SET}{EXEC}{NOTE}{MULTI}{SET}{EXEC}");
    let (units, broken, _) = noted(file.as_bytes());
    assert_eq!(broken, None);
    let framed = "SET k value; <f5>SET k value";
    assert_eq!(units, ["<f5>SET k value", "SET k value", framed, "SET k value"]);
    let other = "*2\r\n$4\r\nECHO\r\n$5\r\nvarve\r\n";
    assert_eq!(noted(other.as_bytes()).0, ["ECHO varve"]);
}

#[test]
fn a_file_that_ends_behind_a_note_ends_before_it() {
    let file = format!("{SET}{NOTE}{SET}");
    for len in SET.len() + 1..file.len() {
        let (units, broken, whole) = noted(&file.as_bytes()[..len]);
        assert_eq!(units, ["SET k value"]);
        assert_eq!(whole, SET.len() as u64, "{len} bytes");
        let (_, why) = broken.expect("it is torn");
        assert!(matches!(why, Why::Ended | Why::Unfinished), "{why}");
        let found = look(&file.as_bytes()[..len]);
        assert!(matches!(found.state, State::Torn { .. }), "{:?}", found.state);
        assert_eq!(found.whole, SET.len() as u64);
    }
}

#[test]
fn a_batch_has_each_note_before_the_words_of_its_command() {
    let file = format!("{SET}{NOTE}{SET}").repeat(20);
    with_file(file.as_bytes(), |file| {
        let (mut reader, mut commands) = (AofReader::new(file, 0).expect("opened"), Vec::new());
        while let Some(batch) = reader.next_batch(7).expect("read") {
            for (bytes, places, is_noted) in batch.commands() {
                let words: Vec<_> = places.iter().map(|it| &bytes[it.clone()]).collect();
                commands.push((words.concat(), is_noted));
            }
        }
        let pair = [(b"SETkvalue".to_vec(), false), (b"f5SETkvalue".to_vec(), true)];
        assert_eq!(commands, vec![pair; 20].concat());
    });
}
