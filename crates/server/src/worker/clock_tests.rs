//! Tests of a wall clock that is set back, and of one that is set forward: what lasts a while lasts
//! as long as it says.

use super::testing::{BEGIN, Peer, World};
use base::Millis;

const DAY: u64 = 24 * 3_600_000;

/// Worlds whose wall clock is about to be set, each with the time that it is set to.
fn worlds() -> impl Iterator<Item = (World, Millis)> {
    [BEGIN.0 - DAY, BEGIN.0 + DAY].into_iter().map(|now| (World::new(), Millis(now)))
}

impl World {
    fn pass(&mut self, millis: u64) {
        self.instance.clock.advance(millis);
        self.run_until_idle();
    }

    /// Returns the words of the client's line that begin with one of these names.
    fn line_of(&mut self, peer: &Peer, names: &[&str]) -> Vec<String> {
        let line = self.ask(peer, "CLIENT LIST\r\n");
        let is_wanted = |word: &&str| names.iter().any(|name| word.starts_with(name));
        line.split(' ').filter(is_wanted).map(str::to_owned).collect()
    }
}

#[test]
fn a_waiter_gives_up_when_the_time_has_passed() {
    for (mut world, set_to) in worlds() {
        let peer = world.connect();
        assert_eq!(world.ask(&peer, "BLPOP k 0.5\r\n"), "");
        world.instance.clock.set_wall(set_to);
        world.pass(500);
        assert_eq!(peer.read(), "");
        world.pass(1);
        assert_eq!(peer.read(), "*-1", "{set_to:?}");
    }
}

#[test]
fn a_pause_ends_when_its_time_has_passed() {
    for (mut world, set_to) in worlds() {
        let (peer, other) = (world.connect(), world.connect());
        assert_eq!(world.ask(&other, "CLIENT PAUSE 500 WRITE\r\n"), "+OK");
        assert_eq!(world.ask(&peer, "SET k v\r\n"), "");
        world.instance.clock.set_wall(set_to);
        world.pass(499);
        assert_eq!(peer.read(), "");
        let info = world.ask(&other, "INFO clients\r\n");
        assert!(info.ends_with("paused_timeout_milliseconds:1"), "{set_to:?}: {info}");
        world.pass(1);
        assert_eq!(peer.read(), "+OK", "{set_to:?}");
    }
}

#[test]
fn a_silent_client_is_closed_when_the_time_has_passed() {
    for (mut world, set_to) in worlds() {
        let (silent, other) = (world.connect(), world.connect());
        world.ask(&other, "CONFIG SET timeout 10\r\n");
        world.ask(&silent, "PING\r\n");
        world.instance.clock.set_wall(set_to);
        world.pass(10_000);
        world.ask(&other, "PING\r\n");
        assert!(!silent.is_closed(), "{set_to:?}");
        world.pass(250);
        assert!(silent.is_closed() && !other.is_closed(), "{set_to:?}");
    }
}

#[test]
fn ages_are_told_by_the_time_that_has_passed() {
    for (mut world, set_to) in worlds() {
        let peer = world.connect();
        world.pass(2_000);
        world.ask(&peer, "PING\r\n");
        world.instance.clock.set_wall(set_to);
        world.pass(3_000);
        assert_eq!(world.line_of(&peer, &["age=", "idle="]), ["age=5", "idle=3"], "{set_to:?}");
        let info = world.ask(&peer, "INFO server\r\n");
        assert!(info.contains("uptime_in_seconds:5 "), "{set_to:?}: {info}");
        let old = world.ask(&peer, "CLIENT LIST MAXAGE 6\r\n");
        assert!(!old.contains("id=1 "), "{set_to:?}: {old}");
    }
}

#[test]
fn deadlines_of_keys_follow_the_wall_clock() {
    for (mut world, set_to) in worlds() {
        let peer = world.connect();
        assert_eq!(world.ask(&peer, "SET k v PX 1000\r\n"), "+OK");
        world.instance.clock.set_wall(set_to);
        let left = world.ask(&peer, "PTTL k\r\n");
        assert_eq!(left, if set_to < BEGIN { ":86401000" } else { ":-2" });
    }
}
