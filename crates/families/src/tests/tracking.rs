//! Tests of the invalidations that clients get for keys that they may have cached.

use crate::testing::{Mailbox, STARTED, World, check, here, reply_to};
use command::forget_tracking;
use session::{Client, Owner, Post, Session};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::{EvictionPolicy, Limits};

/// A server with two clients that take turns, both of RESP3.
struct Two {
    world: World,
    /// The other one.
    session: Session,
    mailbox: Arc<Mailbox>,
    first: Arc<Client>,
}

impl Two {
    /// Begins with the first client, which has sent a request.
    fn new(line: &str) -> Two {
        let (mut world, mailbox) = (World::new(), Arc::new(Mailbox::default()));
        let client = || {
            let post: Arc<dyn Post> = mailbox.clone();
            let client =
                world.instance.clients.add(here(), Owner { post, ..Owner::default() }, STARTED);
            client.protocol.store(3, Relaxed);
            client
        };
        let (first, second) = (client(), client());
        world.session = Session::new(Arc::clone(&first), true);
        let session = Session::new(second, true);
        let mut two = Two { world, session, mailbox, first };
        for _ in 0..2 {
            reply_to(&mut two.world, "HELLO 3");
            two.turn();
        }
        two.expects(line, "+OK");
        two
    }

    /// Lets the other client have its turn.
    fn turn(&mut self) {
        std::mem::swap(&mut self.world.session, &mut self.session);
    }

    #[track_caller]
    fn expects(&mut self, line: &str, reply: &str) {
        check(&mut self.world, &[(line, reply)]);
    }

    /// Has the other client send a request, whose reply does not matter.
    fn other(&mut self, line: &str) {
        self.turn();
        reply_to(&mut self.world, line);
        self.turn();
    }

    /// Has keys evicted from 24 megabytes on.
    fn limit_memory(&mut self) {
        self.limit_memory_by(EvictionPolicy::AllKeysRandom);
    }

    fn limit_memory_by(&mut self, eviction: EvictionPolicy) {
        self.world.instance.store.set_limits(&Limits {
            maxmemory: 24 << 20,
            other_bytes: 0,
            workers: 1,
            eviction,
            reclaim: Default::default(),
            lfu_log_factor: 10,
            lfu_decay_minutes: 1,
        });
    }

    /// Returns what was sent to the first client at the end of a batch.
    fn invalidated(&mut self) -> Vec<String> {
        self.world.instance.send_pending_messages();
        let messages = self.mailbox.take().into_iter();
        let keys = |text: String| text.trim().replace(">2 $10 invalidate ", "");
        let own = messages.filter(|(client, _)| *client == self.first.id);
        let mut keys_of_all: Vec<String> = own.map(|(_, text)| keys(text)).collect();
        // In no order if other keys than one have changed.
        keys_of_all.sort();
        keys_of_all
    }
}

#[test]
fn a_client_is_notified_once_of_a_key_that_it_has_read() {
    let mut two = Two::new("CLIENT TRACKING ON");
    two.expects("GET k", "_");
    two.other("SET k 1");
    two.other("SET k 2");
    two.other("SET other 2");
    assert_eq!(two.invalidated(), ["*1 $1 k"]);
    two.expects("GET k", "$1 2");
    two.other("DEL k");
    assert_eq!(two.invalidated(), ["*1 $1 k"]);
}

#[test]
fn what_a_command_of_the_client_itself_changes_is_sent_behind_its_reply() {
    let mut two = Two::new("CLIENT TRACKING ON");
    two.expects("MGET a b", "*2 _ _");
    two.expects("MSET a 1 b 2", "+OK >2 $10 invalidate *1 $1 a >2 $10 invalidate *1 $1 b");
    two.expects("GET a", "$1 1");
    two.expects("MULTI", "+OK");
    two.expects("INCR a", "+QUEUED");
    two.expects("PING", "+QUEUED");
    two.expects("EXEC", "*2 :2 +PONG >2 $10 invalidate *1 $1 a");
    two.expects("GET a", "$1 2");
    two.expects("FLUSHALL", "+OK >2 $10 invalidate _");
    assert!(two.invalidated().is_empty());
}

