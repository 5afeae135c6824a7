//! Property files in the format of `java.util.Properties`, as YCSB reads them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

/// Properties of a workload, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties {
    values: BTreeMap<String, String>,
}

/// Known properties with their defaults: those of YCSB's `CoreWorkload` and `Client`, and
/// `deleteproportion` and `scanindex`.
const KNOWN: &str = "\
    deleteproportion=0 exponential.frac=0.8571428571 exponential.percentile=95 fieldcount=10 \
    fieldlength=100 fieldlengthdistribution=constant fieldnameprefix=field \
    hotspotdatafraction=0.2 hotspotopnfraction=0.8 insertcount= insertorder=hashed \
    insertproportion=0 insertstart=0 maxexecutiontime=0 maxscanlength=1000 minfieldlength=1 \
    minscanlength=1 operationcount=0 readallfields=true readmodifywriteproportion=0 \
    readproportion=0.95 recordcount=0 requestdistribution=uniform scanindex=true \
    scanlengthdistribution=uniform scanproportion=0 target=0 threadcount=1 \
    updateproportion=0.05 workload=site.ycsb.workloads.CoreWorkload writeallfields=false \
    zeropadding=1";

fn default_of(name: &str) -> Option<&'static str> {
    let mut known = KNOWN.split_whitespace().filter_map(|pair| pair.split_once('='));
    known.find_map(|(known, default)| (known == name).then_some(default))
}

/// Properties of YCSB that a file may set without effect here. A name that ends with a dot is a
/// prefix. They concern its connectors, its measurements and output, and its checks.
const IDLE: &str = "\
    core_workload_insertion_retry_interval core_workload_insertion_retry_limit dataintegrity db \
    dotransactions exporter exportfile fieldlengthhistogram hdrhistogram. histogram. label \
    measurement. measurementtype memcached. readallfieldsbyname redis. reporting. \
    reportlatencyforeacherror status. table timeseries.";

fn is_idle(name: &str) -> bool {
    let is_it = |idle: &str| idle == name || (idle.ends_with('.') && name.starts_with(idle));
    IDLE.split_whitespace().any(is_it)
}

impl Properties {
    /// Adds the properties of a file; later ones win.
    pub fn read(&mut self, path: &Path) -> Result<()> {
        let bytes = fs::read(path).with_context(|| format!("the properties {}", path.display()))?;
        self.add(&bytes).with_context(|| path.display().to_string())
    }

    /// Adds the properties of a file with these bytes, in Latin-1; later ones win.
    pub fn add(&mut self, bytes: &[u8]) -> Result<()> {
        let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        parse(&text)?.iter().try_for_each(|(name, value)| self.set(name, value))
    }

    /// Sets a property.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        let is_known = is_idle(name) || default_of(name).is_some();
        ensure!(is_known, "there is no property {name:?} here, only {KNOWN}");
        self.values.insert(name.to_owned(), value.trim().to_owned());
        Ok(())
    }

    /// Returns names and values of the properties that were set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the properties that were set and have no effect.
    pub fn without_effect(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str).filter(|name| is_idle(name))
    }

    /// Returns the operations of the run phase; without a number, as many as there is time for.
    pub fn operations(&self) -> Result<u64> {
        match (self.get("operationcount")?, self.get("maxexecutiontime")?) {
            (0, 0_u64) => bail!("neither operationcount nor maxexecutiontime is set"),
            (0, _) => Ok(u64::MAX),
            (count, _) => Ok(count),
        }
    }

    /// Returns the text of a property, or its default.
    ///
    /// # Panics
    /// If it is not known.
    pub fn text(&self, name: &str) -> &str {
        let set = self.values.get(name).map(String::as_str);
        set.or_else(|| default_of(name)).expect("a property that is known")
    }

    /// Returns the value of a property, or its default.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<T> {
        let text = self.text(name);
        text.parse().ok().with_context(|| format!("the property {name} is {text:?}"))
    }

    /// Returns the value of a property that is a share, 0 to 1.
    pub fn share(&self, name: &str) -> Result<f64> {
        let share = self.get(name)?;
        ensure!((0.0..=1.0).contains(&share), "the property {name} is {share}, not 0 to 1");
        Ok(share)
    }
}

/// Letter of a line, and true if a backslash takes away what it stands for.
type Letter = (char, bool);

