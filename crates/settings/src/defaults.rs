//! The settings as they are before anything is read.

use crate::live::Settings;
use crate::rows::all;
use crate::value::default_of;

impl Settings {
    /// Every setting at its default.
    pub fn new() -> Settings {
        Settings::of(all().map(default_of).collect())
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings::new()
    }
}