#[test]
fn a_client_without_a_loop_hears_of_others_and_of_what_expires() {
    let mut two = Two::new("CLIENT TRACKING ON NOLOOP");
    two.expects("MGET a b c", "*3 _ _ _");
    two.expects("SET a 1", "+OK");
    two.other("SET b 1 PX 10");
    two.expects("GET b", "$1 1");
    assert_eq!(two.invalidated(), ["*1 $1 b"]);
    two.world.instance.clock.advance(20);
    two.expects("GET b", "_ >2 $10 invalidate *1 $1 b");
    assert!(two.invalidated().is_empty());
}

#[test]
fn a_client_without_a_loop_does_not_hear_of_keys_that_it_lets_expire() {
    let mut two = Two::new("CLIENT TRACKING ON NOLOOP");
    let removals = [
        ("EXPIRE x -1", ":1"),
        ("PEXPIREAT x 1", ":1"),
        ("GETEX x PXAT 1", "$1 1"),
        ("SET x 1 PXAT 1", "+OK"),
    ];
    for (line, reply) in removals {
        two.expects("SET x 1", "+OK");
        two.expects("GET x", "$1 1");
        two.expects(line, reply);
        assert!(two.invalidated().is_empty(), "{line}");
    }
}

#[test]
fn a_client_whose_count_is_kept_with_the_key_may_keep_what_it_has_read() {
    let mut two = Two::new("CLIENT TRACKING ON");
    two.other("PFADD k a");
    two.expects("PFCOUNT k", ":1");
    assert!(two.invalidated().is_empty());
    two.other("PFADD k b");
    assert_eq!(two.invalidated(), ["*1 $1 k"]);
    reply_to(&mut two.world, "STRLEN k");
    two.expects("PFCOUNT k", ":2 >2 $10 invalidate *1 $1 k");
    two.other("DEL k");
    assert_eq!(two.invalidated(), ["*1 $1 k"]);
}

#[test]
fn exceptions_hold_for_the_next_command_and_for_a_transaction() {
    let mut two = Two::new("CLIENT TRACKING ON OPTIN");
    two.expects("GET a", "_");
    two.expects("CLIENT CACHING YES", "+OK");
    two.expects("GET b", "_");
    two.expects("GET c", "_");
    two.expects("CLIENT CACHING YES", "+OK");
    for line in ["MULTI", "GET d", "GET e"] {
        reply_to(&mut two.world, line);
    }
    two.expects("EXEC", "*2 _ _");
    two.expects("GET f", "_");
    two.other("MSET a 1 b 1 c 1 d 1 e 1 f 1");
    assert_eq!(two.invalidated(), ["*1 $1 b", "*1 $1 d", "*1 $1 e"]);

    let mut two = Two::new("CLIENT TRACKING ON OPTOUT");
    two.expects("GET a", "_");
    two.expects("CLIENT CACHING NO", "+OK");
    two.expects("GET b", "_");
    two.expects("GET c", "_");
    two.other("MSET a 1 b 1 c 1");
    assert_eq!(two.invalidated(), ["*1 $1 a", "*1 $1 c"]);
}

#[test]
fn changes_behind_prefixes_are_gathered_until_the_end_of_a_batch() {
    let mut two = Two::new("CLIENT TRACKING ON BCAST PREFIX a: PREFIX b:");
    two.expects("GET c:1", "_");
    two.other("MSET a:1 1 c:1 1 a:2 1");
    two.other("SET a:1 2");
    two.expects("SET b:1 2", "+OK");
    assert_eq!(two.invalidated(), ["*1 $3 b:1", "*2 $3 a:1 $3 a:2"]);
    let overlap = "-ERR Prefix 'a:1' overlaps with an existing prefix 'a:'. Prefixes for a single \
                   client must not overlap.";
    two.expects("CLIENT TRACKING ON BCAST PREFIX a:1", overlap);
    two.expects("CLIENT TRACKING OFF", "+OK");
    assert_eq!(two.world.instance.tracking.prefixes(), 0);
}

#[test]
fn behind_prefixes_a_client_without_a_loop_hears_what_others_changed_too() {
    let mut two = Two::new("CLIENT TRACKING ON BCAST NOLOOP");
    two.expects("MSET own 1 both 1", "+OK");
    two.other("MSET both 2 others 1");
    assert_eq!(two.invalidated(), ["*2 $4 both $6 others"]);
    two.expects("SET own 1", "+OK");
    assert!(two.invalidated().is_empty());
}

