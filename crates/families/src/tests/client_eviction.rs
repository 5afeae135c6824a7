use crate::testing::{STARTED, here};
use session::client_eviction::REST_MILLIS;
use session::{Client, ClientFlags, Clients, Owner};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

struct World {
    clients: Clients,
    owner: Owner,
}

impl World {
    fn new() -> World {
        let (clients, mut owner) = (Clients::default(), Owner::default());
        owner.sum = clients.add_worker(Arc::clone(&owner.post));
        World { clients, owner }
    }

    /// Adds a client whose memory is that of a new one, and this many bytes more.
    fn add(&self, more: u64) -> Arc<Client> {
        assert!(self.clients.admit(u64::MAX));
        let client = self.clients.add(here(), self.owner.clone(), STARTED);
        grow(&client, more);
        client
    }

    /// Evicts until so many bytes are left; returns the number of clients chosen.
    fn evict(&self, most: u64) -> u64 {
        self.clients.evict(most, STARTED).expect("nobody else does")
    }

    /// Closes the clients that were chosen, as their workers do.
    fn close_doomed(&self) {
        let doomed = self.clients.list().into_iter().filter(|client| client.is_doomed());
        doomed.for_each(|client| self.clients.remove(client.id));
    }

    fn sum_of_clients(&self) -> u64 {
        self.clients.list().iter().map(|client| client.memory()).sum()
    }
}

fn grow(client: &Client, bytes: u64) {
    client.query_bytes.store(bytes, Relaxed);
    client.count_memory();
}

#[test]
fn the_largest_are_chosen_and_no_more_than_needed() {
    let world = World::new();
    let clients: Vec<_> = [10_000, 50_000, 30_000, 40_000, 20_000].map(|it| world.add(it)).into();
    let most = world.clients.memory() - 60_000;
    assert_eq!(world.evict(world.clients.memory()), 0, "what fits stays");
    assert_eq!(world.evict(most), 2);
    let doomed: Vec<bool> = clients.iter().map(|client| client.is_doomed()).collect();
    assert_eq!(doomed, [false, true, false, true, false]);
    assert_eq!(world.evict(most), 0, "those that go already count as gone");
    world.close_doomed();
    assert_eq!(world.clients.memory(), world.sum_of_clients());
    assert_eq!(world.evict(most), 0);
    assert_eq!(world.clients.eviction.leaving(), 0);
}

#[test]
fn a_client_that_asked_not_to_be_evicted_is_spared_and_counts() {
    let world = World::new();
    let (spared, small, large) = (world.add(90_000), world.add(1000), world.add(2000));
    spared.set_flag(ClientFlags::NO_EVICT, true);
    assert_eq!(world.evict(91_000 + 2 * small.memory()), 1);
    assert!(large.is_doomed() && !small.is_doomed() && !spared.is_doomed());
}

#[test]
fn where_nobody_may_go_nobody_is_looked_for_for_a_while() {
    let world = World::new();
    let client = world.add(90_000);
    client.set_flag(ClientFlags::NO_EVICT, true);
    assert_eq!(world.evict(1000), 0);
    client.set_flag(ClientFlags::NO_EVICT, false);
    assert_eq!(world.evict(1000), 0);
    assert_eq!(world.clients.evict(1000, STARTED.after(REST_MILLIS)), Some(1));
}

#[test]
fn a_client_that_leaves_by_itself_meanwhile_is_not_counted_as_evicted() {
    let world = World::new();
    let client = world.add(90_000);
    world.clients.remove(client.id);
    assert!(!client.evict(90_000, &world.clients.eviction));
    assert_eq!((world.clients.eviction.leaving(), world.clients.memory()), (0, 0));
}

#[test]
fn a_client_that_was_killed_meanwhile_is_not_counted_as_evicted() {
    let world = World::new();
    let client = world.add(90_000);
    assert!(client.kill());
    assert_eq!(world.evict(1000), 0);
    assert!(!client.evict(90_000, &world.clients.eviction));
    world.close_doomed();
    assert_eq!((world.clients.eviction.leaving(), world.clients.memory()), (0, 0));
}
