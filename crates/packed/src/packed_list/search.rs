//! Search of a packed list for an element.

use crate::element::{Element, FormBuffer};
use crate::packed_list::{PackedList, Place};

/// Bytes at the ends of texts that are compared first, as texts mostly differ there.
const LAST_BYTES: usize = 8;

impl PackedList<'_> {
    /// Returns the first place from `from` on, in steps of `step` elements, that holds `wanted`.
    ///
    /// # Panics
    /// If the step is zero.
    pub fn find(&self, wanted: Element<'_>, from: Place, step: usize) -> Option<Place> {
        let (code, mut form) = (wanted.code(), FormBuffer::default());
        let form = wanted.form(&mut form);
        if self.head.is_repeating() {
            return self.find_form(code, form, from, step);
        }
        let mut place = from;
        while place.index < self.head.count {
            if self.code(place.index) != code {
                let codes = &self.bytes[self.head.codes + place.index..self.head.byte_len()];
                let steps = codes.iter().step_by(step).position(|other| *other == code)?;
                place = self.forward(place, place.index + steps * step);
            }
            if self.is_at(place, form) {
                return Some(place);
            }
            let next = (place.index + step).min(self.head.count);
            while place.index < next {
                place = self.after(place);
            }
        }
        None
    }

    /// Finds an element where codes repeat: they do not narrow the search, but places are a fixed
    /// number of bytes apart.
    fn find_form(&self, code: u8, form: &[u8], from: Place, step: usize) -> Option<Place> {
        if !self.codes().contains(&code) {
            return None;
        }
        let mut place = from;
        let is_even = step & self.head.mask == 0 && from.index + step <= self.head.count;
        let step_bytes = is_even.then(|| self.bytes_of(from.index, step)).flatten();
        if let (Some(step_bytes), Some(last)) = (step_bytes, form.last_chunk::<LAST_BYTES>()) {
            if self.code(from.index) != code {
                return None;
            }
            while place.index < self.head.count {
                let end = place.offset + form.len();
                let is_like = self.bytes[..end].last_chunk() == Some(last);
                if is_like && self.is_at(place, form) {
                    return Some(place);
                }
                place = Place { index: place.index + step, offset: place.offset + step_bytes };
            }
            return None;
        }
        while place.index < self.head.count {
            if self.code(place.index) == code && self.is_at(place, form) {
                return Some(place);
            }
            place = self.forward(place, (place.index + step).min(self.head.count));
        }
        None
    }

    /// Returns true if the bytes at a place begin with `form`.
    #[inline]
    fn is_at(&self, place: Place, form: &[u8]) -> bool {
        self.bytes[place.offset..self.head.end].starts_with(form)
    }
}
