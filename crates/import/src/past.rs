//! Deadlines that have passed when commands are sent, though later ones follow them.
//!
//! A key that was used again and again has got many deadlines, each before the one before it came.
//! Sent today, the first of them removes it, and the others find nothing. A server in import mode
//! keeps such keys for the client that fills it.

use crate::error::Error;
use crate::server::Link;
use std::time::{SystemTime, UNIX_EPOCH};

/// What becomes of such deadlines.
#[derive(Debug)]
pub struct Past {
    /// True if the server keeps keys past their deadline for this client, or it was said that it
    /// does not.
    needs_no_warning: bool,
    now: u128,
}

impl Past {
    /// Asks the server to keep keys past their deadline.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn ask_to_keep(link: &mut Link) -> Result<Past, Error> {
        let reply = link.ask(&["CLIENT", "IMPORT-SOURCE", "ON"])?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_millis());
        Ok(Past { needs_no_warning: reply.error().is_none(), now })
    }

    /// Says once what may be lost, where a command gives a key a deadline that has passed and the
    /// server does not keep it.
    pub fn look(&mut self, words: &[&[u8]]) {
        if !self.needs_no_warning && has_passed(words, self.now) {
            self.needs_no_warning = true;
            eprintln!(
                "keys are given deadlines that have passed, and may be lost though they are given \
                 later ones: begin anew with CONFIG SET import-mode yes on the server, and set it \
                 back at the end"
            );
        }
    }
}

fn has_passed(words: &[&[u8]], now: u128) -> bool {
    let [name, _, time, ..] = words else { return false };
    let unit = match () {
        () if name.eq_ignore_ascii_case(b"PEXPIREAT") => 1,
        () if name.eq_ignore_ascii_case(b"EXPIREAT") => 1000,
        () => return false,
    };
    text::parse_u64(time).is_some_and(|time| u128::from(time) * unit <= now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_are_seconds_or_milliseconds() {
        let passed = |words: &[&[u8]]| has_passed(words, 5000);
        assert!(passed(&[b"pexpireat", b"k", b"5000"]) && passed(&[b"EXPIREAT", b"k", b"5"]));
        assert!(!passed(&[b"PEXPIREAT", b"k", b"5001"]) && !passed(&[b"EXPIREAT", b"k", b"6"]));
        assert!(!passed(&[b"SET", b"k", b"1"]) && !passed(&[b"EXPIREAT", b"k"]));
    }
}
