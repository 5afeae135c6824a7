//! Some commands as one script, which is a transaction too.

use super::action::Action;
use crate::hammer::chance::Chance;
use crate::hammer::words::{Words, words};

/// The request of a script that executes the commands, and returns their replies. Half of the
/// scripts declare their keys; the others reach keys of which the server learns as they run.
pub(super) fn request(actions: &[Action], chance: &mut Chance) -> Words {
    let is_declared = chance.one_in(2);
    let (mut source, mut keys, mut others) = ("local r = {} ".to_string(), vec![], vec![]);
    for (place, action) in (1..).zip(actions) {
        let mut call = String::new();
        for (at, word) in action.words(chance).into_iter().enumerate() {
            let (table, words) = match at {
                0 => {
                    call += &format!("'{}'", String::from_utf8_lossy(&word));
                    continue;
                }
                _ if is_declared && action.is_key(at) => ("KEYS", &mut keys),
                _ => ("ARGV", &mut others),
            };
            words.push(word);
            call += &format!(", {table}[{}]", words.len());
        }
        source += &format!("r[{place}] = redis.pcall({call}) ");
    }
    source += "return r";
    words!["EVAL", source, keys.len()].into_iter().chain(keys).chain(others).collect()
}
