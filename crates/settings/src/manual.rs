//! Manual of the settings: the table as Markdown.

use crate::row::{Kind, Row};
use crate::rows::GROUPS;
use crate::value::{OutputLimits, default_of, expected};
use std::fmt::Write;

/// Returns the manual of all settings, generated from the rows.
pub fn manual() -> String {
    let mut page = String::from(
        "# Settings\n\n\
         A setting is given as `name value` on a line of the configuration file, or as \
         `--name value` on the command line. Those marked *live* can also be changed while the \
         server runs, with `CONFIG SET`.\n",
    );
    for (title, rows) in GROUPS {
        // Writing to a String cannot fail.
        let _ = writeln!(page, "\n## {title}\n");
        let _ = writeln!(page, "| Name | Value | Default | Changes | Meaning |");
        let _ = writeln!(page, "|---|---|---|---|---|");
        for row in rows {
            let _ = writeln!(page, "{}", line(row));
        }
    }
    page
}

fn line(row: &Row) -> String {
    let alias = match row.alias {
        "" => String::new(),
        alias => format!(" (also `{alias}`)"),
    };
    let mut when = if row.live { "live" } else { "at start" }.to_owned();
    if row.protected {
        when.push_str(", protected");
    }
    let value = match row.kind {
        Kind::Fixed { .. } => "only the default".to_owned(),
        _ => expected(row),
    };
    let mut doc = row.doc.to_owned();
    if !row.idle_because.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(doc, " **No effect**: {}.", row.idle_because);
    }
    format!("| `{}`{alias} | {value} | `{}` | {when} | {doc} |", row.name, default(row))
}

fn default(row: &Row) -> String {
    match row.kind {
        Kind::Directory => "where it is started".to_owned(),
        Kind::OutputLimits => OutputLimits::DEFAULT.to_string(),
        _ => match String::from_utf8_lossy(&default_of(row).words().join(&b' ')).as_ref() {
            "" => "\"\"".to_owned(),
            shown => shown.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::manual;
    use crate::rows::all;

    #[test]
    fn the_manual_names_every_setting() {
        let manual = manual();
        for row in all() {
            assert!(manual.contains(&format!("| `{}`", row.name)), "{}", row.name);
        }
    }

    #[test]
    fn the_manual_in_the_repository_is_the_generated_one() {
        let kept = include_str!("../../../docs/manual/settings.md");
        assert!(manual() == kept, "the table has changed: run `make manual`");
    }
}
