package varve;

import static varve.Support.MANY;
import static varve.Support.byHundreds;
import static varve.Support.everyByte;
import static varve.Support.expect;
import static varve.Support.is;
import static varve.Support.names;
import static varve.Support.refused;
import static varve.Support.same;
import static varve.Support.scanned;
import static varve.Support.sorted;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.SortedSetOption;
import redis.clients.jedis.params.ZAddParams;
import redis.clients.jedis.params.ZParams;
import redis.clients.jedis.params.ZRangeParams;
import redis.clients.jedis.resps.Tuple;
import redis.clients.jedis.util.KeyValue;

/** Sorted sets. */
final class SortedSets {
    private SortedSets() {}

    @Case
    static void ordersMembersByScoreThenByName(Jedis db) {
        is(db.zadd("z", Map.of("c", 2.0, "b", 2.0, "a", 3.0, "d", Double.NEGATIVE_INFINITY)), 4);
        List<Tuple> ordered = List.of(scored("d", Double.NEGATIVE_INFINITY), scored("b", 2), scored("c", 2), scored("a", 3));
        same(db.zrangeWithScores("z", 0, -1), ordered);
        same(db.zrevrange("z", 0, 1), List.of("a", "c"));
        is(db.zcard("z"), 4);
        is(db.zrem("z", "a", "b", "c", "d", "missing"), 4);
        expect(!db.exists("z"), "the key of an empty sorted set is there");
    }

    @Case
    static void addsUnderConditions(Jedis db) {
        db.zadd("z", 5, "a");
        is(db.zadd("z", Map.of("a", 1.0, "b", 1.0), ZAddParams.zAddParams().nx()), 1);
        is(db.zadd("z", Map.of("a", 6.0, "c", 1.0), ZAddParams.zAddParams().xx().ch()), 1);
        is(db.zadd("z", 4, "a", ZAddParams.zAddParams().gt().ch()), 0);
        is(db.zadd("z", 4, "a", ZAddParams.zAddParams().lt().ch()), 1);
        is(db.zaddIncr("z", 1.5, "a", ZAddParams.zAddParams()), 5.5);
        same(db.zaddIncr("z", 1, "a", ZAddParams.zAddParams().nx()), null);
        refused(() -> db.sendCommand(() -> "ZADD".getBytes(), "z", "many", "a"), "not a valid float");
    }

    @Case
    static void countsWithScores(Jedis db) {
        is(db.zincrby("z", 2.5, "a"), 2.5);
        is(db.zincrby("z", -3, "a"), -0.5);
        is(db.zscore("z", "a"), -0.5);
        same(db.zscore("z", "missing"), null);
        same(db.zmscore("z", "a", "missing"), Arrays.asList(-0.5, null));
    }

    @Case
    static void keepsEveryDigitOfAScore(Jedis db) {
        for (double score : new double[] {0.1, 1.0 / 3, 1e300, -1e-300, 9007199254740992.0, 3, Double.POSITIVE_INFINITY}) {
            db.zadd("z", score, "m");
            is(db.zscore("z", "m"), score);
        }
    }

    @Case
    static void tellsRanks(Jedis db) {
        addFive(db);
        is(db.zrank("z", "a"), 0);
        is(db.zrevrank("z", "a"), 4);
        same(db.zrank("z", "missing"), null);
        same(db.zrankWithScore("z", "c"), KeyValue.of(2L, 3.0));
    }

    @Case
    static void givesRangesByScore(Jedis db) {
        addFive(db);
        same(db.zrangeByScore("z", "(1", "3"), List.of("b", "c"));
        same(db.zrevrangeByScore("z", "+inf", "-inf", 1, 2), List.of("d", "c"));
        ZRangeParams downwards = ZRangeParams.zrangeByScoreParams(4, 2).rev().limit(1, 2);
        same(db.zrangeWithScores("z", downwards), List.of(scored("c", 3), scored("b", 2)));
        is(db.zcount("z", "-inf", "(3"), 2);
    }

    @Case
    static void givesRangesByName(Jedis db) {
        db.zadd("z", Map.of("a", 0.0, "b", 0.0, "c", 0.0, "d", 0.0, "e", 0.0));
        same(db.zrangeByLex("z", "[b", "(d"), List.of("b", "c"));
        same(db.zrevrangeByLex("z", "+", "(c"), List.of("e", "d"));
        same(db.zrange("z", ZRangeParams.zrangeByLexParams("-", "+").limit(1, 2)), List.of("b", "c"));
        is(db.zlexcount("z", "-", "[c"), 3);
    }

    @Case
    static void removesRanges(Jedis db) {
        addFive(db);
        is(db.zremrangeByRank("z", 0, 0), 1);
        is(db.zremrangeByScore("z", "(4", "+inf"), 1);
        same(db.zrange("z", 0, -1), List.of("b", "c", "d"));
        is(db.zremrangeByLex("z", "-", "+"), 3);
    }

