package varve;

import static varve.Support.PATIENCE;
import static varve.Support.beside;
import static varve.Support.between;
import static varve.Support.expect;
import static varve.Support.is;
import static varve.Support.same;
import static varve.Support.waitUntil;
import static varve.Support.waiters;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.IntStream;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.args.ListDirection;
import redis.clients.jedis.args.SortedSetOption;
import redis.clients.jedis.params.XReadGroupParams;
import redis.clients.jedis.params.XReadParams;
import redis.clients.jedis.resps.StreamEntry;
import redis.clients.jedis.resps.Tuple;
import redis.clients.jedis.util.KeyValue;

/** Commands that wait for elements which another connection brings. */
final class Blocking {
    private static final ListDirection LEFT = ListDirection.LEFT;
    private static final Map<String, StreamEntryID> NEW = Map.of("s", StreamEntryID.XREAD_NEW_ENTRY);
    private static final Map<String, StreamEntryID> UNDELIVERED =
            Map.of("s", StreamEntryID.XREADGROUP_UNDELIVERED_ENTRY);

    private Blocking() {}

    @Case
    static void aPushFromAnotherConnectionServesABlockedPop(Jedis db) {
        pushServes(db, other -> other.blpop((double) PATIENCE, "other", "l"), KeyValue.of("l", "v"));
        pushServes(db, other -> other.brpop((double) PATIENCE, "l"), KeyValue.of("l", "v"));
        pushServes(db, other -> other.blmpop(PATIENCE, LEFT, 2, "other", "l"), KeyValue.of("l", List.of("v")));
        pushServes(db, other -> other.blmove("l", "to", LEFT, LEFT, PATIENCE), "v");
        pushServes(db, other -> other.brpoplpush("l", "to", PATIENCE), "v");
        same(db.lrange("to", 0, -1), List.of("v", "v"));
    }

    @Case
    static void anAddedMemberServesABlockedPop(Jedis db) {
        Tuple member = new Tuple("m", 1.5);
        additionServes(db, other -> other.bzpopmin(PATIENCE, "other", "z"), KeyValue.of("z", member));
        additionServes(db, other -> other.bzpopmax(PATIENCE, "z"), KeyValue.of("z", member));
        Function<Jedis, Object> popSeveral = other -> other.bzmpop(PATIENCE, SortedSetOption.MIN, 2, "z");
        additionServes(db, popSeveral, KeyValue.of("z", List.of(member)));
    }

    @Case
    static void anAppendedEntryServesBlockedReaders(Jedis db) {
        db.xgroupCreate("s", "g", Streams.id(0), true);
        XReadParams waiting = XReadParams.xReadParams().block(PATIENCE * 1000);
        Map<String, List<StreamEntry>> read = replyOnceServed(
                db, other -> other.xreadAsMap(waiting, NEW), () -> db.xadd("s", Streams.id(1), Map.of("n", "1")));
        same(read.get("s").get(0).getID(), Streams.id(1));
        db.xreadGroup("g", "ann", new XReadGroupParams(), UNDELIVERED);
        XReadGroupParams groupWaiting = XReadGroupParams.xReadGroupParams().block(PATIENCE * 1000);
        read = replyOnceServed(
                db,
                other -> other.xreadGroupAsMap("g", "bob", groupWaiting, UNDELIVERED),
                () -> db.xadd("s", Streams.id(2), Map.of("n", "2")));
        same(read.get("s").get(0).getID(), Streams.id(2));
        is(db.xpending("s", "g").getTotal(), 2);
    }

    @Case
    static void blockedCallsGiveUpAfterTheirTimeout(Jedis db) {
        db.xgroupCreate("s", "g", StreamEntryID.XGROUP_LAST_ENTRY, true);
        XReadGroupParams groupWaiting = XReadGroupParams.xReadGroupParams().block(100);
        List<Function<Jedis, Object>> calls = List.of(
                other -> other.blpop(0.1, "l", "other"),
                other -> other.brpop(0.1, "l"),
                other -> other.blmpop(0.1, LEFT, "l"),
                other -> other.blmove("l", "to", LEFT, LEFT, 0.1),
                other -> other.bzpopmin(0.1, "z"),
                other -> other.bzmpop(0.1, SortedSetOption.MAX, "z"),
                other -> other.xread(XReadParams.xReadParams().block(100), NEW),
                other -> other.xreadGroup("g", "ann", groupWaiting, UNDELIVERED));
        calls.stream().map(call -> beside(db, other -> secondsInVain(other, call))).toList()
                .forEach(seconds -> between(seconds.join(), 0.1, 5));
        is(waiters(db), 0);
    }

    @Case
    static void elementsThatAreThereAreGivenAtOnce(Jedis db) {
        db.rpush("l", "a", "b");
        same(db.blpop((double) PATIENCE, "l"), KeyValue.of("l", "a"));
        same(db.blmove("l", "to", LEFT, LEFT, PATIENCE), "b");
        db.zadd("z", 1, "m");
        same(db.bzpopmax(PATIENCE, "z"), KeyValue.of("z", new Tuple("m", 1.0)));
    }

    @Case
    static void blockedClientsAreServedInTheOrderOfTheirArrival(Jedis db) {
        List<CompletableFuture<KeyValue<String, String>>> replies = new ArrayList<>();
        for (int place = 1; place <= 5; place++) {
            replies.add(beside(db, other -> other.blpop((double) PATIENCE, "l")));
            untilBlocked(db, replies.get(place - 1), place);
        }
        db.rpush("l", "0", "1", "2", "3", "4");
        List<String> served = replies.stream().map(reply -> reply.join().getValue()).toList();
        same(served, List.of("0", "1", "2", "3", "4"));
    }

    @Case
    static void aQueuePasses1000ElementsToAWaitingConsumer(Jedis db) {
        List<String> elements = IntStream.range(0, 1000).mapToObj(Integer::toString).toList();
        CompletableFuture<List<String>> received = beside(
                db, other -> elements.stream().map(any -> other.blpop((double) PATIENCE, "l").getValue()).toList());
        elements.forEach(element -> db.rpush("l", element));
        same(received.join(), elements);
    }

    private static void pushServes(Jedis db, Function<Jedis, Object> call, Object expected) {
        same(replyOnceServed(db, call, () -> db.rpush("l", "v")), expected);
        expect(!db.exists("l"), "the element is still there");
    }

    private static void additionServes(Jedis db, Function<Jedis, Object> call, Object expected) {
        same(replyOnceServed(db, call, () -> db.zadd("z", 1.5, "m")), expected);
        expect(!db.exists("z"), "the member is still there");
    }

    /** What a call gives that is blocked, on a connection of its own, until it is served. */
    private static <T> T replyOnceServed(Jedis db, Function<Jedis, T> call, Runnable serve) {
        CompletableFuture<T> reply = beside(db, call);
        untilBlocked(db, reply, 1);
        serve.run();
        return reply.join();
    }

    /** Returns once as many clients are blocked, the last of them by the call that is answered with the reply. */
    private static void untilBlocked(Jedis db, CompletableFuture<?> reply, int count) {
        waitUntil(() -> reply.isDone() || waiters(db) == count, "the call did not block");
        if (reply.isDone()) {
            throw new AssertionError("the call did not block but gave " + reply.join());
        }
    }

    /** The seconds that a call takes which waits in vain. */
    private static double secondsInVain(Jedis other, Function<Jedis, Object> call) {
        other.ping();
        long began = System.nanoTime();
        same(call.apply(other), null);
        return (System.nanoTime() - began) / 1e9;
    }
}
