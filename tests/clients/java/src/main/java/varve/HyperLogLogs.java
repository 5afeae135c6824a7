package varve;

import static varve.Support.MANY;
import static varve.Support.array;
import static varve.Support.between;
import static varve.Support.is;
import static varve.Support.names;
import static varve.Support.refused;
import static varve.Support.same;

import redis.clients.jedis.Jedis;

/** HyperLogLogs. */
final class HyperLogLogs {
    private HyperLogLogs() {}

    @Case
    static void countsAFewElementsExactly(Jedis db) {
        is(db.pfadd("p", "a", "b", "c"), 1);
        is(db.pfadd("p", "a", "b"), 0);
        is(db.pfcount("p"), 3);
        is(db.pfcount("missing"), 0);
    }

    @Case
    static void counts10000ElementsWithin2Percent(Jedis db) {
        db.pfadd("p", array(names().stream().map(name -> "element " + name).toList()));
        between(db.pfcount("p"), MANY * 0.98, MANY * 1.02);
    }

    @Case
    static void countsAndMergesSeveral(Jedis db) {
        db.pfadd("x", "a", "b", "c");
        db.pfadd("y", "c", "d");
        is(db.pfcount("x", "y"), 4);
        same(db.pfmerge("to", "x", "y", "missing"), "OK");
        is(db.pfcount("to"), 4);
    }

    @Case
    static void refusesOtherValues(Jedis db) {
        db.set("word", "abc");
        db.rpush("list", "a");
        refused(() -> db.pfadd("word", "a"), "not a valid HyperLogLog string value");
        refused(() -> db.pfcount("list"), "WRONGTYPE");
    }
}
