//! What an operator types while a server follows.

use std::io::BufRead;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// What to type, for people.
pub const HELP: &str = "type `cut-over` to move clients, `status`, or `quit`";

/// A word of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Clients are to be moved: writes are held back at the source.
    CutOver,
    /// The same, and nobody writes to the source any more.
    CutOverStopped,
    /// The target is to be left alone, and clients are moved then.
    Switch,
    /// Clients stay where they are.
    Back,
    /// How far is it?
    Status,
    /// It is to end.
    Quit,
    /// Nothing that is known.
    Unknown,
}

/// Lines of standard input.
#[derive(Debug)]
pub struct Console(Receiver<String>);

impl Console {
    /// Begins to listen. At the end of standard input nothing more comes.
    pub fn listen() -> Console {
        let (sender, receiver) = channel();
        // It ends with the process: nobody can wake who reads from a terminal.
        thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Console(receiver)
    }

    /// The next word, if one was typed.
    pub fn word(&self) -> Option<Word> {
        self.0.try_recv().ok().map(|line| parse(&line))
    }
}

fn parse(line: &str) -> Word {
    let words: Vec<String> = line.split_whitespace().map(str::to_ascii_lowercase).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["cut-over"] => Word::CutOver,
        ["cut-over", "stopped"] => Word::CutOverStopped,
        ["switch"] => Word::Switch,
        ["back"] => Word::Back,
        ["status"] => Word::Status,
        ["quit" | "exit"] => Word::Quit,
        _ => Word::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_known_in_any_case() {
        assert_eq!(parse(" Cut-Over \r"), Word::CutOver);
        assert_eq!(parse("cut-over stopped"), Word::CutOverStopped);
        assert_eq!([parse(""), parse("cut over"), parse("yes")], [Word::Unknown; 3]);
    }
}
