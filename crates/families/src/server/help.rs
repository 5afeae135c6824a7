//! HELP of a command with subcommands: its rows, as lines.

use command::{Call, Command, Outcome};

/// Handler of every HELP row.
pub(crate) fn help(call: &mut Call<'_>) -> Outcome {
    let lines = call.row.parent.map(lines).unwrap_or_default();
    call.reply.array(lines.len());
    lines.iter().for_each(|line| call.reply.simple(line));
    Ok(())
}

fn lines(parent: &Command) -> Vec<String> {
    let title = "<subcommand> [<arg> [value] [opt] ...]. Subcommands are:";
    let mut lines = vec![format!("{} {title}", parent.name)];
    if parent.arity == -1 {
        lines.push("(no subcommand)".to_owned());
        lines.push(format!("    {}", parent.summary));
    }
    for row in parent.subcommands {
        lines.push(format!("{} {}", row.name, bracketed(row.syntax)).trim_end().to_owned());
        lines.push(format!("    {}", row.summary));
    }
    lines
}

/// Returns a syntax with the placeholders for values in angle brackets.
fn bracketed(syntax: &str) -> String {
    let mut text = String::new();
    for word in syntax.split_inclusive([' ', '[', ']', '|', '<', '>']) {
        let name = word.trim_end_matches([' ', '[', ']', '|', '<', '>']);
        let rest = &word[name.len()..];
        if name.contains(|letter: char| letter.is_ascii_lowercase()) {
            text.push_str(&format!("<{name}>{rest}"));
        } else {
            text.push_str(word);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_stand_for_something_else_are_bracketed() {
        assert_eq!(bracketed("key [SAMPLES count]"), "<key> [SAMPLES <count>]");
        assert_eq!(bracketed("pattern [pattern ...]"), "<pattern> [<pattern> ...]");
        assert_eq!(bracketed(""), "");
    }
}
