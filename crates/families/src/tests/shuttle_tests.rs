//! Units, clients that wait and watched keys on several threads, in interleavings that are chosen
//! at random. A lost wake shows as a client that waits for what is there, and a lock that is taken
//! in the wrong order as a deadlock.

use crate::table;
use crate::testing::{Answers, STARTED, World, check, here, reply_to};
use command::{Environment, Execution};
use session::{Client, Owner, Session};
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::RandomScheduler;
use shuttle::{Config, Runner};
use std::sync::Arc;

const KEYS: [&str; 3] = ["a", "b", "c"];
/// Requests of each thread.
const ROUNDS: usize = 4;
const ITERATIONS: usize = 1_000;
/// Bytes; commands need more than the checker gives threads otherwise.
const STACK: usize = 1 << 20;

fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = STACK;
    Runner::new(RandomScheduler::new(ITERATIONS), config).run(model);
}

/// Client that waits for lists.
struct Waiting {
    client: Arc<Client>,
    keys: Vec<&'static str>,
    answers: Arc<Answers>,
    /// True if it has ended its connection.
    has_left: bool,
}

/// One thread: its clients, and what became of elements there.
struct Worker {
    world: World,
    name: usize,
    pushed: Vec<String>,
    popped: Vec<String>,
    waiting: Vec<Waiting>,
}

impl Worker {
    fn beside(world: &World, name: usize) -> Worker {
        let (pushed, popped, waiting) = Default::default();
        Worker { world: world.beside(), name, pushed, popped, waiting }
    }

    /// Returns an element that nobody else pushes.
    fn element(&self) -> String {
        format!("{}.{}", self.name, self.pushed.len())
    }

    fn act(&mut self) {
        match thread_rng().gen_range(0..6) {
            0 => self.push(),
            1 | 2 => self.transact(),
            3 | 4 => self.wait(),
            _ => self.leave(),
        }
    }

    /// Pushes an element, unless a pause postpones that.
    fn push(&mut self) {
        let element = self.element();
        let (execution, _) = self.world.attempt(&format!("RPUSH {} {element}", any_key()));
        if execution != Execution::Postponed {
            self.pushed.push(element);
        }
    }

    /// Pushes and moves an element between two looks at the list; nobody takes one in between.
    fn transact(&mut self) {
        let (element, key, other) = (self.element(), any_key(), any_key());
        let lines = [
            "MULTI",
            &format!("LLEN {key}"),
            &format!("RPUSH {key} {element}"),
            &format!("LLEN {key}"),
            &format!("LMOVE {key} {other} LEFT RIGHT"),
            "EXEC",
        ];
        let mut reply = String::new();
        for line in lines {
            let execution;
            (execution, reply) = self.world.attempt(line);
            if execution == Execution::Postponed {
                return check(&mut self.world, &[("DISCARD", "+OK")]);
            }
        }
        self.pushed.push(element);
        let numbers: Vec<usize> =
            reply.split(' ').filter_map(|word| word.strip_prefix(':')?.parse().ok()).collect();
        assert_eq!(numbers[1..], [numbers[0] + 1; 2], "{reply}");
    }

    /// Begins to wait, or takes what is there, with a client of its own.
    fn wait(&mut self) {
        let (key, other) = (any_key(), any_key());
        let (line, keys) = match thread_rng().gen_range(0..3) {
            0 => (format!("BLPOP {key} 0"), vec![key]),
            1 => (format!("BLPOP {key} {other} 0"), vec![key, other]),
            _ => (format!("BLMOVE {key} {other} LEFT RIGHT 0"), vec![key]),
        };
        let answers = Arc::new(Answers::default());
        let owner = Owner { post: answers.clone(), ..Owner::default() };
        let client = self.world.instance.clients.add(here(), owner, STARTED);
        let session = Session::new(Arc::clone(&client), true);
        let own = std::mem::replace(&mut self.world.session, session);
        let (execution, reply) = self.world.attempt(&line);
        self.world.session = own;
        match execution {
            Execution::Waits | Execution::ByMail => {
                self.waiting.push(Waiting { client, keys, answers, has_left: false });
            }
            Execution::Postponed => {}
            _ => self.popped.extend(popped(&reply)),
        }
    }

