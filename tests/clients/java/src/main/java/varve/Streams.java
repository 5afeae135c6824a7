package varve;

import static varve.Support.MANY;
import static varve.Support.expect;
import static varve.Support.is;
import static varve.Support.refused;
import static varve.Support.same;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.params.XAddParams;
import redis.clients.jedis.params.XAutoClaimParams;
import redis.clients.jedis.params.XClaimParams;
import redis.clients.jedis.params.XPendingParams;
import redis.clients.jedis.params.XReadGroupParams;
import redis.clients.jedis.params.XReadParams;
import redis.clients.jedis.params.XTrimParams;
import redis.clients.jedis.resps.StreamEntry;
import redis.clients.jedis.resps.StreamGroupInfo;
import redis.clients.jedis.resps.StreamInfo;
import redis.clients.jedis.resps.StreamPendingEntry;
import redis.clients.jedis.resps.StreamPendingSummary;

/** Streams and consumer groups. */
final class Streams {
    private static final StreamEntryID START = id(0);
    private static final StreamEntryID UNDELIVERED = StreamEntryID.XREADGROUP_UNDELIVERED_ENTRY;

    private Streams() {}

    @Case
    static void appendsAndReadsEntries(Jedis db) {
        same(db.xadd("s", new StreamEntryID(5, 1), Map.of("a", "1", "b", "2")), new StreamEntryID(5, 1));
        same(db.xadd("s", XAddParams.xAddParams().id(5), Map.of("c", "3")), new StreamEntryID(5, 2));
        StreamEntryID latest = db.xadd("s", StreamEntryID.NEW_ENTRY, Map.of("d", "4"));
        is(db.xlen("s"), 3);
        List<StreamEntry> entries = db.xrange("s", "-", "+");
        same(ids(entries), List.of(new StreamEntryID(5, 1), new StreamEntryID(5, 2), latest));
        same(entries.get(0).getFields(), Map.of("a", "1", "b", "2"));
        same(ids(db.xrevrange("s", "+", "-", 1)), List.of(latest));
        refused(() -> db.xadd("s", id(5), Map.of("e", "5")), "equal or smaller than the target stream top item");
    }

    @Case
    static void deletesAndTrimsEntries(Jedis db) {
        append(db, 10);
        is(db.xdel("s", id(3), id(99)), 1);
        is(db.xtrim("s", 5, false), 4);
        is(db.xtrim("s", XTrimParams.xTrimParams().minId("8")), 2);
        same(ids(db.xrange("s", "-", "+")), List.of(id(8), id(9), id(10)));
        db.xadd("s", XAddParams.xAddParams().id(id(11)).maxLen(2), Map.of("n", "11"));
        is(db.xlen("s"), 2);
        same(db.xadd("missing", XAddParams.xAddParams().noMkStream(), Map.of("n", "1")), null);
    }

    @Case
    static void readsSeveralStreamsFromAnId(Jedis db) {
        append(db, 2);
        db.xadd("t", id(3), Map.of("n", "3"));
        Map<String, List<StreamEntry>> read = db.xreadAsMap(new XReadParams(), Map.of("s", id(1), "t", START));
        same(ids(read.get("s")), List.of(id(2)));
        same(ids(read.get("t")), List.of(id(3)));
        same(db.xreadAsMap(new XReadParams(), Map.of("s", id(2))), null);
    }

    @Case
    static void aGroupSharesEntriesAmongItsConsumers(Jedis db) {
        append(db, 3);
        same(db.xgroupCreate("s", "g", START, false), "OK");
        refused(() -> db.xgroupCreate("s", "g", START, false), "Consumer Group name already exists");
        same(readGroup(db, "ann", UNDELIVERED, 2), List.of(id(1), id(2)));
        same(readGroup(db, "bob", UNDELIVERED, 2), List.of(id(3)));
        same(readGroup(db, "bob", UNDELIVERED, 2), List.of());
        refused(() -> db.xreadGroup("absent", "ann", new XReadGroupParams(), Map.of("s", UNDELIVERED)), "NOGROUP");
    }

    @Case
    static void entriesArePendingUntilAcknowledged(Jedis db) {
        append(db, 3);
        db.xgroupCreate("s", "g", START, false);
        readGroup(db, "ann", UNDELIVERED, 3);
        StreamPendingSummary summary = db.xpending("s", "g");
        is(summary.getTotal(), 3);
        same(List.of(summary.getMinId(), summary.getMaxId()), List.of(id(1), id(3)));
        same(summary.getConsumerMessageCount(), Map.of("ann", 3L));
        is(db.xack("s", "g", id(1), id(99)), 1);
        same(readGroup(db, "ann", START, 3), List.of(id(2), id(3)));
        StreamPendingEntry first = db.xpending("s", "g", XPendingParams.xPendingParams("-", "+", 1)).get(0);
        same(List.of(first.getID(), first.getConsumerName(), first.getDeliveredTimes()), List.of(id(2), "ann", 2L));
    }

