//! Clients that receive the same messages, by worker.

use crate::client::{Client, Owner};
use crate::flood::Flood;
use crate::letter::{Letter, Receiver};
use crate::message::Message;
use crate::notice::{Notice, Post};
use crate::sparse::smaller_room;
use smallvec::SmallVec;
use std::fmt;
use std::sync::{Arc, OnceLock};
use wire::Protocol;

/// Clients that receive the same messages.
#[derive(Debug, Default)]
pub(crate) struct Receivers {
    groups: SmallVec<[Group; 1]>,
}

/// Those of one worker.
struct Group {
    post: Arc<dyn Post>,
    /// In order of their ids.
    members: Vec<Receiver>,
    /// The same as letters carry them; made by the first message after a change.
    shared: OnceLock<Arc<[Receiver]>>,
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("members", &self.members).finish_non_exhaustive()
    }
}

impl Receivers {
    /// Returns the number of clients.
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.members.len()).sum()
    }

    /// Returns the ids of the clients.
    pub fn clients(&self) -> impl Iterator<Item = u64> {
        self.groups.iter().flat_map(|group| &group.members).map(|member| member.client)
    }

    /// Returns true if there is none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Adds a client.
    pub fn add(&mut self, client: &Client, protocol: Protocol) {
        // The list names the worker and the entry.
        let Owner { post, entry, .. } = client.pin();
        let receiver = Receiver { client: client.id, entry, protocol };
        let group = match self.group_of(&post) {
            Some(at) => &mut self.groups[at],
            None => {
                self.groups.push(Group { post, members: Vec::new(), shared: OnceLock::new() });
                self.groups.last_mut().expect("it was just added")
            }
        };
        if let Err(at) = group.find(client.id) {
            group.members.insert(at, receiver);
            group.shared = OnceLock::new();
        }
    }

    /// Removes a client.
    pub fn remove(&mut self, client: &Client) {
        let Some(at) = self.group_of(&client.post()) else { return };
        let group = &mut self.groups[at];
        if let Ok(member) = group.find(client.id) {
            group.members.remove(member);
            if let Some(room) = smaller_room(group.members.len(), group.members.capacity()) {
                group.members.shrink_to(room);
            }
            group.shared = OnceLock::new();
        }
        if group.members.is_empty() {
            self.groups.swap_remove(at);
        }
    }

    fn group_of(&self, post: &Arc<dyn Post>) -> Option<usize> {
        self.groups.iter().position(|group| Arc::ptr_eq(&group.post, post))
    }
}

impl Group {
    fn find(&self, client: u64) -> Result<usize, usize> {
        self.members.binary_search_by_key(&client, |member| member.client)
    }
}

/// Letters that are about to leave.
#[derive(Default)]
pub(crate) struct Outgoing<'r> {
    /// Id of the client that caused them; zero if it makes no difference.
    author: u64,
    letters: SmallVec<[(&'r Arc<dyn Post>, Letter); 4]>,
    receivers: usize,
    flood: Option<&'r Flood>,
    /// Clients that are to be closed, as they were sent too much.
    flooded: Vec<(&'r Arc<dyn Post>, u64)>,
}

impl<'r> Outgoing<'r> {
    /// Nothing so far, caused by the client with the id `author`; what clients get is counted by
    /// `flood` where it is far too much.
    pub fn counted_by(flood: &'r Flood, author: u64) -> Outgoing<'r> {
        Outgoing { author, flood: Some(flood), ..Outgoing::default() }
    }

    /// Adds a message for all of `receivers`. `write` formats it, for clients of a protocol first.
    pub fn add(&mut self, receivers: &'r Receivers, write: impl FnOnce(Protocol) -> Message) {
        let Some(first) = receivers.groups.first() else { return };
        let message = Arc::new(write(first.members[0].protocol));
        for Group { post, members, shared } in &receivers.groups {
            self.receivers += members.len();
            let shared = shared.get_or_init(|| members.as_slice().into());
            match self.flood {
                Some(flood) if post.is_flooded() => {
                    let closed = |client| self.flooded.push((post, client));
                    let kept = flood.admit(shared, message.size(), closed);
                    if !kept.is_empty() {
                        self.letter_to(post).add(&message, &kept);
                    }
                }
                _ => self.letter_to(post).add(&message, shared),
            }
        }
    }

    fn letter_to(&mut self, post: &'r Arc<dyn Post>) -> &mut Letter {
        let known = self.letters.iter().position(|(other, _)| Arc::ptr_eq(other, post));
        let at = known.unwrap_or_else(|| {
            self.letters.push((post, Letter::by(self.author)));
            self.letters.len() - 1
        });
        &mut self.letters[at].1
    }

    /// Leaves the letters in the mailboxes; nobody is woken yet.
    pub fn leave(self) -> Left {
        let mut left = Left { receivers: self.receivers, ..Left::default() };
        for (post, letter) in self.letters {
            left.leave(post, Notice::Letter(letter));
            left.is_behind |= post.is_behind();
        }
        for (post, client) in self.flooded {
            left.leave(post, Notice::Flooded(client));
            left.is_behind = true;
        }
        left
    }
}

/// What became of a message.
#[derive(Default)]
#[must_use]
pub struct Left {
    /// Subscriptions by which it is received; one client may have several of them.
    pub receivers: usize,
    /// True if a worker has more mail than it is to have: a publisher is postponed.
    pub is_behind: bool,
    /// Workers that may sleep, to be woken without locks: that costs a system call for each.
    pub sleepers: SmallVec<[Arc<dyn Post>; 4]>,
}

impl Left {
    fn leave(&mut self, post: &Arc<dyn Post>, notice: Notice) {
        if post.leave(notice) {
            self.sleepers.push(Arc::clone(post));
        }
    }
}
