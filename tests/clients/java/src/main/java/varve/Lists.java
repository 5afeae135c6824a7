package varve;

import static varve.Support.MANY;
import static varve.Support.array;
import static varve.Support.everyByte;
import static varve.Support.expect;
import static varve.Support.is;
import static varve.Support.names;
import static varve.Support.refused;
import static varve.Support.same;

import java.util.Arrays;
import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.ListDirection;
import redis.clients.jedis.args.ListPosition;
import redis.clients.jedis.params.LPosParams;
import redis.clients.jedis.util.KeyValue;

/** Lists. */
final class Lists {
    private Lists() {}

    @Case
    static void pushesAndPopsAtBothEnds(Jedis db) {
        is(db.rpush("l", "c", "d"), 2);
        is(db.lpush("l", "b", "a"), 4);
        same(db.lrange("l", 0, -1), List.of("a", "b", "c", "d"));
        same(db.lpop("l"), "a");
        same(db.rpop("l"), "d");
        same(db.lpop("l", 5), List.of("b", "c"));
        same(db.lpop("l"), null);
        same(db.rpop("l", 2), null);
    }

    @Case
    static void pushesOnlyOntoAListThatIsThere(Jedis db) {
        is(db.lpushx("l", "v"), 0);
        expect(!db.exists("l"), "LPUSHX made a key");
        db.rpush("l", "v");
        is(db.lpushx("l", "first"), 2);
        is(db.rpushx("l", "last"), 3);
        same(db.lrange("l", 0, -1), List.of("first", "v", "last"));
    }

    @Case
    static void readsAndReplacesByIndex(Jedis db) {
        db.rpush("l", "a", "b", "c");
        same(db.lindex("l", 0), "a");
        same(db.lindex("l", -1), "c");
        same(db.lindex("l", 3), null);
        same(db.lset("l", -2, "B"), "OK");
        same(db.lrange("l", 1, 1), List.of("B"));
        refused(() -> db.lset("l", 3, "d"), "index out of range");
        refused(() -> db.lset("missing", 0, "a"), "no such key");
    }

    @Case
    static void insertsRemovesAndTrims(Jedis db) {
        db.rpush("l", "a", "x", "b", "x", "c", "x");
        is(db.linsert("l", ListPosition.BEFORE, "b", "new"), 7);
        is(db.linsert("l", ListPosition.AFTER, "absent", "new"), -1);
        is(db.lrem("l", -2, "x"), 2);
        same(db.lrange("l", 0, -1), List.of("a", "x", "new", "b", "c"));
        same(db.ltrim("l", 1, -2), "OK");
        same(db.lrange("l", 0, -1), List.of("x", "new", "b"));
        same(db.ltrim("l", 5, 9), "OK");
        expect(!db.exists("l"), "the key of an empty list is there");
    }

    @Case
    static void findsPositions(Jedis db) {
        db.rpush("l", "a", "b", "a", "c", "a");
        is(db.lpos("l", "a", LPosParams.lPosParams().rank(-1)), 4);
        same(db.lpos("l", "z"), null);
        same(db.lpos("l", "a", LPosParams.lPosParams(), 0), List.of(0L, 2L, 4L));
    }

    @Case
    static void movesElementsBetweenLists(Jedis db) {
        db.rpush("from", "a", "b", "c");
        same(db.lmove("from", "to", ListDirection.LEFT, ListDirection.RIGHT), "a");
        same(db.rpoplpush("from", "to"), "c");
        same(db.lrange("to", 0, -1), List.of("c", "a"));
        same(db.lmove("to", "to", ListDirection.LEFT, ListDirection.RIGHT), "c");
        same(db.lrange("to", 0, -1), List.of("a", "c"));
        same(db.lmove("missing", "to", ListDirection.LEFT, ListDirection.LEFT), null);
    }

    @Case
    static void popsFromTheFirstListThatHasElements(Jedis db) {
        db.rpush("second", "a", "b", "c");
        same(db.lmpop(ListDirection.RIGHT, 2, "first", "second"), KeyValue.of("second", List.of("c", "b")));
        same(db.lmpop(ListDirection.LEFT, "first"), null);
    }

    @Case
    static void keepsEveryByteOfAnElement(Jedis db) {
        byte[] key = "l".getBytes();
        byte[][] elements = {{}, everyByte(), "\r\n".getBytes(), "-7".getBytes(), new byte[100_000]};
        db.rpush(key, elements);
        expect(Arrays.deepEquals(db.lrange(key, 0, -1).toArray(), elements), "bytes changed");
    }

    @Case
    static void refusesAKeyOfAnotherType(Jedis db) {
        db.set("word", "abc");
        refused(() -> db.lpop("word"), "WRONGTYPE");
        refused(() -> db.rpush("word", "v"), "WRONGTYPE");
        refused(() -> db.lrange("word", 0, -1), "WRONGTYPE");
    }

    @Case
    static void holds10000ElementsInOrder(Jedis db) {
        is(db.rpush("l", array(names())), MANY);
        same(db.lrange("l", 0, -1), names());
        same(db.lindex("l", 4999), "n4999");
        same(db.lindex("l", -5000), "n5000");
        same(db.lset("l", 5000, "changed"), "OK");
        is(db.linsert("l", ListPosition.AFTER, "changed", "new"), MANY + 1);
        same(db.lrange("l", 4999, 5002), List.of("n4999", "changed", "new", "n5001"));
        is(db.rpop("l", 6000).size(), 6000);
        is(db.llen("l"), 4001);
    }
}
