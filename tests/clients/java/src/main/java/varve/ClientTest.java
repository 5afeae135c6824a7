package varve;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.Consumer;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.params.SetParams;
import redis.clients.jedis.resps.ScanResult;

/** Jedis against the server at SERVER_ADDR: one line per case, status 1 when a case fails. */
public final class ClientTest {
    private static Jedis client(RedisProtocol protocol) {
        String address = System.getenv().getOrDefault("SERVER_ADDR", "127.0.0.1:6379");
        return new Jedis(HostAndPort.from(address), DefaultJedisClientConfig.builder().protocol(protocol).build());
    }

    private static void expect(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    private static void connects(Jedis unused) {
        for (RedisProtocol protocol : RedisProtocol.values()) {
            try (Jedis db = client(protocol)) {
                expect("PONG".equals(db.ping()), "no PONG over " + protocol);
            }
        }
    }

    private static void pipeline(Jedis db) {
        Pipeline pipe = db.pipelined();
        List<Response<String>> replies = new ArrayList<>();
        for (int number = 0; number < 500; number++) {
            pipe.set("p:" + number, "" + number);
            replies.add(pipe.get("p:" + number));
        }
        pipe.sync();
        for (int number = 0; number < 500; number++) {
            expect(replies.get(number).get().equals("" + number), "reply " + number);
        }
    }

    private static void keepsBytes(Jedis db) {
        byte[] every = new byte[256];
        for (int value = 0; value < 256; value++) {
            every[value] = (byte) value;
        }
        db.set(every, every);
        expect(Arrays.equals(db.get(every), every), "bytes changed");
        byte[] large = new byte[10 << 20];
        new Random(1).nextBytes(large);
        db.set("large".getBytes(), large);
        expect(db.strlen("large") == large.length, "length");
        expect(Arrays.equals(db.get("large".getBytes()), large), "large value changed");
    }

    private static void counts(Jedis db) {
        expect(db.incr("n") == 1 && db.incrBy("n", 9) == 10 && db.decrBy("n", 5) == 5, "counters");
        expect(db.incrByFloat("f", 0.5) == 0.5, "INCRBYFLOAT");
        expect(db.append("n", "0") == 2, "APPEND");
    }

    private static void setsUnderConditions(Jedis db) {
        expect("OK".equals(db.set("c", "1", SetParams.setParams().nx())), "SET NX on a new key");
        expect(db.set("c", "2", SetParams.setParams().nx()) == null, "SET NX on an old key");
        expect("1".equals(db.setGet("c", "3", SetParams.setParams().xx())), "SET XX GET");
        expect(db.set("absent", "1", SetParams.setParams().xx()) == null, "SET XX on a missing key");
        db.mset("a", "1", "b", "2");
        expect(db.mget("a", "missing", "b").equals(Arrays.asList("1", null, "2")), "MGET");
        expect("1".equals(db.getDel("a")), "GETDEL");
        db.setbit("bits", 7, true);
        expect(db.bitcount("bits") == 1, "BITCOUNT");
    }

    private static void expires(Jedis db) {
        db.set("e", "v", SetParams.setParams().ex(100));
        expect(db.ttl("e") >= 99 && db.ttl("e") <= 100, "TTL");
        expect(db.persist("e") == 1 && db.ttl("e") == -1, "PERSIST");
        db.pexpire("e", 1);
        long deadline = System.nanoTime() + 5_000_000_000L;
        while (db.exists("e")) {
            expect(System.nanoTime() < deadline, "the key did not expire");
        }
        expect(db.get("e") == null, "GET of an expired key");
    }

    private static void scans(Jedis db) {
        db.flushDB();
        Pipeline pipe = db.pipelined();
        for (int number = 0; number < 10000; number++) {
            pipe.set("s:" + number, "1");
        }
        pipe.sync();
        Set<String> found = new HashSet<>();
        String cursor = ScanParams.SCAN_POINTER_START;
        do {
            ScanResult<String> result = db.scan(cursor, new ScanParams().match("s:*").count(100));
            found.addAll(result.getResult());
            cursor = result.getCursor();
        } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
        expect(found.size() == 10000, found.size() + " keys found");
        expect(db.dbSize() == 10000, "DBSIZE");
    }

    private static void throwsErrors(Jedis db) {
        db.set("word", "abc");
        expectError(() -> db.sendCommand(() -> "NOSUCHCOMMAND".getBytes(), "x"), "unknown command");
        expectError(() -> db.sendCommand(() -> "GET".getBytes()), "wrong number of arguments");
        expectError(() -> db.incr("word"), "not an integer");
        expectError(() -> db.setex("k", 0, "v"), "invalid expire time");
        expect("PONG".equals(db.ping()), "the connection is unusable after errors");
    }

    private static void expectError(Runnable call, String part) {
        try {
            call.run();
        } catch (JedisDataException error) {
            expect(error.getMessage().contains(part), "unexpected error: " + error.getMessage());
            return;
        }
        throw new AssertionError("nothing was thrown, expected: " + part);
    }

    /** Runs the cases. */
    public static void main(String[] arguments) {
        Map<String, Consumer<Jedis>> cases = new LinkedHashMap<>();
        cases.put("connects with RESP2 and RESP3", ClientTest::connects);
        cases.put("answers a pipeline of 1000 commands in order", ClientTest::pipeline);
        cases.put("keeps every byte of a string", ClientTest::keepsBytes);
        cases.put("counts", ClientTest::counts);
        cases.put("sets under conditions", ClientTest::setsUnderConditions);
        cases.put("expires", ClientTest::expires);
        cases.put("scans 10000 keys", ClientTest::scans);
        cases.put("throws the server's errors", ClientTest::throwsErrors);
        try (Jedis db = client(RedisProtocol.RESP2)) {
            db.flushAll();
        }
        boolean failed = false;
        for (Map.Entry<String, Consumer<Jedis>> test : cases.entrySet()) {
            try (Jedis db = client(RedisProtocol.RESP3)) {
                test.getValue().accept(db);
                System.out.println("ok   " + test.getKey());
            } catch (Throwable problem) {
                failed = true;
                System.out.println("FAIL " + test.getKey() + ": " + problem);
            }
        }
        System.exit(failed ? 1 : 0);
    }
}
