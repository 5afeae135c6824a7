//! Attributes of a key's string: kept in its record, or in one that is written anew because they
//! need more bytes than it has.

use super::append::{WholeValue, draft};
use super::key_mut::KeyMut;
use crate::attributes::{Attributes, NextValue};
use crate::fault::NoSpace;
use crate::key::{Kind, ValueTag};
use base::Millis;
use heap::Attributes as Kept;
use std::num::NonZeroU64;

impl KeyMut<'_, '_> {
    /// What the record keeps of attributes.
    #[inline]
    pub fn kept_attributes(&self) -> Option<Kept> {
        self.found.and_then(|found| found.attributes())
    }

    /// Attributes of the string; the default ones of a key without a value.
    pub fn attributes(&self) -> Attributes {
        Attributes::of_record(self.kept_attributes())
    }

    /// Value tag of the string after a change that gives it this one: it is fetched if it was.
    #[inline]
    pub fn tag_of_change(&self, value_tag: ValueTag) -> ValueTag {
        self.found.map_or(value_tag, |found| value_tag.fetched_as(found.value_tag()))
    }

    /// Makes `bytes` the value of the key, with a deadline and attributes, in place of any other
    /// value, whose nodes are removed with it.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    pub fn replace_with(
        &mut self,
        value_tag: ValueTag,
        bytes: &[u8],
        deadline: Option<Millis>,
        attributes: Option<Kept>,
    ) -> Result<(), NoSpace> {
        let value = WholeValue { value_tag, bytes, deadline, attributes };
        self.guard.before_writing(&self.key, self.found.as_ref());
        let placed = self.guard.replace_any(&self.key, self.found, value)?;
        self.found = Some(self.guard.at(placed));
        Ok(())
    }

    /// Gives the string other attributes.
    ///
    /// # Errors
    /// When the record must be written anew and there is no room for it; nothing has changed then.
    pub fn set_attributes(&mut self, attributes: Attributes) -> Result<(), NoSpace> {
        self.guard.before_writing(&self.key, self.found.as_ref());
        self.keep(attributes.in_place_of(self.kept_attributes()))
    }

    /// Does the same unannounced, as a CAS is drawn: nothing has to be reported.
    ///
    /// # Errors
    /// Those of `set_attributes`.
    pub fn mark(&mut self, attributes: Attributes) -> Result<(), NoSpace> {
        self.keep(attributes.in_place_of(self.kept_attributes()))
    }

    /// The CAS of the string, which is drawn if there is none. That is no change: nothing is
    /// announced, and nothing has to be reported.
    ///
    /// # Errors
    /// Those of `set_attributes`.
    pub fn draw_cas(&mut self) -> Result<NonZeroU64, NoSpace> {
        let kept = self.kept_attributes().unwrap_or_default();
        if let Some(number) = kept.cas.and_then(NonZeroU64::new) {
            return Ok(number);
        }
        let number = self.guard.draw_cas_number();
        self.keep(Some(Kept { cas: Some(number.get()), ..kept }))?;
        Ok(number)
    }

    /// Makes the CAS of the string void, in place, since its value has changed.
    #[inline]
    pub fn void_cas(&mut self) {
        if let Some(found) = self.found.filter(|found| found.record.has_attributes()) {
            found.set_attributes(NextValue::Changed.attributes(found.attributes()));
        }
    }

    /// Notes that the string was fetched; returns true if it was noted before. Like the access
    /// history it changes unannounced.
    pub fn note_fetched(&mut self) -> bool {
        let found = *self.found();
        let value_tag = found.value_tag();
        debug_assert!(value_tag.kind() == Kind::String);
        // SAFETY: the shard is locked.
        unsafe { found.record.set_value_tag(value_tag.with_fetched().0) };
        value_tag.is_fetched()
    }

    /// Has the string be one that nobody has fetched, as unannounced.
    pub fn forget_fetched(&mut self) {
        let found = *self.found();
        let value_tag = found.value_tag().without_fetched();
        // SAFETY: the shard is locked.
        unsafe { found.record.set_value_tag(value_tag.0) };
    }

    /// Keeps attributes in the record of the string, or in another one with all that it holds.
    fn keep(&mut self, attributes: Option<Kept>) -> Result<(), NoSpace> {
        let found = *self.found();
        if found.record.fits_attributes(&attributes.unwrap_or_default()) {
            found.set_attributes(attributes);
            return Ok(());
        }
        let (value_tag, value) = (found.value_tag(), found.bytes());
        let draft = draft(&self.key, value_tag, value.len(), value.len(), found.deadline());
        let fill = |to: &mut [u8]| to.copy_from_slice(value);
        let appended =
            self.guard.append_keeping(&self.key, Some(found), &draft, attributes, fill)?;
        self.found = Some(self.guard.at(appended));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
