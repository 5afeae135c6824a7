package varve;

import static varve.Support.MANY;
import static varve.Support.between;
import static varve.Support.expect;
import static varve.Support.is;
import static varve.Support.names;
import static varve.Support.same;
import static varve.Support.scanned;
import static varve.Support.waitUntil;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.params.SetParams;

/** Keys of every type: expiry, scanning, types, removal. */
final class Keys {
    private static final List<String> TYPES = List.of("string", "list", "hash", "set", "zset", "stream");

    private Keys() {}

    @Case
    static void expires(Jedis db) {
        db.set("e", "v", SetParams.setParams().ex(100));
        between(db.ttl("e"), 99, 100);
        is(db.persist("e"), 1);
        is(db.ttl("e"), -1);
        is(db.pexpire("e", 1), 1);
        waitUntil(() -> !db.exists("e"), "the key did not expire");
        same(db.get("e"), null);
        is(db.ttl("e"), -2);
    }

    @Case
    static void scans10000Keys(Jedis db) {
        Pipeline pipe = db.pipelined();
        names().forEach(name -> pipe.set(name, "1"));
        pipe.sync();
        List<String> found = scanned(cursor -> db.scan(cursor, new ScanParams().match("n*").count(100)));
        is(new HashSet<>(found).size(), MANY);
        is(db.dbSize(), MANY);
    }

    @Case
    static void tellsTheTypeOfAKey(Jedis db) {
        addOneKeyOfEachType(db);
        for (String name : TYPES) {
            same(db.type(name), name);
            same(scanned(cursor -> db.scan(cursor, new ScanParams(), name)), List.of(name));
        }
        same(db.type("missing"), "none");
    }

    @Case
    static void expiresRenamesCopiesAndDeletesAKeyOfEachType(Jedis db) {
        addOneKeyOfEachType(db);
        for (String name : TYPES) {
            is(db.expire(name, 100), 1);
            same(db.rename(name, "renamed"), "OK");
            between(db.ttl("renamed"), 99, 100);
            expect(db.copy("renamed", "copied", false), "COPY");
            same(db.type("copied"), name);
            is(db.pexpire("renamed", 1), 1);
            waitUntil(() -> !db.exists("renamed"), "a " + name + " did not expire");
            is(db.del("copied"), 1);
        }
        is(db.dbSize(), 0);
    }

    private static void addOneKeyOfEachType(Jedis db) {
        db.set("string", "v");
        db.rpush("list", "v");
        db.hset("hash", "f", "v");
        db.sadd("set", "v");
        db.zadd("zset", 1, "v");
        db.xadd("stream", StreamEntryID.NEW_ENTRY, Map.of("f", "v"));
    }
}