/// Returns names and values of a property file. A name ends at the first blank, colon or equals
/// sign.
fn parse(text: &str) -> Result<Vec<(String, String)>> {
    let is_blank = |letter: &&Letter| !letter.1 && BLANKS.contains(&letter.0);
    let is_sign = |letter: &&Letter| !letter.1 && "=:".contains(letter.0);
    let mut pairs = Vec::new();
    let text = text.replace("\r\n", "\n");
    let mut lines = text.split(['\n', '\r']).map(|line| line.trim_start_matches(BLANKS));
    while let Some(mut line) = lines.next() {
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        let mut letters = Vec::new();
        while read_letters(line, &mut letters)? {
            line = lines.next().unwrap_or_default();
        }
        let end = letters.iter().position(|letter| is_blank(&letter) || is_sign(&letter));
        let (name, value) = letters.split_at(end.unwrap_or(letters.len()));
        let mut value = value.iter().skip_while(is_blank).peekable();
        value.next_if(is_sign);
        let value = value.skip_while(is_blank).map(|letter| letter.0);
        pairs.push((name.iter().map(|letter| letter.0).collect(), value.collect()));
    }
    Ok(pairs)
}

/// Adds the letters of a line; returns true if it goes on in the next one.
fn read_letters(line: &str, letters: &mut Vec<Letter>) -> Result<bool> {
    let mut rest = line.chars();
    while let Some(letter) = rest.next() {
        if letter != '\\' {
            letters.push((letter, false));
            continue;
        }
        let Some(letter) = rest.next() else { return Ok(true) };
        let meant = match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'f' => '\x0c',
            'u' => {
                let digits: String = rest.by_ref().take(4).collect();
                let is_whole = digits.len() == 4 && !digits.starts_with('+');
                let code = u32::from_str_radix(&digits, 16).ok().filter(|_| is_whole);
                let code = code.and_then(char::from_u32);
                code.with_context(|| format!("\\u{digits} is no letter"))?
            }
            other => other,
        };
        letters.push((meant, true));
    }
    Ok(false)
}

/// White space of `Properties.load`.
const BLANKS: [char; 3] = [' ', '\t', '\x0c'];

#[cfg(test)]
mod tests {
    use super::{Properties, parse};

    #[test]
    fn lines_are_read_as_java_reads_them() {
        for (text, pairs) in [
            ("a=b", &[("a", "b")][..]),
            ("a = b", &[("a", "b")]),
            ("a:b", &[("a", "b")]),
            ("  a   =b", &[("a", "b")]),
            ("a\tb", &[("a", "b")]),
            ("a\\=b=c", &[("a=b", "c")]),
            ("a", &[("a", "")]),
            ("a=\\u00e4\\t1", &[("a", "\u{e4}\t1")]),
            (
                "# one\n! two\n\n  \nlist = a, \\\n    b\nend = c\\\\\n",
                &[("list", "a, b"), ("end", "c\\")],
            ),
            ("a=1\rb=2\r\nc=3", &[("a", "1"), ("b", "2"), ("c", "3")]),
        ] {
            let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            assert_eq!(parse(text).unwrap(), pairs.iter().map(own).collect::<Vec<_>>(), "{text:?}");
        }
        for wrong in ["\\uzzzz", "\\u+041", "\\u41", "\\ud800"] {
            assert!(parse(&format!("a={wrong}")).is_err(), "{wrong}");
        }
    }

    #[test]
    fn properties_of_connectors_and_exporters_are_taken_and_told() {
        let mut properties = Properties::default();
        properties.add(b"redis.host=localhost\ntable=usertable\nfieldnameprefix=\xe4").unwrap();
        assert_eq!(properties.without_effect().collect::<Vec<_>>(), ["redis.host", "table"]);
        assert_eq!(properties.text("fieldnameprefix"), "\u{e4}", "letters are those of Latin-1");
        assert!(properties.add(b"redis").is_err());
    }

    #[test]
    fn without_a_number_of_operations_a_run_lasts_for_its_time() {
        let mut properties = Properties::default();
        assert!(properties.operations().is_err());
        properties.set("maxexecutiontime", "3").unwrap();
        assert_eq!(properties.operations().unwrap(), u64::MAX);
        properties.set("operationcount", "7").unwrap();
        assert_eq!(properties.operations().unwrap(), 7);
    }

    #[test]
    fn what_is_not_set_has_the_default_of_ycsb_and_what_does_not_exist_is_refused() {
        let mut properties = Properties::default();
        let shares = ["read", "update", "insert", "scan", "readmodifywrite"]
            .map(|name| properties.share(&format!("{name}proportion")).unwrap());
        assert_eq!(shares, [0.95, 0.05, 0.0, 0.0, 0.0]);
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
