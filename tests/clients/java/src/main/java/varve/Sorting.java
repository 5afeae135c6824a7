package varve;

import static varve.Support.MANY;
import static varve.Support.array;
import static varve.Support.is;
import static varve.Support.names;
import static varve.Support.refused;
import static varve.Support.same;
import static varve.Support.sorted;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.SortingParams;

/** SORT of lists, sets and sorted sets. */
final class Sorting {
    private Sorting() {}

    @Case
    static void sortsNumbersAndWords(Jedis db) {
        db.rpush("l", "10", "9", "-1.5", "2");
        same(db.sort("l"), List.of("-1.5", "2", "9", "10"));
        same(db.sort("l", new SortingParams().alpha()), List.of("-1.5", "10", "2", "9"));
        same(db.sort("l", new SortingParams().desc().limit(1, 2)), List.of("9", "2"));
        same(db.sortReadonly("l", new SortingParams().limit(0, 1)), List.of("-1.5"));
        db.rpush("l", "word");
        refused(() -> db.sort("l"), "can't be converted into double");
    }

    @Case
    static void sortsSetsAndSortedSets(Jedis db) {
        db.sadd("s", "3", "1", "2");
        db.zadd("z", Map.of("3", 1.0, "1", 2.0, "2", 3.0));
        same(db.sort("s"), List.of("1", "2", "3"));
        same(db.sort("z", new SortingParams().desc()), List.of("3", "2", "1"));
    }

    @Case
    static void sortsByOtherKeysAndGivesTheirValues(Jedis db) {
        db.rpush("l", "a", "b", "c");
        db.mset("weight:a", "3", "weight:b", "1", "weight:c", "2");
        List.of("a", "b", "c").forEach(name -> db.hset("about:" + name, "title", name.toUpperCase()));
        SortingParams byWeight = new SortingParams().by("weight:*");
        same(db.sort("l", byWeight), List.of("b", "c", "a"));
        same(db.sort("l", byWeight.get("#", "about:*->title")), List.of("b", "B", "c", "C", "a", "A"));
        same(db.sort("l", new SortingParams().nosort().get("missing:*")), Arrays.asList(null, null, null));
    }

    @Case
    static void storesWhatItSorted(Jedis db) {
        db.rpush("l", "3", "1", "2");
        is(db.sort("l", "to"), 3);
        same(db.lrange("to", 0, -1), List.of("1", "2", "3"));
        is(db.sort("missing", "to"), 0);
        same(db.exists("to"), false);
    }

    @Case
    static void sorts10000Elements(Jedis db) {
        db.sadd("s", array(names()));
        same(db.sort("s", new SortingParams().alpha()), sorted(names()));
        db.lpush("l", array(IntStream.range(0, MANY).mapToObj(Integer::toString).toList()));
        same(db.sort("l", new SortingParams().limit(5000, 2)), List.of("5000", "5001"));
    }
}