    @Case
    static void popsTheLowestAndTheHighest(Jedis db) {
        addFive(db);
        same(db.zpopmin("z"), scored("a", 1));
        same(db.zpopmax("z", 2), List.of(scored("e", 5), scored("d", 4)));
        KeyValue<String, List<Tuple>> rest = KeyValue.of("z", List.of(scored("b", 2), scored("c", 3)));
        same(db.zmpop(SortedSetOption.MIN, 5, "missing", "z"), rest);
        same(db.zpopmin("z"), null);
        same(db.zmpop(SortedSetOption.MAX, "z"), null);
    }

    @Case
    static void showsRandomMembers(Jedis db) {
        addFive(db);
        same(sorted(db.zrandmember("z", 9)), List.of("a", "b", "c", "d", "e"));
        is(db.zrandmemberWithScores("z", -9).size(), 9);
    }

    @Case
    static void intersectsUnitesAndSubtracts(Jedis db) {
        db.zadd("x", Map.of("a", 1.0, "b", 2.0));
        db.zadd("y", Map.of("b", 10.0, "c", 20.0));
        List<Tuple> union = List.of(scored("a", 1), scored("b", 12), scored("c", 20));
        same(db.zunionWithScores(new ZParams(), "x", "y"), union);
        ZParams weighted = new ZParams().weights(2, 3).aggregate(ZParams.Aggregate.MAX);
        same(db.zinterWithScores(weighted, "x", "y"), List.of(scored("b", 30)));
        same(db.zdiffWithScores("x", "y"), List.of(scored("a", 1)));
        is(db.zintercard("x", "y"), 1);
    }

    @Case
    static void storesCombinedSetsAndRanges(Jedis db) {
        db.zadd("x", Map.of("a", 1.0, "b", 2.0));
        db.sadd("y", "b", "c");
        is(db.zunionstore("to", new ZParams().weights(2, 1), "x", "y"), 3);
        same(db.zrangeWithScores("to", 0, -1), List.of(scored("c", 1), scored("a", 2), scored("b", 5)));
        is(db.zinterstore("to", "x", "y"), 1);
        is(db.zdiffstore("to", "x", "y"), 1);
        is(db.zrangestore("to", "x", ZRangeParams.zrangeByScoreParams(2, 9)), 1);
        same(db.zrange("to", 0, -1), List.of("b"));
    }

    @Case
    static void keepsEveryByteOfAMember(Jedis db) {
        byte[] key = "z".getBytes();
        byte[][] members = {{}, everyByte(), "\r\n".getBytes(), new byte[100_000]};
        for (int place = 0; place < members.length; place++) {
            db.zadd(key, place, members[place]);
        }
        expect(Arrays.deepEquals(db.zrange(key, 0, -1).toArray(), members), "bytes changed");
    }

    @Case
    static void refusesAKeyOfAnotherType(Jedis db) {
        db.set("word", "abc");
        refused(() -> db.zadd("word", 1, "m"), "WRONGTYPE");
        refused(() -> db.zrange("word", 0, -1), "WRONGTYPE");
        refused(() -> db.zunion(new ZParams(), "word"), "WRONGTYPE");
    }

    @Case
    static void holds10000MembersInOrder(Jedis db) {
        is(db.zadd("z", ranked()), MANY);
        same(db.zrange("z", 0, -1), names());
        is(db.zrank("z", "n9999"), 9999);
        same(db.zrangeByScore("z", "5000", "(5002"), List.of("n5000", "n5001"));
        is(db.zcount("z", 0, 99), 100);
        is(db.zincrby("z", 20000, "n5000"), 25000);
        is(db.zrevrank("z", "n5000"), 0);
        is(db.zremrangeByRank("z", 0, 4999), 5000);
        same(db.zrange("z", 0, 0), List.of("n5001"));
    }

    @Case
    static void scans10000MembersExactlyOnce(Jedis db) {
        db.zadd("z", ranked());
        List<Tuple> found = scanned(cursor -> db.zscan("z", cursor, byHundreds()));
        is(found.size(), MANY);
        Map<String, Double> members = new HashMap<>();
        found.forEach(member -> members.put(member.getElement(), member.getScore()));
        same(members, ranked());
    }

    private static Tuple scored(String member, double score) {
        return new Tuple(member, score);
    }

    private static void addFive(Jedis db) {
        db.zadd("z", Map.of("a", 1.0, "b", 2.0, "c", 3.0, "d", 4.0, "e", 5.0));
    }

    /** The names, each with its place as its score. */
    static Map<String, Double> ranked() {
        Map<String, Double> members = new HashMap<>();
        names().forEach(name -> members.put(name, (double) members.size()));
        return members;
    }
}
