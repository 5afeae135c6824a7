//! The switch to a new base, and what is begun for it.

use super::{BaseForm, Set, SetError, failed};
use crate::disk::{File, Files, append_all};
use crate::manifest::{Entry, Kind, Manifest};

impl<F: Files> Set<F> {
    /// Creates the file for a base under a temporary name. Its writer has to sync it.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn create_base(&self) -> Result<F::File, SetError> {
        let name = self.temporary_base();
        // A job that still writes to a base that was given up goes on with a file that has no name.
        self.remove(&name)?;
        self.files.create(&name).map_err(|error| failed("create", &name, error))
    }

    /// Removes the file of a base that will not become part of the set. A job that still writes to
    /// it goes on with a file that has no name.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn drop_base(&self) -> Result<(), SetError> {
        self.remove(&self.temporary_base())
    }

    /// Removes all files that would have become part of the set with the next base.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn drop_begun(&self) -> Result<(), SetError> {
        self.drop_base()?;
        self.remove(&self.temporary_incremental())
    }

    /// Gives a set without a base one with these bytes, which stand for what was there before its
    /// incremental files: nothing.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn put_base(&mut self, form: BaseForm, bytes: &[u8]) -> Result<(), SetError> {
        let file = self.create_base()?;
        append_all(&file, bytes)
            .and_then(|()| file.sync())
            .map_err(|error| failed("write", &self.temporary_base(), error))?;
        self.switch_base(form, 0)
    }

    /// Makes the file of `create_base` the base of the set. It stands for the base before it and
    /// for the incremental files below the number `first`, which become history.
    ///
    /// # Errors
    /// Those of the disk, after which the old base is the base.
    pub fn switch_base(&mut self, form: BaseForm, first: u64) -> Result<(), SetError> {
        self.retry_sync_of_names()?;
        let ending = if form == BaseForm::Rdb { "rdb" } else { "aof" };
        let sequence = self.manifest.last_sequence(Kind::Base) + 1;
        let base = Entry { name: format!("{}.{sequence}.base.{ending}", self.prefix), sequence };
        let apart = self.is_apart.then(|| self.next_incremental());
        self.take_in(&base, apart.as_ref(), first)?;
        self.is_apart = false;
        Ok(())
    }

    /// Gives what was begun its names, and has the manifest tell of it. After a failure the files
    /// are as before, but for the base, which is gone.
    fn take_in(&mut self, base: &Entry, apart: Option<&Entry>, first: u64) -> Result<(), SetError> {
        if apart.is_some() && self.is_empty() {
            // The trace of a first switch that is interrupted: without one, files without a
            // manifest are not touched.
            self.write_manifest(&self.manifest)?;
            self.sync_names()?;
        }
        self.rename(&self.temporary_base(), &base.name)?;
        let named = apart.map_or(Ok(()), |it| self.rename(&self.temporary_incremental(), &it.name));
        let switched = named.is_ok();
        named
            .and_then(|()| self.sync_names())
            .and_then(|()| self.replace_manifest(self.with_base(base, apart, first)))
            .inspect_err(|_| self.take_back(base, apart.filter(|_| switched)))
    }

    /// The manifest with another base.
    fn with_base(&self, base: &Entry, apart: Option<&Entry>, first: u64) -> Manifest {
        let mut manifest = self.manifest.clone();
        manifest.history.extend(manifest.base.replace(base.clone()));
        let replaced = |entry: &mut Entry| apart.is_some() || entry.sequence < first;
        manifest.history.extend(manifest.incrementals.extract_if(.., replaced));
        manifest.incrementals.extend(apart.cloned());
        manifest
    }

    /// Takes back what was named for a switch that has failed. A base that stays is overwritten by
    /// the next switch, which uses the same name. A file apart that keeps its new name is found to
    /// be lost, and needs another base. The trace is left with either.
    fn take_back(&mut self, base: &Entry, apart: Option<&Entry>) {
        let is_back = self.remove(&base.name).is_ok()
            && apart.is_none_or(|it| self.rename(&it.name, &self.temporary_incremental()).is_ok());
        if is_back && self.sync_names().is_ok() {
            let _ = self.remove(&self.temporary_manifest());
        }
        // Those of the set were safe before.
        self.has_unsafe_names = false;
    }
}
