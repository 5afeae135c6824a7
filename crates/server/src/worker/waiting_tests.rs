//! Tests of waiters whose turn comes in a pause.

use super::testing::World;

const PUSH_AND_PAUSE: &str = "MULTI\r\nRPUSH k v\r\nCLIENT PAUSE 1000 WRITE\r\nEXEC\r\n";
const PAUSED: &str = "+OK +QUEUED +QUEUED *2 :1 +OK";

#[test]
fn who_has_waited_is_served_before_the_requests_that_the_same_pause_held_back() {
    let mut world = World::new();
    let (waiter, other, writer) = (world.connect(), world.connect(), world.connect());
    for end in ["CLIENT UNPAUSE\r\n", "its time"] {
        world.ask(&waiter, "BLPOP k 0.1\r\n");
        assert_eq!(world.ask(&writer, PUSH_AND_PAUSE), PAUSED);
        assert_eq!(world.ask(&other, "LPOP k\r\n"), "");
        world.instance.clock.advance(500);
        world.iterate(&[]);
        assert_eq!(waiter.read(), "");
        if end == "its time" {
            world.instance.clock.advance(501);
        } else {
            assert_eq!(world.ask(&writer, end), "+OK");
        }
        world.settle();
        assert_eq!((waiter.read(), other.read()), ("*2 $1 k $1 v".into(), "$-1".into()), "{end}");
    }
    assert_eq!((world.instance.waiters.count(), world.instance.waiters.deadlines()), (0, 0));
}

#[test]
fn who_finds_nothing_behind_a_pause_has_its_whole_time_again() {
    for millis_held in [60, 500] {
        let mut world = World::new();
        let (first, second, writer) = (world.connect(), world.connect(), world.connect());
        world.ask(&first, "BLPOP k 0\r\n");
        world.ask(&second, "BLPOP k 0.1\r\n");
        assert_eq!(world.ask(&writer, PUSH_AND_PAUSE), PAUSED);
        world.instance.clock.advance(millis_held);
        world.iterate(&[]);
        assert_eq!(world.ask(&writer, "CLIENT UNPAUSE\r\n"), "+OK");
        world.settle();
        assert_eq!(first.read(), "*2 $1 k $1 v");
        world.instance.clock.advance(100);
        world.settle();
        assert_eq!((second.read(), world.instance.waiters.deadlines()), (String::new(), 1));
        world.instance.clock.advance(1);
        world.settle();
        assert_eq!((second.read(), world.instance.waiters.deadlines()), ("*-1".to_owned(), 0));
    }
}