#[test]
fn another_client_is_notified_in_its_place_until_it_is_gone() {
    let mut two = Two::new("CLIENT TRACKING OFF");
    let id = two.first.id;
    let line = format!("CLIENT TRACKING ON REDIRECT {id}");
    two.turn();
    two.expects(&line, "+OK");
    two.expects("GET a", "_");
    two.turn();
    two.expects("SET a 1", "+OK");
    assert_eq!(two.invalidated(), ["*1 $1 a"]);
    two.world.instance.clients.remove(id);
    two.turn();
    two.expects("GET a", "$1 1");
    two.turn();
    two.expects("SET a 2", "+OK");
    two.world.instance.send_pending_messages();
    let broken = format!(">2 $21 tracking-redir-broken :{id} ");
    assert_eq!(two.mailbox.take(), [(two.session.client.id, broken)]);
    two.turn();
    let info = "%3 $5 flags ~2 $2 on $15 broken_redirect $8 redirect";
    two.expects("CLIENT TRACKINGINFO", &format!("{info} :{id} $8 prefixes *0"));
}

#[test]
fn a_table_that_is_full_has_trackers_forget_keys() {
    let mut two = Two::new("CLIENT TRACKING ON");
    two.expects("CONFIG SET tracking-table-max-keys 3", "+OK");
    two.expects("MGET a b c d e", "*5 _ _ _ _ _");
    assert_eq!(two.invalidated().len(), 2);
    assert_eq!(two.world.instance.tracking.keys(), 3);
}

#[test]
fn nothing_is_left_of_a_client_that_is_gone() {
    let mut two = Two::new("CLIENT TRACKING ON");
    (0..100).for_each(|number| drop(reply_to(&mut two.world, &format!("GET k{number}"))));
    two.other("CLIENT TRACKING ON BCAST");
    assert_eq!(two.world.instance.tracking.keys(), 100);
    forget_tracking(&two.world.instance, &mut two.world.session);
    forget_tracking(&two.world.instance, &mut two.session);
    let tracking = &two.world.instance.tracking;
    (0..8).for_each(|_| tracking.sweep());
    assert!(tracking.is_idle() && tracking.prefixes() == 0 && tracking.tracked_reads() == 0);
    assert!(!tracking.has_work());
}

#[test]
fn what_is_evicted_to_make_room_for_a_command_is_sent_before_its_reply() {
    let mut two = Two::new("CLIENT TRACKING ON NOLOOP");
    two.limit_memory();
    let value = "x".repeat(100_000);
    for number in 0..1000 {
        let reply = reply_to(&mut two.world, &format!("SET k{number} {value}"));
        if let Some(keys) = reply.strip_suffix("+OK").filter(|keys| !keys.is_empty()) {
            let pushes = keys.matches(">2 $10 invalidate *1 $").count();
            assert_eq!(keys.split(' ').count(), 1 + pushes * 6, "{reply}");
            return;
        }
        assert_eq!(reply, "+OK");
        reply_to(&mut two.world, &format!("STRLEN k{number}"));
    }
    panic!("nothing was evicted");
}

#[test]
fn what_is_evicted_to_make_room_for_a_transaction_is_sent_before_its_reply() {
    let mut two = Two::new("CLIENT TRACKING ON");
    two.limit_memory();
    let value = "x".repeat(100_000);
    for number in 0..150 {
        reply_to(&mut two.world, &format!("SET k{number} {value}"));
        reply_to(&mut two.world, &format!("STRLEN k{number}"));
    }
    reply_to(&mut two.world, "MULTI");
    (0..100).for_each(|number| drop(reply_to(&mut two.world, &format!("SET new{number} {value}"))));
    let reply = reply_to(&mut two.world, "EXEC");
    let (pushes, behind) = reply.split_once("*100 ").expect("a reply to all");
    assert!(pushes.contains(">2 $10 invalidate *1 $"), "nothing was evicted");
    assert!(!behind.contains("invalidate"), "{behind}");
}

