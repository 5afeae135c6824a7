//! Property files of YCSB: one `name=value` on each line; comments begin with `#`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result};

/// Properties of a workload, by name.
#[derive(Clone, Debug)]
pub struct Properties(BTreeMap<&'static str, String>);

/// Properties with their defaults: those of YCSB's `CoreWorkload` and `Client`, and
/// `deleteproportion` and `scanindex`.
const DEFAULTS: &str = "\
    deleteproportion=0 fieldcount=10 fieldlength=100 insertproportion=0 maxexecutiontime=0 \
    maxscanlength=1000 minscanlength=1 operationcount=0 readmodifywriteproportion=0 \
    readproportion=0.95 recordcount=0 requestdistribution=uniform scanindex=true \
    scanproportion=0 target=0 threadcount=1 updateproportion=0.05";
/// Properties that have one value here.
const FIXED: &str = "\
    fieldlengthdistribution=constant insertorder=hashed readallfields=true \
    scanlengthdistribution=uniform table=usertable workload=site.ycsb.workloads.CoreWorkload \
    writeallfields=false";

fn pairs(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.split_whitespace().filter_map(|pair| pair.split_once('='))
}

impl Default for Properties {
    fn default() -> Self {
        Self(pairs(DEFAULTS).map(|(name, value)| (name, value.to_owned())).collect())
    }
}

impl Properties {
    /// Adds the properties of a file; later ones win.
    pub fn read(&mut self, path: &Path) -> Result<()> {
        let named = || format!("the properties {}", path.display());
        let text = fs::read_to_string(path).with_context(named)?;
        let mut lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.try_for_each(|line| self.set(line)).with_context(named)
    }

    /// Sets a property, given as `name=value`.
    pub fn set(&mut self, property: &str) -> Result<()> {
        let pair = property.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        let (name, value) = pair.with_context(|| format!("{property:?} is no name=value"))?;
        if pairs(FIXED).any(|fixed| fixed == (name, value)) {
            return Ok(());
        }
        let known = self.0.get_mut(name);
        value.clone_into(known.with_context(|| {
            format!("there is no {property:?} here, only {DEFAULTS}, and as they are {FIXED}")
        })?);
        Ok(())
    }

    /// Returns the value of a property.
    pub fn get<T: FromStr>(&self, name: &str) -> Result<T> {
        let text = &self.0[name];
        text.parse().ok().with_context(|| format!("the property {name} is {text:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::Properties;

    #[test]
    fn what_is_not_set_has_the_default_of_ycsb_and_what_is_unknown_is_refused_by_name() {
        let mut properties = Properties::default();
        properties.set("fieldcount = 16 ").unwrap();
        properties.set("table=usertable").unwrap();
        assert_eq!(properties.get::<u64>("fieldcount").unwrap(), 16);
        assert_eq!(properties.get::<u64>("fieldlength").unwrap(), 100);
        for wrong in ["feildcount=1", "insertorder=ordered", "fieldcount"] {
            let error = properties.set(wrong).unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
        properties.set("recordcount=many").unwrap();
        assert!(properties.get::<u64>("recordcount").is_err());
    }
}
