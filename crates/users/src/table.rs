//! All users.

use crate::commands::Commands;
use crate::language::Language;
use crate::user::{DEFAULT, User};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// All users, in the order of their names. There is always one that is called `default`.
#[derive(Clone, Debug)]
pub struct Users {
    users: BTreeSet<ByName>,
    /// What selectors allow of commands, each once.
    commands: HashSet<Arc<Commands>>,
}

/// Sets of commands beyond twice the number of users at which those that nobody has go.
const UNUSED_MIN: usize = 64;

impl Users {
    /// Returns the users of a server that has been told nothing of users.
    pub fn new(language: &Language<'_>) -> Users {
        let mut users = Users { users: BTreeSet::new(), commands: HashSet::new() };
        users.put(User::all_powerful(language));
        users
    }

    /// Returns the user of a name.
    pub fn get(&self, name: &[u8]) -> Option<&Arc<User>> {
        self.users.get(name).map(|it| &it.0)
    }

    /// Adds a user, in place of the one of this name if there is one.
    pub fn put(&mut self, mut user: User) -> Arc<User> {
        user.share_commands(&mut self.commands);
        let user = Arc::new(user);
        self.users.replace(ByName(Arc::clone(&user)));
        if self.commands.len() > 2 * self.users.len() + UNUSED_MIN {
            self.commands.retain(|commands| Arc::strong_count(commands) > 1);
        }
        user
    }

    /// Removes a user. `default` stays.
    pub fn remove(&mut self, name: &[u8]) -> Option<Arc<User>> {
        if name == DEFAULT { None } else { self.users.take(name).map(|it| it.0) }
    }

    /// Returns the users in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<User>> {
        self.users.iter().map(|it| &it.0)
    }
}

/// A user that is found by its name.
#[derive(Clone, Debug)]
struct ByName(Arc<User>);

impl Borrow<[u8]> for ByName {
    fn borrow(&self) -> &[u8] {
        self.0.name()
    }
}

impl PartialEq for ByName {
    fn eq(&self, other: &ByName) -> bool {
        self.0.name() == other.0.name()
    }
}

impl Eq for ByName {}

impl PartialOrd for ByName {
    fn partial_cmp(&self, other: &ByName) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByName {
    fn cmp(&self, other: &ByName) -> Ordering {
        self.0.name().cmp(other.0.name())
    }
}
