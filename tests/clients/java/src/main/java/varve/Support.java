package varve;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.IntStream;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.csc.Cache;
import redis.clients.jedis.csc.DefaultCache;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.params.ScanParams;
import redis.clients.jedis.resps.ScanResult;

/** What the cases share: clients, expectations, and large collections. */
final class Support {
    /** Elements of a large collection. */
    static final int MANY = 10_000;

    /** Seconds after which a case that waits for something gives up. */
    static final int PATIENCE = 10;

    private Support() {}

    static HostAndPort address() {
        return HostAndPort.from(System.getenv().getOrDefault("SERVER_ADDR", "127.0.0.1:6379"));
    }

    private static JedisClientConfig config(RedisProtocol protocol) {
        DefaultJedisClientConfig.Builder config = DefaultJedisClientConfig.builder().protocol(protocol);
        return Tls.isWanted() ? config.ssl(true).sslSocketFactory(Tls.context().getSocketFactory()).build() : config.build();
    }

    static Jedis client(RedisProtocol protocol) {
        return new Jedis(address(), config(protocol));
    }

    private static JedisClientConfig login(Jedis db, String user, String password) {
        RedisProtocol protocol = db.getConnection().getRedisProtocol();
        return DefaultJedisClientConfig.builder().protocol(protocol).user(user).password(password).build();
    }

    /** A client of the same kind that logs in. */
    static Jedis client(Jedis db, String user, String password) {
        return new Jedis(address(), login(db, user, password));
    }

    /** A pool of such clients. */
    static JedisPool pool(Jedis db, String user, String password) {
        return new JedisPool(address(), login(db, user, password));
    }

    /** A client with a cache, which only RESP3 keeps fresh. */
    static UnifiedJedis cached() {
        // Jedis asks for a server that calls itself Redis 7.4, which Valkey and Varve do not.
        Cache cache = new DefaultCache(MANY) {
            @Override
            public boolean compatibilityMode() {
                return true;
            }
        };
        return new UnifiedJedis(address(), config(RedisProtocol.RESP3), cache);
    }

    /** One more connection of the same kind. */
    static Jedis another(Jedis db) {
        return client(db.getConnection().getRedisProtocol());
    }

    static void expect(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    static void same(Object actual, Object expected) {
        expect(Objects.equals(actual, expected), "got " + actual + ", want " + expected);
    }

    static void is(long actual, long expected) {
        expect(actual == expected, "got " + actual + ", want " + expected);
    }

    static void is(double actual, double expected) {
        expect(actual == expected, "got " + actual + ", want " + expected);
    }

    static void between(double actual, double low, double high) {
        expect(low <= actual && actual <= high, actual + " is not between " + low + " and " + high);
    }

    /** Expects the server to refuse the call with an error that contains the given part. */
    static void refused(Runnable call, String part) {
        try {
            call.run();
        } catch (JedisDataException error) {
            expect(error.getMessage().contains(part), "unexpected error: " + error.getMessage());
            return;
        }
        throw new AssertionError("nothing was thrown, expected: " + part);
    }

    /** Returns once the condition holds. */
    static void waitUntil(BooleanSupplier condition, String what) {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE);
        while (!condition.getAsBoolean()) {
            expect(System.nanoTime() < deadline, what);
            pause();
        }
    }

    private static void pause() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException stopped) {
            throw new AssertionError(stopped);
        }
    }

    /** How many clients are blocked. */
    static int waiters(Jedis db) {
        String rest = db.info("clients").split("blocked_clients:")[1];
        return Integer.parseInt(rest.split("\r\n")[0]);
    }

    /** Makes a call on a connection of its own. */
    static <T> CompletableFuture<T> beside(Jedis db, Function<Jedis, T> call) {
        Jedis other = another(db);
        return CompletableFuture.supplyAsync(() -> call.apply(other), task -> new Thread(task).start())
                .whenComplete((reply, failure) -> other.close());
    }

    /** The names of the elements of a large collection. */
    static List<String> names() {
        return IntStream.range(0, MANY).mapToObj(number -> "n" + number).toList();
    }

    static String[] array(List<String> elements) {
        return elements.toArray(String[]::new);
    }

    static List<String> sorted(Iterable<String> elements) {
        List<String> ordered = new ArrayList<>();
        elements.forEach(ordered::add);
        ordered.sort(null);
        return ordered;
    }

    /** Each byte once. */
    static byte[] everyByte() {
        byte[] every = new byte[256];
        for (int value = 0; value < every.length; value++) {
            every[value] = (byte) value;
        }
        return every;
    }

    /** Everything that a scan finds, page by page. */
    static <T> List<T> scanned(Function<String, ScanResult<T>> scan) {
        List<T> found = new ArrayList<>();
        String cursor = ScanParams.SCAN_POINTER_START;
        do {
            ScanResult<T> page = scan.apply(cursor);
            found.addAll(page.getResult());
            cursor = page.getCursor();
        } while (!cursor.equals(ScanParams.SCAN_POINTER_START));
        return found;
    }

    static ScanParams byHundreds() {
        return new ScanParams().count(100);
    }
}
