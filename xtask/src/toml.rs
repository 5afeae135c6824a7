//! As much of TOML as the repository's own files use: tables, keys, strings, numbers, lists.

/// One `key = value`, with the value as written.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry {
    pub line: usize,
    /// `a.b` for `[a.b]` and for `[[a.b]]`.
    pub table: String,
    /// How many table headers came before: tells the rows of `[[a]]` apart.
    pub table_number: usize,
    pub key: String,
    pub value: String,
}

impl Entry {
    /// The strings of the value: one for a string, any number for a list.
    pub fn strings(&self) -> Vec<&str> {
        self.value.split('"').skip(1).step_by(2).collect()
    }

    pub fn string(&self) -> &str {
        self.strings().first().copied().unwrap_or("")
    }

    pub fn number(&self) -> Option<usize> {
        self.value.trim().replace('_', "").parse().ok()
    }
}

pub fn entries(text: &str) -> Vec<Entry> {
    let mut found: Vec<Entry> = Vec::new();
    let (mut table, mut table_number) = (String::new(), 0);
    let mut is_open = false;
    for (index, line) in text.lines().enumerate() {
        let line = without_comment(line).trim();
        if is_open {
            if let Some(entry) = found.last_mut() {
                entry.value.push_str(line);
                is_open = !is_balanced(&entry.value);
            }
        } else if line.starts_with('[') {
            table = line.trim_matches(['[', ']']).trim().to_owned();
            table_number += 1;
        } else if let Some((key, value)) = line.split_once('=') {
            is_open = !is_balanced(value);
            found.push(Entry {
                line: index + 1,
                table: table.clone(),
                table_number,
                key: key.trim().trim_matches('"').to_owned(),
                value: value.trim().to_owned(),
            });
        }
    }
    found
}

fn without_comment(line: &str) -> &str {
    let is_outside = |at: usize| line[..at].matches('"').count().is_multiple_of(2);
    let start = line.match_indices('#').map(|(at, _)| at).find(|&at| is_outside(at));
    &line[..start.unwrap_or(line.len())]
}

fn is_balanced(value: &str) -> bool {
    let outside: Vec<&str> = value.split('"').step_by(2).collect();
    let count = |sign: char| outside.iter().map(|part| part.matches(sign).count()).sum::<usize>();
    count('[') <= count(']') && count('{') <= count('}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_may_span_lines() {
        let found = entries("[a]\nb = [ # why\n  \"c\", # \"no\"\n  \"d#\",\n]\ne = 1_000\n");
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].strings(), ["c", "d#"]);
        assert_eq!((found[1].line, found[1].number()), (6, Some(1000)));
    }

    #[test]
    fn rows_of_one_table_are_told_apart() {
        let found = entries("[[a]]\nx = \"1\"\n[[a]]\nx = \"2\"\n");
        assert_eq!(found[0].table, found[1].table);
        assert_ne!(found[0].table_number, found[1].table_number);
    }
}
