//! Texts kept in one piece of memory, until they are stored.

use base::KeyHasher;

/// Copies of texts, one behind the other.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    bytes: Vec<u8>,
    /// Offset behind each text.
    ends: Vec<usize>,
}

impl Texts {
    /// Adds a text behind the others.
    #[inline]
    pub fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no texts.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all texts.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns a text by its number.
    ///
    /// # Panics
    /// If there are not as many.
    #[inline]
    pub fn get(&self, at: usize) -> &[u8] {
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin..self.ends[at]]
    }

    /// Iterates over the texts.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        (0..self.len()).map(|at| self.get(at))
    }

    /// Returns true if no two of every `step`-th text are equal, beginning with the first.
    pub fn are_distinct(&self, step: usize, hasher: &KeyHasher) -> bool {
        let hashed = |at: usize| (hasher.hash(self.get(at)).0, at);
        let mut hashes: Vec<(u64, usize)> = (0..self.len()).step_by(step).map(hashed).collect();
        hashes.sort_unstable();
        let same_hashes = hashes.chunk_by(|one, other| one.0 == other.0).filter(|it| it.len() > 1);
        same_hashes.into_iter().all(|group| {
            let mut texts: Vec<&[u8]> = group.iter().map(|(_, at)| self.get(*at)).collect();
            texts.sort_unstable();
            texts.windows(2).all(|pair| pair[0] != pair[1])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(words: &[&str]) -> Texts {
        let mut texts = Texts::default();
        words.iter().for_each(|word| texts.push(word.as_bytes()));
        texts
    }

    #[test]
    fn texts_return_in_their_order() {
        let texts = texts(&["a", "", "bc"]);
        assert_eq!(texts.iter().collect::<Vec<_>>(), [&b"a"[..], b"", b"bc"]);
        assert_eq!((texts.len(), texts.byte_len()), (3, 3));
    }

    #[test]
    fn equal_texts_are_found_among_the_names_only() {
        let hasher = KeyHasher::from_seed(1);
        assert!(texts(&["a", "x", "b", "x"]).are_distinct(2, &hasher));
        assert!(!texts(&["a", "x", "b", "x"]).are_distinct(1, &hasher));
        assert!(!texts(&["", "b", ""]).are_distinct(1, &hasher));
        assert!(texts(&[]).are_distinct(1, &hasher));
    }
}