    /// Ends the connection of a client that waits.
    fn leave(&mut self) {
        if let Some(waiting) = self.waiting.last_mut() {
            self.world.instance.waiters.forget(&waiting.client);
            waiting.has_left = true;
        }
    }
}

fn any_key() -> &'static str {
    KEYS[thread_rng().gen_range(0..KEYS.len())]
}

/// Returns the element that a reply takes out of the lists; BLMOVE takes none.
fn popped(reply: &str) -> Option<String> {
    let (_, element) = reply.strip_prefix("*2 ")?.rsplit_once(' ')?;
    Some(element.to_owned())
}

/// Ends a pause of writes, if there is one, and runs the waiters that it has postponed.
fn unpause(world: &mut World) {
    check(world, &[("CLIENT UNPAUSE", "+OK")]);
    let now = world.instance.clock.now();
    world.instance.store.enter(&world.thread);
    let (instance, statistics) = (&*world.instance, &*world.statistics);
    let environment = Environment { instance, table: table(), statistics, now };
    command::resume_postponed(environment, &mut world.thread);
    world.instance.store.leave(&world.thread);
}

/// Asserts that each element that was pushed is in a list or has gone to one client, that nobody
/// waits for what is there, and that disconnected clients have left nothing.
fn check_end(world: &mut World, workers: &mut [Worker]) {
    let mut left = Vec::new();
    for database in [1, 0] {
        check(world, &[(&format!("SELECT {database}"), "+OK")]);
        for key in KEYS {
            let reply = reply_to(world, &format!("LRANGE {key} 0 -1"));
            left.extend(reply.split(' ').filter(|word| word.contains('.')).map(str::to_owned));
        }
    }
    let waiters = &world.instance.waiters;
    let mut still = 0;
    for worker in &mut *workers {
        for waiting in &worker.waiting {
            let answers = waiting.answers.take();
            assert!(answers.len() <= 1, "{answers:?}");
            worker.popped.extend(answers.iter().filter_map(|reply| popped(reply)));
            let waits = waiting.client.waiter().is_some();
            assert_eq!(waits, answers.is_empty() && !waiting.has_left, "{:?}", waiting.keys);
            still += u64::from(waits);
        }
    }
    assert_eq!((waiters.count(), waiters.postponed.len()), (still, 0));
    for worker in &*workers {
        for waiting in worker.waiting.iter().filter(|it| it.client.waiter().is_some()) {
            let keys = waiting.keys.join(" ");
            check(world, &[(&format!("EXISTS {keys}"), ":0")]);
            world.instance.waiters.forget(&waiting.client);
        }
    }
    let waiters = &world.instance.waiters;
    assert_eq!((waiters.count(), waiters.keys(), waiters.bytes()), (0, 0, 0));
    let mut pushed: Vec<_> = workers.iter().flat_map(|it| it.pushed.clone()).collect();
    left.extend(workers.iter().flat_map(|it| it.popped.clone()));
    pushed.sort();
    left.sort();
    assert_eq!(left, pushed, "what was pushed is in a list or was popped once");
}

/// Runs workers on threads of their own, and `beside` on one more; then looks at what is left.
fn run(names: usize, beside: fn(&mut World)) {
    let mut world = World::new();
    let spawn = |name| {
        let mut worker = Worker::beside(&world, name);
        shuttle::thread::spawn(move || {
            (0..ROUNDS).for_each(|_| worker.act());
            worker
        })
    };
    let threads: Vec<_> = (0..names).map(spawn).collect();
    let mut other = world.beside();
    let keeper = shuttle::thread::spawn(move || beside(&mut other));
    let mut workers: Vec<_> =
        threads.into_iter().map(|thread| thread.join().expect("it ends")).collect();
    keeper.join().expect("it ends");
    unpause(&mut world);
    check_end(&mut world, &mut workers);
}

#[test]
fn every_element_goes_to_one_client_and_nobody_waits_for_what_is_there() {
    explore(|| run(3, |_| ()));
}