    @Case
    static void claimsPendingEntriesForAnotherConsumer(Jedis db) {
        append(db, 3);
        db.xgroupCreate("s", "g", START, false);
        readGroup(db, "ann", UNDELIVERED, 3);
        XClaimParams plain = XClaimParams.xClaimParams();
        same(ids(db.xclaim("s", "g", "bob", 0, plain, id(1))), List.of(id(1)));
        same(db.xclaim("s", "g", "bob", 3_600_000, plain, id(2)), List.of());
        same(db.xclaimJustId("s", "g", "bob", 0, plain, id(2)), List.of(id(2)));
        Map.Entry<StreamEntryID, List<StreamEntry>> claimed =
                db.xautoclaim("s", "g", "cid", 0, START, XAutoClaimParams.xAutoClaimParams().count(2));
        same(claimed.getKey(), id(3));
        same(ids(claimed.getValue()), List.of(id(1), id(2)));
        Map<String, Long> pending = new HashMap<>();
        db.xinfoConsumers("s", "g").forEach(consumer -> pending.put(consumer.getName(), consumer.getPending()));
        same(pending, Map.of("ann", 1L, "bob", 0L, "cid", 2L));
    }

    @Case
    static void managesGroupsAndConsumers(Jedis db) {
        same(db.xgroupCreate("s", "g", StreamEntryID.XGROUP_LAST_ENTRY, true), "OK");
        append(db, 2);
        expect(db.xgroupCreateConsumer("s", "g", "ann"), "the consumer was not created");
        expect(!db.xgroupCreateConsumer("s", "g", "ann"), "the consumer was created twice");
        same(readGroup(db, "ann", UNDELIVERED, 3), List.of(id(1), id(2)));
        is(db.xgroupDelConsumer("s", "g", "ann"), 2);
        same(db.xgroupSetID("s", "g", id(1)), "OK");
        same(readGroup(db, "ann", UNDELIVERED, 3), List.of(id(2)));
        is(db.xgroupDestroy("s", "g"), 1);
        same(db.xinfoGroups("s"), List.of());
    }

    @Case
    static void describesAStreamAndItsGroups(Jedis db) {
        append(db, 3);
        db.xgroupCreate("s", "g", START, false);
        readGroup(db, "ann", UNDELIVERED, 2);
        StreamInfo stream = db.xinfoStream("s");
        same(List.of(stream.getLength(), stream.getGroups(), stream.getLastGeneratedId()), List.of(3L, 1L, id(3)));
        same(ids(List.of(stream.getFirstEntry(), stream.getLastEntry())), List.of(id(1), id(3)));
        StreamGroupInfo group = db.xinfoGroups("s").get(0);
        same(List.of(group.getName(), group.getConsumers(), group.getPending()), List.of("g", 1L, 2L));
        same(group.getLastDeliveredId(), id(2));
        same(group.getGroupInfo().get("entries-read"), 2L);
        same(group.getGroupInfo().get("lag"), 1L);
    }

    @Case
    static void refusesAKeyOfAnotherType(Jedis db) {
        db.set("word", "abc");
        refused(() -> db.xadd("word", StreamEntryID.NEW_ENTRY, Map.of("f", "v")), "WRONGTYPE");
        refused(() -> db.xread(new XReadParams(), Map.of("word", START)), "WRONGTYPE");
        refused(() -> db.xlen("word"), "WRONGTYPE");
    }

    @Case
    static void holds10000EntriesAndGivesThemInPages(Jedis db) {
        append(db, MANY);
        List<StreamEntryID> read = new ArrayList<>();
        while (read.size() < MANY) {
            StreamEntryID after = read.isEmpty() ? START : read.get(read.size() - 1);
            read.addAll(ids(db.xreadAsMap(new XReadParams().count(999), Map.of("s", after)).get("s")));
        }
        same(read, numbered(MANY));
        same(db.xrange("s", "5000", "5000").get(0).getFields(), Map.of("n", "5000"));
    }

    @Case
    static void aGroupDelivers10000EntriesOnce(Jedis db) {
        append(db, MANY);
        db.xgroupCreate("s", "g", START, false);
        List<StreamEntryID> read = new ArrayList<>();
        List<StreamEntryID> page = readGroup(db, "ann", UNDELIVERED, 999);
        while (!page.isEmpty()) {
            read.addAll(page);
            page = readGroup(db, "ann", UNDELIVERED, 999);
        }
        same(read, numbered(MANY));
        is(db.xack("s", "g", read.toArray(StreamEntryID[]::new)), MANY);
    }

    static StreamEntryID id(long time) {
        return new StreamEntryID(time);
    }

    private static List<StreamEntryID> ids(List<StreamEntry> entries) {
        return entries.stream().map(StreamEntry::getID).toList();
    }

    /** The identifiers 1-0 to count-0. */
    private static List<StreamEntryID> numbered(int count) {
        return IntStream.rangeClosed(1, count).mapToObj(Streams::id).toList();
    }

    /** Appends entries with these identifiers, each with its number. */
    private static void append(Jedis db, int count) {
        Pipeline pipe = db.pipelined();
        numbered(count).forEach(id -> pipe.xadd("s", id, Map.of("n", "" + id.getTime())));
        pipe.sync();
    }

    /** The identifiers of the entries that a consumer of group g receives. */
    private static List<StreamEntryID> readGroup(Jedis db, String consumer, StreamEntryID after, int count) {
        XReadGroupParams params = XReadGroupParams.xReadGroupParams().count(count);
        Map<String, List<StreamEntry>> read = db.xreadGroupAsMap("g", consumer, params, Map.of("s", after));
        return read == null ? List.of() : ids(read.get("s"));
    }
}
