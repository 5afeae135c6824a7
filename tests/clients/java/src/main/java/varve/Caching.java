package varve;

import static varve.Support.cached;
import static varve.Support.is;
import static varve.Support.same;
import static varve.Support.waitUntil;

import java.util.Arrays;
import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.UnifiedJedis;

/** Client-side caching: Jedis keeps what it read until the server says that it has changed. */
final class Caching {
    private Caching() {}

    @Case
    static void whatWasReadIsKeptUntilItChanges(Jedis db) {
        try (UnifiedJedis cached = cached()) {
            db.set("s", "1");
            same(cached.get("s"), "1");
            same(cached.get("s"), "1");
            is(cached.getCache().getStats().getHitCount(), 1);
            db.set("s", "2");
            waitUntil(() -> cached.get("s").equals("2"), "the old value is kept");
        }
    }

    @Case
    static void otherKeysStay(Jedis db) {
        try (UnifiedJedis cached = cached()) {
            db.mset("s", "1", "t", "1");
            same(cached.get("t"), "1");
            same(cached.mget("s", "u"), Arrays.asList("1", null));
            db.set("u", "2");
            waitUntil(() -> cached.mget("s", "u").equals(List.of("1", "2")), "the old value is kept");
            long hits = cached.getCache().getStats().getHitCount();
            same(cached.get("t"), "1");
            is(cached.getCache().getStats().getHitCount(), hits + 1);
        }
    }

    @Case
    static void aKeyThatExpiresIsTold(Jedis db) {
        try (UnifiedJedis cached = cached()) {
            // A busy machine may let it expire before it is read.
            waitUntil(() -> db.psetex("s", 100, "1").equals("OK") && "1".equals(cached.get("s")), "it was never read");
            waitUntil(() -> cached.get("s") == null, "what has expired is kept");
        }
    }

    @Case
    static void aFieldThatChangesIsTold(Jedis db) {
        try (UnifiedJedis cached = cached()) {
            db.hset("h", "f", "1");
            same(cached.hget("h", "f"), "1");
            db.hincrBy("h", "f", 1);
            waitUntil(() -> cached.hget("h", "f").equals("2"), "the old value is kept");
        }
    }

    @Case
    static void flushallEmptiesTheCache(Jedis db) {
        try (UnifiedJedis cached = cached()) {
            db.mset("s", "1", "t", "1");
            same(cached.get("s"), "1");
            same(cached.get("t"), "1");
            db.flushAll();
            waitUntil(() -> cached.get("s") == null && cached.get("t") == null, "what was flushed is kept");
        }
    }

    @Case
    static void whatATransactionChangesIsTold(Jedis db) {
        try (UnifiedJedis cached = cached()) {
            db.mset("s", "1", "t", "1");
            same(cached.get("s"), "1");
            same(cached.get("t"), "1");
            Transaction transaction = db.multi();
            transaction.set("s", "2");
            transaction.set("t", "2");
            transaction.exec();
            waitUntil(() -> cached.get("s").equals("2") && cached.get("t").equals("2"), "an old value is kept");
        }
    }
}