#[test]
fn pauses_postpone_those_whose_turn_comes_and_lose_none() {
    let pauses = |world: &mut World| {
        for _ in 0..2 {
            check(world, &[("CLIENT PAUSE 1000 WRITE", "+OK")]);
            unpause(world);
        }
    };
    explore(move || run(3, pauses));
}

#[test]
fn swapped_databases_serve_those_who_wait_for_what_comes() {
    let swaps = |world: &mut World| {
        check(world, &[("SWAPDB 0 1", "+OK"), ("SWAPDB 1 0", "+OK")]);
    };
    explore(move || run(2, swaps));
}

/// Each thread adds one to a number and to its copy, as clients do that watch what they have read.
#[test]
fn exec_succeeds_only_where_nobody_has_changed_what_was_watched() {
    explore(|| {
        let mut world = World::new();
        check(&mut world, &[("MSET a 0 b 0", "+OK")]);
        let spawn = |_| {
            let mut world = world.beside();
            shuttle::thread::spawn(move || (0..ROUNDS).filter(|_| add_one(&mut world)).count())
        };
        let threads: Vec<_> = (0..3).map(spawn).collect();
        let added: usize = threads.into_iter().map(|thread| thread.join().expect("it ends")).sum();
        assert!(added > 0, "the first EXEC of all succeeds");
        let sum = format!("*2 ${0} {added} ${0} {added}", added.to_string().len());
        check(&mut world, &[("MGET a b", &sum)]);
        assert_eq!(world.instance.watches.keys(), 0);
    });
}

/// Adds one to both numbers in a transaction; returns false if somebody has changed them.
fn add_one(world: &mut World) -> bool {
    check(world, &[("WATCH a b", "+OK")]);
    let reply = reply_to(world, "MGET a b");
    let words: Vec<&str> = reply.split(' ').collect();
    check(world, &[("MULTI", "+OK")]);
    let next = words[2].parse::<u64>().expect("a number") + 1;
    let lines = [format!("SET a {next}"), "PING".to_owned(), format!("SET b {next}")];
    lines.iter().for_each(|line| check(world, &[(line, "+QUEUED")]));
    assert_eq!(words[2], words[4], "half of a transaction was read");
    reply_to(world, "EXEC") != "*-1"
}

/// Makes a user with a channel and a command, and a client of it that another thread serves.
fn subscriber_beside(world: &mut World) -> World {
    let rules = "on nopass resetchannels &c +subscribe +ping";
    check(world, &[(&format!("ACL SETUSER ann {rules}"), "+OK")]);
    let mut other = world.beside();
    check(&mut other, &[("AUTH ann any", "+OK")]);
    other
}

#[test]
fn a_client_that_subscribes_while_it_loses_the_channel_is_refused_or_closed() {
    explore(|| {
        let mut world = World::new();
        let mut other = subscriber_beside(&mut world);
        let subscribing = shuttle::thread::spawn(move || {
            other.session.take_new_rules(&other.instance.access);
            let reply = reply_to(&mut other, "SUBSCRIBE c");
            (reply.starts_with("*3"), other)
        });
        check(&mut world, &[("ACL SETUSER ann resetchannels", "+OK")]);
        let (has_subscribed, other) = subscribing.join().expect("no panic");
        assert!(!has_subscribed || other.session.client.is_doomed());
    });
}

#[test]
fn what_begins_behind_the_answer_to_a_change_runs_under_the_new_rules() {
    explore(|| {
        let mut world = World::new();
        let mut other = subscriber_beside(&mut world);
        let is_changed = Arc::new(shuttle::sync::atomic::AtomicBool::new(false));
        let seen = Arc::clone(&is_changed);
        let asking = shuttle::thread::spawn(move || {
            let is_behind = seen.load(shuttle::sync::atomic::Ordering::SeqCst);
            other.session.take_new_rules(&other.instance.access);
            (is_behind, reply_to(&mut other, "PING"))
        });
        check(&mut world, &[("ACL SETUSER ann -ping", "+OK")]);
        is_changed.store(true, shuttle::sync::atomic::Ordering::SeqCst);
        let (is_behind, reply) = asking.join().expect("no panic");
        assert!(!is_behind || reply.starts_with("-NOPERM"), "{reply}");
    });
}
