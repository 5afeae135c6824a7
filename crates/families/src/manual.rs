//! The table of commands as Markdown.

use crate::commands::FAMILIES;
use command::{Command, Flags, Group};
use std::fmt::Write;

const GROUPS: [(Group, &str); 16] = [
    (Group::String, "Strings"),
    (Group::Bitmap, "Bitmaps"),
    (Group::List, "Lists"),
    (Group::Hash, "Hashes"),
    (Group::Set, "Sets"),
    (Group::SortedSet, "Sorted sets"),
    (Group::Stream, "Streams"),
    (Group::Geo, "Places on earth"),
    (Group::HyperLogLog, "HyperLogLogs"),
    (Group::Generic, "Keys of any kind"),
    (Group::Connection, "Connections"),
    (Group::Server, "Server"),
    (Group::Transactions, "Transactions"),
    (Group::PubSub, "Messages"),
    (Group::Scripting, "Functions"),
    (Group::Cluster, "Cluster"),
];

/// Generates the manual of all commands from the rows.
pub fn manual() -> String {
    let mut page = String::from(
        "# Commands\n\n\
         Arguments, replies and error texts are those of Valkey 9.1. *Writes* says that a command \
         may change data, *memory* that it is refused when `maxmemory` is used up and nothing may \
         be evicted.\n",
    );
    for (group, title) in GROUPS {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "\n## {title}\n");
        let _ = writeln!(page, "| Command | Arguments | | Since | Meaning |");
        let _ = writeln!(page, "|---|---|---|---|---|");
        let mut lines: Vec<String> = Vec::new();
        for spec in FAMILIES.iter().copied().flatten().filter(|spec| spec.group == group) {
            lines.extend(is_called_alone(spec).then(|| line(spec, spec.name)));
            let name = |child: &Command| format!("{} {}", spec.name, child.name);
            lines.extend(spec.subcommands.iter().map(|child| line(child, &name(child))));
        }
        lines.sort();
        lines.iter().for_each(|line| page.push_str(line));
    }
    page
}

/// Returns false for commands that only lead to their subcommands.
fn is_called_alone(spec: &Command) -> bool {
    spec.subcommands.is_empty() || spec.arity != -2
}

fn line(spec: &Command, name: &str) -> String {
    let marks = [(Flags::WRITE, "writes"), (Flags::DENYOOM, "memory")];
    let marks: Vec<&str> =
        marks.iter().filter(|(flag, _)| spec.flags.contains(*flag)).map(|it| it.1).collect();
    let syntax = match spec.syntax {
        "" => String::new(),
        syntax => format!("`{}`", syntax.replace('|', "\\|")),
    };
    format!("| {name} | {syntax} | {} | {} | {} |\n", marks.join(", "), spec.since, spec.summary)
}

#[cfg(test)]
mod tests {
    use super::{is_called_alone, manual};
    use crate::commands::table;
    use command::Row;

    #[test]
    fn the_manual_has_a_line_for_each_row_of_the_table() {
        let manual = manual();
        let has_line = |row: &&Row| row.parent.is_some() || is_called_alone(row.spec);
        for row in table().rows().iter().filter(has_line) {
            let name = row.full_name.replace('|', " ").to_ascii_uppercase();
            assert!(manual.contains(&format!("| {name} |")), "{name}");
        }
    }

    #[test]
    fn the_manual_in_the_repository_is_the_generated_one() {
        let kept = include_str!("../../../docs/manual/commands.md");
        assert!(manual() == kept, "the table has changed: run `make manual`");
    }
}
