//! Mistakes of clients.

use super::super::super::generate::Dice;
use super::super::step::{Step, Word};
use super::text::LINE_MAX;

/// Harms a line.
pub fn harm(dice: &mut Dice, step: &mut Step) {
    if step.block.is_some() {
        return harm_block(dice, step);
    }
    // Without its word, it is answered with what no two servers have in common.
    if step.name() == "stats" {
        return;
    }
    // Memcached closes long lines that are none of keys, if they come in pieces.
    if step.words.iter().map(|word| word.bytes().len() + 1).sum::<usize>() > LINE_MAX {
        return;
    }
    let (len, at) = (step.words.len(), dice.below(step.words.len()));
    match dice.below(9) {
        0 if len > 1 => drop(step.words.remove(at)),
        1 => step.words.insert(at, step.words[at].clone()),
        2 => step.words.insert(1 + at, junk(dice)),
        3 => step.words[at] = junk(dice),
        4 => upper(&mut step.words[0]),
        // An empty word is a further blank.
        5 => step.words.insert(at, Word::text("")),
        6 => step.words.push(Word::text("")),
        7 => step.words.push(junk(dice)),
        _ => step.end = b"\n",
    }
}

/// Harms a line with a block, or the block: no more is announced than what comes.
fn harm_block(dice: &mut Dice, step: &mut Step) {
    let Some(block) = &mut step.block else { return };
    if block.bytes.len() > SHORT {
        return;
    }
    let len = block.bytes.len() as i64;
    let is_meta = step.words[0].bytes() == b"ms";
    let optional = if is_meta { 3 } else { 6 };
    match dice.below(10) {
        0 => block.end = b"\n\r\n",
        1 => block.end = b"ab\r\n",
        2 => block.end = b"\r\r\n",
        3 | 4 => {
            let by = (*dice.pick(&[-3, -2, -1, 1, 2, 5])).max(-len);
            replace_length(step, Word::Length(by));
        }
        5 => {
            let lengths =
                ["-1", "x", "", "1x", "2147483646", "2147483648", "4294967296", "-0", "-"];
            let length = dice.pick(&lengths);
            replace_length(step, Word::text(length));
            if length.is_empty() {
                // The next word would be the length.
                step.words.truncate(4);
            }
        }
        6 => step.words.truncate(2 + dice.below(2)),
        7 => upper(&mut step.words[0]),
        8 => step.end = b"\n",
        _ => {
            let at = optional.min(step.words.len());
            step.words.insert(at, junk(dice));
        }
    }
}

fn replace_length(step: &mut Step, length: Word) {
    for word in &mut step.words {
        if matches!(word, Word::Length(_)) {
            *word = length;
            return;
        }
    }
}

fn upper(word: &mut Word) {
    *word = Word::text(word.bytes().to_ascii_uppercase());
}

/// Draws a word; none is a length that would swallow what follows.
fn junk(dice: &mut Dice) -> Word {
    let long = "k".repeat(251);
    Word::text(dice.pick(&[
        "x",
        "0",
        "-1",
        "noreply",
        "99999999999999999999",
        "HTTP/1.1",
        "\t",
        "b",
        "q",
        "k",
        "\u{80}",
        &long,
    ]))
}

const SHORT: usize = 1000;
