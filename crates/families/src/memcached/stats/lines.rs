//! Lines of names and values.

use command::Call;
use memcached::reply;
use std::fmt::Display;
use std::io::Write;

/// Lines of a reply.
#[derive(Default)]
pub(super) struct Lines(Vec<u8>);

impl Lines {
    pub(super) fn put(&mut self, name: impl Display, value: impl Display) {
        // Writing to memory cannot fail.
        let _ = write!(self.0, "STAT {name} {value}\r\n");
    }

    pub(super) fn put_all(&mut self, fields: &[(&str, &dyn Display)]) {
        fields.iter().for_each(|(name, value)| self.put(name, value));
    }

    /// Puts names that have no counterpart here.
    pub(super) fn put_zeros(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.put(name, 0));
    }

    pub(super) fn answer(self, call: &mut Call<'_>) {
        call.reply.raw(&self.0);
        call.reply.raw(reply::END);
    }
}

pub(super) fn yes_or_no(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "no" }
}
