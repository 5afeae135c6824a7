//! Elements by their numbers.

/// How the elements of a collection look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Text {
    /// Letters, of so many bytes or as few more as tell the numbers apart.
    Letters(usize),
    /// The number behind this one.
    Integers(i64),
    /// Integers and texts in turn.
    Mixed(usize),
}

impl Text {
    /// The element with a number.
    pub fn number(self, number: usize) -> Vec<u8> {
        match self {
            Text::Letters(len) => letters(number, len),
            Text::Integers(base) => (base.wrapping_add(number as i64)).to_string().into_bytes(),
            Text::Mixed(_) if number.is_multiple_of(2) => number.to_string().into_bytes(),
            Text::Mixed(len) => letters(number, len),
        }
    }

    /// The first elements.
    pub fn first(self, count: usize) -> Vec<Vec<u8>> {
        (0..count).map(|number| self.number(number)).collect()
    }
}

/// The number in letters, from its lowest digit on, and `p` up to the length.
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

/// Both sides of a border, and the border.
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
