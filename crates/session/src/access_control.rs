//! Who may do what on this server: its users, and how their changes reach sessions.
//!
//! ```text
//! change ──▶ table, then version ──▶ each session compares the version before it runs commands,
//!                                    and takes its user's new rules if it is another
//! ```
//! A command that was sent behind the answer to a change runs under the new rules: its session
//! looks at the version after the request has come, and the change raises it before it is answered.

use crate::acl_log::AclLog;
use base::mutex::{Mutex, MutexGuard};
use settings::users::{ACL_PUBSUB_DEFAULT, ACLLOG_MAX_LEN};
use settings::{PubSubDefault, Settings, read_whole, replace_whole};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::AcqRel, Ordering::Acquire};
use users::{
    Catalog, DEFAULT, Language, PasswordHash, SetError, User, Users, read_file, write_file,
};

/// Most bytes of a file of users: a million of them with four rules each take a tenth of that.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// The users of a server.
#[derive(Debug)]
pub struct AccessControl {
    catalog: Catalog,
    /// Held while the file of users is read or written: one thread at a time does that.
    file: Mutex<()>,
    /// Held while a change is worked out, so that each goes on from what the one before has left.
    changing: Mutex<()>,
    users: Mutex<Users>,
    /// Rises with each change, under the lock of the table.
    version: AtomicU64,
    /// What was denied.
    pub log: AclLog,
}

/// A user, at a version of the table.
#[derive(Clone, Debug)]
pub struct Found {
    /// The user.
    pub user: Arc<User>,
    /// The version.
    pub version: u64,
}

impl AccessControl {
    /// Returns the users of a server that has been told nothing of users. `catalog` has its
    /// commands, by the ids of their rows.
    pub fn new(catalog: Catalog, settings: &Settings) -> AccessControl {
        let users = Users::new(&language(&catalog, settings));
        AccessControl {
            catalog,
            file: Mutex::default(),
            changing: Mutex::default(),
            users: Mutex::new(users),
            version: AtomicU64::new(1),
            log: AclLog::default(),
        }
    }

    /// The commands and categories that rules may name.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// What rules mean.
    pub fn language(&self, settings: &Settings) -> Language<'_> {
        language(&self.catalog, settings)
    }

    /// Returns a number that rises with each change of any user.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Acquire)
    }

    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock()
    }

    /// Returns the user of a name.
    pub fn find(&self, name: &[u8]) -> Option<Found> {
        let users = self.users();
        let user = Arc::clone(users.get(name)?);
        Some(Found { user, version: self.version() })
    }

    /// Returns the user `default`.
    ///
    /// # Panics
    /// Never, as there is always one.
    pub fn default_user(&self) -> Found {
        self.find(DEFAULT).expect("nothing removes the user `default`")
    }

    /// Returns the user that a name and a password belong to. It takes as long for a name that
    /// nobody has as for a wrong password.
    pub fn log_in(&self, name: &[u8], password: &[u8]) -> Option<Found> {
        let hash = PasswordHash::of(password);
        self.find(name).filter(|found| found.user.accepts(&hash))
    }

    /// Returns all users, in the order of their names.
    pub fn all(&self) -> Vec<Arc<User>> {
        self.users().iter().cloned().collect()
    }

    /// Applies rules to a user, who is new if there is none of this name. Returns it as it is now.
    ///
    /// # Errors
    /// The first rule that is wrong; nothing has changed then.
    pub fn set<'r>(
        &self,
        name: &[u8],
        rules: impl IntoIterator<Item = &'r [u8]>,
        settings: &Settings,
    ) -> Result<Arc<User>, SetError> {
        let _others_wait = self.changing.lock();
        let language = self.language(settings);
        let user = match self.find(name) {
            Some(found) => found.user.with(rules, &language)?,
            None => User::new(name, &language).with(rules, &language)?,
        };
        Ok(self.put(user))
    }

    /// Gives the user `default` one password, or none if it is empty.
    pub fn set_default_password(&self, password: &[u8]) {
        let _others_wait = self.changing.lock();
        let password = Some(password).filter(|it| !it.is_empty());
        let user = self.default_user().user.with_password(password);
        self.put(user);
    }

    fn put(&self, user: User) -> Arc<User> {
        let mut users = self.users();
        let user = users.put(user);
        self.version.fetch_add(1, AcqRel);
        user
    }

    /// Removes a user; returns true if there was one. `default` stays.
    pub fn remove(&self, name: &[u8]) -> bool {
        let _others_wait = self.changing.lock();
        let mut users = self.users();
        let is_removed = users.remove(name).is_some();
        if is_removed {
            self.version.fetch_add(1, AcqRel);
        }
        is_removed
    }

    /// Writes all users to a file, in the place of what is in it.
    ///
    /// # Errors
    /// What the system refuses; the file is as it was then.
    pub fn save(&self, path: &str) -> io::Result<()> {
        let _others_wait = self.file.lock();
        let users = self.users().clone();
        replace_whole(Path::new(path), &write_file(&users))
    }

    /// Reads a file of users into the place of those that are there. Without `default` in it, that
    /// is as it is at the start.
    ///
    /// # Errors
    /// All that is wrong with the file, in one line; nothing has changed then.
    pub fn load(&self, path: &str, settings: &Settings) -> Result<(), String> {
        let _others_wait = self.file.lock();
        let content = read_whole(Path::new(path), FILE_BYTES_MAX).map_err(|error| {
            let error = settings::system_text(&error);
            format!("Error loading ACLs, opening file '{path}': {error}")
        })?;
        let _changes_wait = self.changing.lock();
        let new = read_file(&content, path, &self.language(settings))?;
        let mut users = self.users();
        self.version.fetch_add(1, AcqRel);
        let before = std::mem::replace(&mut *users, new);
        drop(users);
        drop(before);
        Ok(())
    }

    /// Returns a user of this name that is off and may do nothing.
    pub fn without_rights(&self, user: &User) -> User {
        User::new(user.name(), &Language { catalog: &self.catalog, opens_channels: false })
    }

    /// Returns the most entries that the log may have.
    pub fn log_entries_max(&self, settings: &Settings) -> usize {
        narrow::to_usize(ACLLOG_MAX_LEN.get(settings))
    }
}

fn language<'c>(catalog: &'c Catalog, settings: &Settings) -> Language<'c> {
    let opens_channels = ACL_PUBSUB_DEFAULT.get(settings) == PubSubDefault::AllChannels;
    Language { catalog, opens_channels }
}
