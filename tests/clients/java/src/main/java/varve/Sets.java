package varve;

import static varve.Support.MANY;
import static varve.Support.array;
import static varve.Support.byHundreds;
import static varve.Support.everyByte;
import static varve.Support.expect;
import static varve.Support.is;
import static varve.Support.names;
import static varve.Support.refused;
import static varve.Support.same;
import static varve.Support.scanned;
import static varve.Support.sorted;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import redis.clients.jedis.Jedis;

/** Sets. */
final class Sets {
    private Sets() {}

    @Case
    static void addsTestsAndRemovesMembers(Jedis db) {
        is(db.sadd("s", "a", "b", "a"), 2);
        is(db.sadd("s", "a", "c"), 1);
        same(db.smembers("s"), Set.of("a", "b", "c"));
        expect(db.sismember("s", "a"), "SISMEMBER");
        same(db.smismember("s", "a", "z", "c"), List.of(true, false, true));
        is(db.srem("s", "a", "z"), 1);
        is(db.scard("s"), 2);
        is(db.srem("s", "b", "c"), 2);
        expect(!db.exists("s"), "the key of an empty set is there");
    }

    @Case
    static void takesAndShowsRandomMembers(Jedis db) {
        db.sadd("s", "a", "b", "c");
        same(sorted(db.srandmember("s", 5)), List.of("a", "b", "c"));
        is(db.srandmember("s", -5).size(), 5);
        Set<String> taken = new HashSet<>(db.spop("s", 2));
        taken.add(db.spop("s"));
        same(taken, Set.of("a", "b", "c"));
        same(db.spop("s"), null);
    }

    @Case
    static void movesAMember(Jedis db) {
        db.sadd("from", "a", "b");
        is(db.smove("from", "to", "a"), 1);
        is(db.smove("from", "to", "a"), 0);
        same(db.smembers("from"), Set.of("b"));
        same(db.smembers("to"), Set.of("a"));
    }

    @Case
    static void intersectsUnitesAndSubtracts(Jedis db) {
        db.sadd("x", "a", "b", "c", "d");
        db.sadd("y", "b", "c", "d", "e");
        db.sadd("z", "c", "d");
        same(db.sinter("x", "y", "z"), Set.of("c", "d"));
        same(db.sinter("x", "missing"), Set.of());
        same(db.sunion("y", "z", "missing"), Set.of("b", "c", "d", "e"));
        same(db.sdiff("x", "z", "missing"), Set.of("a", "b"));
        is(db.sintercard("x", "y"), 3);
        is(db.sintercard(2, "x", "y"), 2);
    }

    @Case
    static void storesCombinedSets(Jedis db) {
        db.sadd("x", "1", "2", "3");
        db.sadd("y", "2", "3", "word");
        is(db.sinterstore("to", "x", "y"), 2);
        same(db.smembers("to"), Set.of("2", "3"));
        is(db.sunionstore("to", "x", "y"), 4);
        same(db.smembers("to"), Set.of("1", "2", "3", "word"));
        is(db.sdiffstore("to", "x", "y"), 1);
        is(db.sinterstore("to", "x", "missing"), 0);
        expect(!db.exists("to"), "an empty set was stored");
    }

    @Case
    static void keepsEveryByteOfAMember(Jedis db) {
        byte[] key = "s".getBytes();
        byte[][] members = {{}, everyByte(), "\r\n".getBytes(), "-7".getBytes(), "07".getBytes(), new byte[100_000]};
        is(db.sadd(key, members), members.length);
        Set<ByteBuffer> found = db.smembers(key).stream().map(ByteBuffer::wrap).collect(Collectors.toSet());
        same(found, Arrays.stream(members).map(ByteBuffer::wrap).collect(Collectors.toSet()));
    }

    @Case
    static void refusesAKeyOfAnotherType(Jedis db) {
        db.set("word", "abc");
        db.sadd("s", "a");
        refused(() -> db.sadd("word", "m"), "WRONGTYPE");
        refused(() -> db.smembers("word"), "WRONGTYPE");
        refused(() -> db.sunion("s", "word"), "WRONGTYPE");
    }

    @Case
    static void holds10000Members(Jedis db) {
        List<String> first = names().subList(0, 5000);
        List<String> second = names().subList(5000, MANY);
        is(db.sadd("s", array(names())), MANY);
        same(db.smembers("s"), new HashSet<>(names()));
        is(db.sadd("half", array(first)), 5000);
        same(db.sinter("s", "half"), new HashSet<>(first));
        same(db.sdiff("s", "half"), new HashSet<>(second));
        is(db.srem("s", array(first)), 5000);
        is(db.scard("s"), 5000);
    }

    @Case
    static void holds10000Integers(Jedis db) {
        List<String> integers = IntStream.range(-5000, 5000).mapToObj(Integer::toString).toList();
        is(db.sadd("s", array(integers)), MANY);
        same(db.smembers("s"), new HashSet<>(integers));
        same(db.smismember("s", "-5000", "5000", "007"), List.of(true, false, false));
    }

    @Case
    static void scans10000MembersExactlyOnce(Jedis db) {
        db.sadd("s", array(names()));
        same(sorted(scanned(cursor -> db.sscan("s", cursor, byHundreds()))), sorted(names()));
    }
}