#[test]
fn what_is_evicted_in_vain_is_sent_before_the_refusal() {
    let value = "x".repeat(100_000);
    for is_queued in [false, true] {
        let mut two = Two::new("CLIENT TRACKING ON NOLOOP");
        two.limit_memory_by(EvictionPolicy::VolatileLru);
        two.expects("SET timed v EX 1000", "+OK");
        two.expects("GET timed", "$1 v");
        let reply = (0..1000).find_map(|number| {
            let line = format!("SET k{number} {value}");
            let reply = match is_queued {
                true => ["MULTI", &line, "EXEC"].map(|it| reply_to(&mut two.world, it))[2].clone(),
                false => reply_to(&mut two.world, &line),
            };
            reply.contains("OOM").then_some(reply)
        });
        let code = if is_queued { "-EXECABORT" } else { "-OOM" };
        let expected = format!(">2 $10 invalidate *1 $5 timed {code}");
        let reply = reply.expect("it was refused");
        assert!(reply.starts_with(&expected), "{reply}");
    }
}

/// A request of each command that reads; its keys are `a` and `b`.
const READS: &str = "\
GET a|GETRANGE a 0 1|LCS a b|MGET a b|STRLEN a|SUBSTR a 0 1|BITCOUNT a|BITFIELD_RO a GET u8 0|\
BITPOS a 1|GETBIT a 1|HEXISTS a f|HEXPIRETIME a FIELDS 1 f|HGET a f|HGETALL a|HKEYS a|HLEN a|\
HMGET a f g|HPEXPIRETIME a FIELDS 1 f|HPTTL a FIELDS 1 f|HRANDFIELD a|HSCAN a 0|HSTRLEN a f|\
HTTL a FIELDS 1 f|HVALS a|PFCOUNT a b|LINDEX a 0|LLEN a|LPOS a e|LRANGE a 0 1|SCARD a|SDIFF a b|\
SINTER a b|SINTERCARD 2 a b|SISMEMBER a m|SMEMBERS a|SMISMEMBER a m n|SRANDMEMBER a|SSCAN a 0|\
SUNION a b|ZCARD a|ZCOUNT a 0 1|ZDIFF 2 a b|ZINTER 2 a b|ZINTERCARD 2 a b|ZLEXCOUNT a - +|\
ZMSCORE a m|ZRANDMEMBER a|ZRANGE a 0 1|ZRANGEBYLEX a - +|ZRANGEBYSCORE a 0 1|ZRANK a m|\
ZREVRANGE a 0 1|ZREVRANGEBYLEX a + -|ZREVRANGEBYSCORE a 1 0|ZREVRANK a m|ZSCAN a 0|ZSCORE a m|\
ZUNION 2 a b|GEODIST a m n|GEOHASH a m|GEOPOS a m|GEORADIUSBYMEMBER_RO a m 1 km|\
GEORADIUS_RO a 1 1 1 km|GEOSEARCH a FROMLONLAT 1 1 BYRADIUS 1 km|XINFO CONSUMERS a g|\
XINFO GROUPS a|XINFO STREAM a|XLEN a|XPENDING a g|XRANGE a - +|XREAD STREAMS a b 0 0|\
XREVRANGE a + -|DUMP a|EXISTS a b|EXPIRETIME a|OBJECT ENCODING a|OBJECT FREQ a|\
OBJECT IDLETIME a|OBJECT REFCOUNT a|PEXPIRETIME a|PTTL a|SORT_RO a BY w*|TOUCH a b|TTL a|TYPE a|\
MEMORY USAGE a";

#[test]
fn every_command_that_reads_enters_its_keys_whatever_it_finds() {
    let rows = crate::commands::table().rows().iter().filter(|row| {
        let is_script = row.spec.runs_script.is_some();
        let reads = row.spec.flags.contains(command::Flags::READONLY);
        reads && !row.spec.keys.is_empty() && !is_script
    });
    let mut missing: Vec<String> = rows.map(|row| row.full_name.to_uppercase()).collect();
    // Without a cluster it reads nothing.
    missing.retain(|name| name != "CLUSTERSCAN");
    for filled in [false, true] {
        for line in READS.split('|') {
            let mut two = Two::new("CLIENT TRACKING ON");
            if filled {
                two.other("SET a value");
            }
            reply_to(&mut two.world, line);
            let keys = 1 + usize::from(line.contains(" b"));
            assert_eq!(two.world.instance.tracking.keys(), keys, "{line}");
            missing.retain(|name| !line.starts_with(&format!("{} ", name.replace('|', " "))));
        }
    }
    assert!(missing.is_empty(), "no request of {missing:?}");
}
