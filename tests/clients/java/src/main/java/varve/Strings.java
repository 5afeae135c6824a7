package varve;

import static varve.Support.everyByte;
import static varve.Support.expect;
import static varve.Support.is;
import static varve.Support.same;

import java.util.Arrays;
import java.util.Random;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.params.SetParams;

/** Strings. */
final class Strings {
    private Strings() {}

    @Case
    static void keepsEveryByteOfAString(Jedis db) {
        db.set(everyByte(), everyByte());
        expect(Arrays.equals(db.get(everyByte()), everyByte()), "bytes changed");
    }

    @Case
    static void keepsAStringOf10Mebibytes(Jedis db) {
        byte[] key = "large".getBytes();
        byte[] large = new byte[10 << 20];
        new Random(1).nextBytes(large);
        db.set(key, large);
        is(db.strlen("large"), large.length);
        expect(Arrays.equals(db.get(key), large), "the value changed");
        byte[] part = Arrays.copyOfRange(large, 5 << 20, (5 << 20) + 100);
        expect(Arrays.equals(db.getrange(key, 5 << 20, (5 << 20) + 99), part), "GETRANGE");
    }

    @Case
    static void counts(Jedis db) {
        is(db.incr("n"), 1);
        is(db.incrBy("n", 9), 10);
        is(db.decrBy("n", 5), 5);
        is(db.incrByFloat("f", 0.5), 0.5);
        is(db.append("n", "0"), 2);
    }

    @Case
    static void setsUnderConditions(Jedis db) {
        same(db.set("c", "1", SetParams.setParams().nx()), "OK");
        same(db.set("c", "2", SetParams.setParams().nx()), null);
        same(db.setGet("c", "3", SetParams.setParams().xx()), "1");
        same(db.set("absent", "1", SetParams.setParams().xx()), null);
        db.mset("a", "1", "b", "2");
        same(db.mget("a", "missing", "b"), Arrays.asList("1", null, "2"));
        same(db.getDel("a"), "1");
        db.setbit("bits", 7, true);
        is(db.bitcount("bits"), 1);
    }
}
