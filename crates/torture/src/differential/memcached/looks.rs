//! Looks at numbers before and after they are changed: some differences are listed where Memcached
//! keeps a number in its place or moves it, and nowhere else.

use super::answer::Answer;
use super::base64;
use super::step::{KEY_MAX, Step};

/// What Memcached did with an item whose number was changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// True if it is another item: the number has gained a digit, or the item was in use at that
    /// time, as it is for a while after some uses.
    pub moves: bool,
    /// True if the number is where it was, perhaps with blanks behind it.
    pub stays: bool,
}

impl Look {
    /// Compares what Memcached told of an item before and after a step.
    pub fn of(before: &Answer, after: &Answer) -> Look {
        let (Some((size, was_fetched)), Some((size_after, is_fetched))) =
            (told(before), told(after))
        else {
            return Look::default();
        };
        let moves = size_after != size || was_fetched && !is_fetched;
        Look { moves, stays: !moves }
    }
}

/// Returns the size that is told of an item, and whether it was fetched.
fn told(answer: &Answer) -> Option<(usize, bool)> {
    let unit = answer.units.first()?;
    let words: Vec<_> = unit.line.split(|byte| *byte == b' ').collect();
    let is_fetched = words.iter().any(|word| [&b"fetch=yes"[..], b"h1"].contains(word));
    if let Some(data) = &unit.data {
        return Some((data.len(), is_fetched));
    }
    let size = words.iter().find_map(|word| word.strip_prefix(b"size="))?;
    Some((std::str::from_utf8(size).ok()?.parse().ok()?, is_fetched))
}

/// Returns steps with looks before and behind each that may change a number.
pub fn with_looks(steps: &[Step]) -> Vec<Step> {
    let mut all = Vec::with_capacity(steps.len());
    for step in steps {
        let key = &step.key;
        match step.reckons() {
            false => all.push(step.clone()),
            // Neither of these lines wins a stale item.
            true if !base64::is_needed(key) && key.len() <= KEY_MAX => {
                let size = Step::of(key, &[b"me", key]);
                all.extend([size.clone(), step.clone(), size, Step::of(key, &[b"get", key])]);
            }
            true => {
                let value = Step::meta(b"mg", key, &[b"v", b"h", b"u"]);
                all.extend([value.clone(), step.clone(), value]);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(bytes: &[u8]) -> Answer {
        Answer::read(&mut &bytes[..], b"MN").expect("an answer")
    }

    #[test]
    fn numbers_move_or_stay() {
        let one = answer(b"ME k exp=-1 la=0 cas=5 fetch=no cls=1 size=64\r\nMN\r\n");
        let two = answer(b"ME k exp=-1 la=0 cas=6 fetch=no cls=1 size=65\r\nMN\r\n");
        let fetched = answer(b"ME k exp=-1 la=0 cas=6 fetch=yes cls=1 size=65\r\nMN\r\n");
        let (short, none) = (answer(b"VA 1 h1\r\n9\r\nMN\r\n"), answer(b"EN\r\nMN\r\n"));
        for (before, after, moves, stays) in [
            (&one, &two, true, false),
            (&two, &one, true, false),
            (&two, &two, false, true),
            (&fetched, &two, true, false),
            (&fetched, &fetched, false, true),
            (&short, &short, false, true),
            (&one, &none, false, false),
            (&none, &one, false, false),
        ] {
            let look = Look::of(before, after);
            assert_eq!((look.moves, look.stays), (moves, stays), "{before:?} {after:?}");
        }
    }
}
