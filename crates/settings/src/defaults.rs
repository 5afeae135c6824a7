//! Settings before any configuration is read.

use crate::live::Settings;
use crate::rows::all;
use crate::value::default_of;

impl Settings {
    /// Returns every setting at its default.
    pub fn new() -> Settings {
        Settings::of(all().map(default_of).collect())
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::new()
    }
}
