//! Property files as YCSB reads them: those of `java.util.Properties`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail};

/// Properties of a workload, by name.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    values: BTreeMap<String, String>,
}

/// A property that is known here.
struct Known {
    name: &'static str,
    default: &'static str,
}

const fn known(name: &'static str, default: &'static str) -> Known {
    Known { name, default }
}

/// Names and defaults are those of YCSB's `CoreWorkload` and `Client`.
const KNOWN: &[Known] = &[
    known("exponential.frac", "0.8571428571"),
    known("exponential.percentile", "95"),
    known("fieldcount", "10"),
    known("fieldlength", "100"),
    known("fieldlengthdistribution", "constant"),
    known("fieldnameprefix", "field"),
    known("hotspotdatafraction", "0.2"),
    known("hotspotopnfraction", "0.8"),
    known("insertcount", ""),
    known("insertorder", "hashed"),
    known("insertproportion", "0.05"),
    known("insertstart", "0"),
    known("maxexecutiontime", "0"),
    known("maxscanlength", "1000"),
    known("minfieldlength", "1"),
    known("minscanlength", "1"),
    known("operationcount", "0"),
    known("readallfields", "true"),
    known("readmodifywriteproportion", "0"),
    known("readproportion", "0.95"),
    known("recordcount", "0"),
    known("requestdistribution", "uniform"),
    known("scanlengthdistribution", "uniform"),
    known("scanproportion", "0"),
    known("target", "0"),
    known("threadcount", "1"),
    known("updateproportion", "0.05"),
    known("workload", "site.ycsb.workloads.CoreWorkload"),
    known("writeallfields", "false"),
    known("zeropadding", "1"),
];

impl Properties {
    /// Adds what a file sets; later ones win.
    ///
    /// # Errors
    /// If it cannot be read, or sets a property that is not known.
    pub fn read(&mut self, path: &Path) -> Result<()> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("the properties {}", path.display()))?;
        for (name, value) in parse(&text)? {
            self.set(&name, &value).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    /// Sets one.
    ///
    /// # Errors
    /// If it is not known.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        if !KNOWN.iter().any(|known| known.name == name) {
            let names: Vec<_> = KNOWN.iter().map(|known| known.name).collect();
            bail!("there is no property {name:?} here, only {}", names.join(", "));
        }
        self.values.insert(name.to_owned(), value.trim().to_owned());
        Ok(())
    }

    /// The text of a property, or its default.
    ///
    /// # Panics
    /// If it is not known.
    pub fn text(&self, name: &str) -> &str {
        let default = KNOWN.iter().find(|known| known.name == name).map(|known| known.default);
        match self.values.get(name) {
            Some(value) => value,
            None => default.expect("a property that is known"),
        }
    }

    /// The value of a property, or its default.
    ///
    /// # Errors
    /// If it is no `T`.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<T> {
        let text = self.text(name);
        text.parse().ok().with_context(|| format!("the property {name} is {text:?}"))
    }

    /// The value of a property that is a share, 0 to 1.
    ///
    /// # Errors
    /// If it is none.
    pub fn share(&self, name: &str) -> Result<f64> {
        let share = self.get(name)?;
        if !(0.0..=1.0).contains(&share) {
            bail!("the property {name} is {share}, not 0 to 1");
        }
        Ok(share)
    }
}

/// Names and values of a property file.
fn parse(text: &str) -> Result<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let line = line.trim_start();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let mut whole = line.to_owned();
        while is_continued(&whole) {
            whole.pop();
            whole += lines.next().unwrap_or_default().trim_start();
        }
        let (name, value) = split(&whole);
        pairs.push((unescape(name)?, unescape(value)?));
    }
    Ok(pairs)
}

/// Whether a line ends with a backslash that no other one escapes.
fn is_continued(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// The name ends at the first blank, colon or equals sign that is not escaped.
fn split(line: &str) -> (&str, &str) {
    let mut is_escaped = false;
    let end = line.find(|letter: char| {
        let ends = !is_escaped && (letter.is_whitespace() || "=:".contains(letter));
        is_escaped = !is_escaped && letter == '\\';
        ends
    });
    let Some(end) = end else { return (line, "") };
    let value = line[end..].trim_start();
    let value = value.strip_prefix(['=', ':']).unwrap_or(value);
    (&line[..end], value.trim_start())
}

fn unescape(text: &str) -> Result<String> {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            plain.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('f') => plain.push('\x0c'),
            Some('u') => {
                let digits: String = letters.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                plain.push(code.with_context(|| format!("\\u{digits} is no letter"))?);
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::{Properties, parse};

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).expect("sound")
    }

    #[test]
    fn names_end_where_java_ends_them() {
        for line in ["a=b", "a = b", "a:b", "a b", "  a   =b", "a\tb"] {
            assert_eq!(pairs(line), [("a".to_owned(), "b".to_owned())], "{line:?}");
        }
        assert_eq!(pairs("a\\=b=c"), [("a=b".to_owned(), "c".to_owned())]);
        assert_eq!(pairs("a"), [("a".to_owned(), String::new())]);
    }

    #[test]
    fn comments_and_empty_lines_are_passed_and_continued_lines_are_one() {
        let text = "# one\n! two\n\n  \nlist = a, \\\n       b\nend = c\\\\\n";
        let expected = [("list", "a, b"), ("end", "c\\")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(pairs(text), expected);
        assert_eq!(pairs("a=\\u00e4\\t1"), [("a".to_owned(), "\u{e4}\t1".to_owned())]);
        assert!(parse("a=\\uzzzz").is_err());
    }

    #[test]
    fn what_is_not_set_has_the_default_of_ycsb_and_what_does_not_exist_is_refused() {
        let mut properties = Properties::default();
        assert_eq!(properties.get::<u64>("fieldcount").unwrap(), 10);
        properties.set("fieldcount", " 16 ").unwrap();
        assert_eq!(properties.get::<u64>("fieldcount").unwrap(), 16);
        let error = properties.set("feildcount", "1").unwrap_err().to_string();
        assert!(error.contains("feildcount") && error.contains("fieldcount"), "{error}");
        properties.set("readproportion", "1.5").unwrap();
        assert!(properties.share("readproportion").is_err());
        properties.set("recordcount", "many").unwrap();
        assert!(properties.get::<u64>("recordcount").is_err());
    }
}
