//! Replies that the load of a row must bring.

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::values::{COST, Values};
use crate::null::bulk;

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replies {
    /// A value for each request.
    Values,
    /// An integer for each request, hardly any of them zero.
    Ones,
    /// Zero for each request.
    Zeros,
    /// An integer for each request.
    Integers,
    /// An array of so many elements for each request, or as many values of Memcached.
    Elements(u64),
}

impl Replies {
    /// Returns a reply in wire format, with strings of 16 bytes.
    pub fn example(self) -> String {
        let value = bulk(&"v".repeat(16));
        match self {
            Self::Values => value,
            Self::Ones | Self::Integers => ":1\r\n".to_owned(),
            Self::Zeros => ":0\r\n".to_owned(),
            Self::Elements(each) => format!("*{each}\r\n{}", value.repeat(each as usize)),
        }
    }

    /// Checks that the server found what the load named `cost` asked for.
    pub fn check(self, values: &Values) -> Result<()> {
        let names = ["replies", "bulks", "integers", "zeros", "elements"];
        let counted = names.map(|what| values.compute(&format!("{COST}.{what}")));
        let counted = counted.map(|it| it.unwrap_or(f64::NAN));
        let [all, bulks, integers, zeros, elements] = counted;
        let right = match self {
            Self::Values => bulks == all,
            Self::Ones => zeros * 50.0 <= integers,
            Self::Zeros => zeros == integers,
            Self::Integers => integers == all,
            // Memcached's first value is no element.
            Self::Elements(each) => elements + bulks == each as f64 * all,
        };
        ensure!(right, "not what was expected: {names:?} are {counted:?}");
        Ok(())
    }
}
