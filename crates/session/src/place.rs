//! Where a client's connection is: the worker that has it.
//!
//! Only that worker hands the connection to another one. A sender of a notice reads the place
//! without holding it, so the notice may reach a worker that has handed the connection on; that
//! worker passes it on.

use base::mutex::{Mutex, MutexGuard};

/// The place of one client, whose worker `O` names.
pub struct Place<O>(Mutex<State<O>>);

struct State<O> {
    owner: O,
    /// True once a list of receivers names the worker: the connection stays there.
    is_pinned: bool,
}

impl<O: Clone> Place<O> {
    pub fn new(owner: O) -> Place<O> {
        Place(Mutex::new(State { owner, is_pinned: false }))
    }

    fn lock(&self) -> MutexGuard<'_, State<O>> {
        self.0.lock()
    }

    /// Returns the present owner, which may change at any time.
    pub fn owner(&self) -> O {
        self.lock().owner.clone()
    }

    /// Returns the owner, which the client keeps from now on.
    pub fn pin(&self) -> O {
        let mut state = self.lock();
        state.is_pinned = true;
        state.owner.clone()
    }

    /// Has `to` own the client, unless the client is pinned: then it returns false. `send` sends
    /// the connection there. It runs before anybody can read the new place, so all notices to the
    /// new owner come behind the connection.
    pub fn hand_over(&self, to: O, send: impl FnOnce()) -> bool {
        let mut state = self.lock();
        if state.is_pinned {
            return false;
        }
        send();
        state.owner = to;
        true
    }

    /// Changes what the owner knows of the client.
    pub fn update(&self, change: impl FnOnce(&mut O)) {
        change(&mut self.lock().owner);
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn a_client_whose_worker_is_in_a_list_is_not_handed_over() {
        let place = Place::new("first");
        assert_eq!(place.pin(), "first");
        assert!(!place.hand_over("second", || panic!("its connection leaves")));
        assert_eq!(place.owner(), "first");
    }

    #[test]
    fn nobody_reads_the_new_place_before_the_connection_is_sent_there() {
        let place = Place::new("first");
        assert!(place.hand_over("second", || {
            assert!(place.0.try_lock().is_none(), "a notice could come before the connection");
        }));
        assert_eq!(place.owner(), "second");
    }
}
