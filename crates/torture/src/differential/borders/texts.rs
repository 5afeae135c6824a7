//! Elements by number.

/// Form of the elements of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Letters, of so many bytes or as few more as distinguish the numbers.
    Letters(usize),
    /// Integers: the number plus this one.
    Integers(i64),
    /// Integers and texts alternating; texts as in [`Text::Letters`].
    Mixed(usize),
}

impl Text {
    /// Returns the element of a number.
    pub fn number(self, number: usize) -> Vec<u8> {
        match self {
            Text::Letters(len) => letters(number, len),
            Text::Integers(base) => (base.wrapping_add(number as i64)).to_string().into_bytes(),
            Text::Mixed(_) if number.is_multiple_of(2) => number.to_string().into_bytes(),
            Text::Mixed(len) => letters(number, len),
        }
    }

    /// Returns the first `count` elements.
    pub fn first(self, count: usize) -> Vec<Vec<u8>> {
        (0..count).map(|number| self.number(number)).collect()
    }
}

/// Encodes a number in letters, lowest digit first, padded with `p` to the length.
fn letters(number: usize, len: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(len);
    let mut rest = number;
    loop {
        text.push(b'a' + (rest % 15) as u8);
        rest /= 15;
        if rest == 0 {
            break;
        }
    }
    text.resize(len.max(text.len()), b'p');
    text
}

/// Returns the sizes on both sides of a border, and the border.
pub fn around(border: usize) -> Vec<usize> {
    let mut all = vec![border.saturating_sub(1), border, border + 1];
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_told_apart() {
        for text in [Text::Letters(0), Text::Letters(7), Text::Integers(-5), Text::Mixed(2)] {
            let texts: std::collections::BTreeSet<_> = text.first(3000).into_iter().collect();
            assert_eq!(texts.len(), 3000, "{text:?}");
        }
    }
}
