package varve;

import static varve.Support.MANY;
import static varve.Support.array;
import static varve.Support.between;
import static varve.Support.byHundreds;
import static varve.Support.everyByte;
import static varve.Support.expect;
import static varve.Support.is;
import static varve.Support.names;
import static varve.Support.refused;
import static varve.Support.same;
import static varve.Support.scanned;
import static varve.Support.sorted;
import static varve.Support.waitUntil;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.HGetExParams;
import redis.clients.jedis.params.HSetExParams;

/** Hashes, and fields that expire. */
final class Hashes {
    private Hashes() {}

    @Case
    static void setsReadsAndDeletesFields(Jedis db) {
        is(db.hset("h", Map.of("a", "1", "b", "2")), 2);
        is(db.hset("h", "a", "3"), 0);
        same(db.hget("h", "a"), "3");
        same(db.hget("h", "z"), null);
        same(db.hmget("h", "b", "z", "a"), Arrays.asList("2", null, "3"));
        same(db.hgetAll("h"), Map.of("a", "3", "b", "2"));
        same(db.hkeys("h"), Set.of("a", "b"));
        same(sorted(db.hvals("h")), List.of("2", "3"));
        expect(db.hexists("h", "a") && !db.hexists("h", "z"), "HEXISTS");
        is(db.hdel("h", "a", "b", "z"), 2);
        expect(!db.exists("h"), "the key of an empty hash is there");
    }

    @Case
    static void setsAFieldOnlyOnce(Jedis db) {
        is(db.hsetnx("h", "f", "first"), 1);
        is(db.hsetnx("h", "f", "second"), 0);
        same(db.hget("h", "f"), "first");
        is(db.hstrlen("h", "f"), 5);
    }

    @Case
    static void countsInFields(Jedis db) {
        is(db.hincrBy("h", "n", 5), 5);
        is(db.hincrBy("h", "n", -7), -2);
        is(db.hincrByFloat("h", "f", 0.25), 0.25);
        db.hset("h", "word", "abc");
        refused(() -> db.hincrBy("h", "word", 1), "hash value is not an integer");
        refused(() -> db.hincrByFloat("h", "word", 1), "hash value is not a float");
    }

    @Case
    static void drawsRandomFields(Jedis db) {
        db.hset("h", Map.of("a", "1", "b", "2", "c", "3"));
        same(sorted(db.hrandfield("h", 5)), List.of("a", "b", "c"));
        is(db.hrandfield("h", -5).size(), 5);
        same(Map.ofEntries(db.hrandfieldWithValues("h", 5).toArray(Map.Entry[]::new)), db.hgetAll("h"));
    }

    @Case
    static void keepsEveryByteOfFieldsAndValues(Jedis db) {
        byte[] key = "h".getBytes();
        db.hset(key, everyByte(), everyByte());
        expect(Arrays.equals(db.hget(key, everyByte()), everyByte()), "bytes changed");
        db.hset("h", Map.of("", "", "\r\n", "x".repeat(100_000)));
        same(db.hget("h", ""), "");
        is(db.hstrlen("h", "\r\n"), 100_000);
    }

    @Case
    static void givesFieldsATimeToLive(Jedis db) {
        db.hset("h", Map.of("a", "1", "b", "2"));
        same(db.hexpire("h", 100, "a", "z"), List.of(1L, -2L));
        List<Long> left = db.httl("h", "a", "b", "z");
        between(left.get(0), 99, 100);
        same(left.subList(1, 3), List.of(-1L, -2L));
        same(db.hpersist("h", "a", "b", "z"), List.of(1L, -1L, -2L));
        same(db.hexpireAt("h", 33177117420L, "a"), List.of(1L));
        same(db.hpexpireTime("h", "a"), List.of(33177117420000L));
    }

    @Case
    static void aFieldDisappearsWhenItsTimeIsOver(Jedis db) {
        db.hset("h", Map.of("short", "1", "long", "2"));
        same(db.hpexpire("h", 1, "short"), List.of(1L));
        waitUntil(() -> !db.hexists("h", "short"), "the field did not expire");
        same(db.hgetAll("h"), Map.of("long", "2"));
    }

    @Case
    static void theKeyDisappearsWithItsLastField(Jedis db) {
        db.hset("h", Map.of("a", "1", "b", "2"));
        same(db.hpexpire("h", 1, "a", "b"), List.of(1L, 1L));
        waitUntil(() -> !db.exists("h"), "the key did not go with its fields");
    }

    @Case
    static void setsAndReadsFieldsTogetherWithTheirTimeToLive(Jedis db) {
        is(db.hsetex("h", HSetExParams.hSetExParams().ex(100), Map.of("a", "1", "b", "2")), 1);
        db.httl("h", "a", "b").forEach(left -> between(left, 99, 100));
        same(db.hgetex("h", HGetExParams.hGetExParams().persist(), "a", "z"), Arrays.asList("1", null));
        same(db.httl("h", "a"), List.of(-1L));
    }

    @Case
    static void refusesAKeyOfAnotherType(Jedis db) {
        db.set("word", "abc");
        refused(() -> db.hget("word", "f"), "WRONGTYPE");
        refused(() -> db.hset("word", "f", "v"), "WRONGTYPE");
        refused(() -> db.hgetAll("word"), "WRONGTYPE");
    }

    @Case
    static void holds10000Fields(Jedis db) {
        is(db.hset("h", largeHash()), MANY);
        same(db.hgetAll("h"), largeHash());
        same(db.hmget("h", "n0", "n9999"), List.of("value of n0", "value of n9999"));
        is(db.hdel("h", array(names().subList(0, 5000))), 5000);
        is(db.hlen("h"), 5000);
    }

    @Case
    static void scans10000FieldsExactlyOnce(Jedis db) {
        db.hset("h", largeHash());
        List<Map.Entry<String, String>> found = scanned(cursor -> db.hscan("h", cursor, byHundreds()));
        is(found.size(), MANY);
        Map<String, String> fields = new HashMap<>();
        found.forEach(pair -> fields.put(pair.getKey(), pair.getValue()));
        same(fields, largeHash());
        List<String> alone = scanned(cursor -> db.hscanNoValues("h", cursor, byHundreds()));
        same(sorted(alone), sorted(names()));
    }

    private static Map<String, String> largeHash() {
        Map<String, String> fields = new HashMap<>();
        names().forEach(name -> fields.put(name, "value of " + name));
        return fields;
    }
}
