package varve;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.api.RateType;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.Protocol;

/**
 * Redisson's locks against the server at SERVER_ADDR: each case by two clients, over RESP2 and RESP3, one line each, status 1
 * when one fails. Arguments are parts of the names of cases; without any, all are run.
 */
public final class RedissonTest {
    // Each case has a lock of its own: who has lost one to somebody goes on renewing it for a while, whoever has it then.

    /** Seconds after which a case that waits for something gives up. */
    private static final int PATIENCE = 20;

    /** Milliseconds that a lock lasts for which nobody has said how long; it is renewed after a third of it. A busy machine stops a client for less than the rest. */
    private static final int LEASE = 6000;

    private interface Case {
        void run(RedissonClient one, RedissonClient other) throws Exception;
    }

    private static final Map<String, Case> CASES = new LinkedHashMap<>();

    static {
        CASES.put("a lock that is taken is not acquired", RedissonTest::taken);
        CASES.put("two clients with a lock exclude each other", RedissonTest::exclude);
        CASES.put("its holder acquires a lock again", RedissonTest::again);
        CASES.put("another thread or client may not unlock", RedissonTest::foreign);
        CASES.put("a lock is renewed while it is held", RedissonTest::renewed);
        CASES.put("a lock with a lease is lost behind it", RedissonTest::leased);
        CASES.put("who waits for a lock is woken", RedissonTest::woken);
        CASES.put("a fair lock is acquired in the order of arrival", RedissonTest::fair);
        CASES.put("readers share a lock, and a writer does not", RedissonTest::readers);
        CASES.put("a semaphore has so many permits", RedissonTest::semaphore);
        CASES.put("a rate limiter lets so many through", RedissonTest::limiter);
    }

    private RedissonTest() {}

    private static void taken(RedissonClient one, RedissonClient other) throws Exception {
        RLock mine = one.getLock("taken");
        expect(mine.tryLock(), "a free lock was not acquired");
        expect(!other.getLock("taken").tryLock(), "a lock was acquired twice");
        expect(!other.getLock("taken").tryLock(20, TimeUnit.MILLISECONDS), "a lock was acquired twice");
        expect(other.getLock("taken").isLocked() && mine.isHeldByCurrentThread(), "the lock is not held");
        mine.unlock();
        expect(other.getLock("taken").tryLock(), "a lock was not acquired once it was free");
        other.getLock("taken").unlock();
        expect(!mine.isLocked() && one.getKeys().count() == 0, "a lock is left");
    }

    private static void exclude(RedissonClient one, RedissonClient other) throws Exception {
        List<CompletableFuture<Void>> both = new ArrayList<>();
        for (RedissonClient client : List.of(one, other)) {
            both.add(beside(() -> {
                RLock lock = client.getLock("exclude");
                RBucket<String> number = client.getBucket("n", StringCodec.INSTANCE);
                for (int i = 0; i < 100; i++) {
                    lock.lock();
                    String before = number.get();
                    number.set(before == null ? "1" : Integer.toString(Integer.parseInt(before) + 1));
                    lock.unlock();
                }
                return null;
            }));
        }
        for (CompletableFuture<Void> each : both) {
            each.get(PATIENCE, TimeUnit.SECONDS);
        }
        same(one.getBucket("n", StringCodec.INSTANCE).get(), "200");
    }

    private static void again(RedissonClient one, RedissonClient other) {
        RLock lock = one.getLock("again");
        lock.lock();
        lock.lock();
        same(lock.getHoldCount(), 2);
        lock.unlock();
        expect(!other.getLock("again").tryLock(), "a lock was free that is held once more");
        lock.unlock();
        expect(!lock.isLocked(), "a lock is left");
    }

    private static void foreign(RedissonClient one, RedissonClient other) throws Exception {
        RLock lock = one.getLock("foreign");
        lock.lock();
        beside(() -> refused(lock::unlock)).get(PATIENCE, TimeUnit.SECONDS);
        refused(other.getLock("foreign")::unlock);
        expect(lock.isHeldByCurrentThread(), "the lock was taken away");
        expect(other.getLock("foreign").forceUnlock() && !lock.isLocked(), "a lock was not taken away by force");
    }

    private static void renewed(RedissonClient one, RedissonClient other) throws Exception {
        RLock lock = one.getLock("renewed");
        lock.lock();
        for (int renewals = 0; renewals < 2; renewals++) {
            long[] before = {LEASE};
            waitUntil(() -> lock.remainTimeToLive() > before[0] || lower(before, lock.remainTimeToLive()), "a lock was not renewed");
        }
        expect(lock.isHeldByCurrentThread() && !other.getLock("renewed").tryLock(), "a lock was lost");
        lock.unlock();
    }

    /** Time that runs. */
    private static boolean lower(long[] before, long now) {
        before[0] = Math.min(before[0], now);
        return false;
    }

    private static void leased(RedissonClient one, RedissonClient other) throws Exception {
        RLock lock = one.getLock("leased");
        lock.lock(50, TimeUnit.MILLISECONDS);
        expect(other.getLock("leased").tryLock(PATIENCE, TimeUnit.SECONDS), "a lock outlived its lease");
        refused(lock::unlock);
        other.getLock("leased").unlock();
    }

    private static void woken(RedissonClient one, RedissonClient other) throws Exception {
        RLock lock = one.getLock("woken");
        lock.lock(PATIENCE, TimeUnit.MINUTES);
        CompletableFuture<Boolean> waiting = beside(() -> other.getLock("woken").tryLock(PATIENCE, TimeUnit.SECONDS));
        waitUntil(() -> subscribers(one, "redisson_lock__channel:{woken}") == 1, "nobody waits");
        lock.unlock();
        expect(waiting.get(PATIENCE, TimeUnit.SECONDS), "a lock was not acquired once it was free");
    }

    private static void fair(RedissonClient one, RedissonClient other) throws Exception {
        RLock lock = one.getFairLock("fair");
        lock.lock();
        List<String> order = new ArrayList<>();
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (int place = 0; place < 6; place++) {
            RedissonClient client = place % 2 == 0 ? other : one;
            String name = "place " + place;
            all.add(beside(() -> {
                RLock own = client.getFairLock("fair");
                own.lock();
                synchronized (order) {
                    order.add(name);
                }
                own.unlock();
                return null;
            }));
            int waiting = place + 1;
            waitUntil(() -> one.getDeque("redisson_lock_queue:{fair}", StringCodec.INSTANCE).size() == waiting, "nobody waits");
        }
        lock.unlock();
        for (CompletableFuture<Void> each : all) {
            each.get(PATIENCE, TimeUnit.SECONDS);
        }
        same(order, List.of("place 0", "place 1", "place 2", "place 3", "place 4", "place 5"));
    }

    private static void readers(RedissonClient one, RedissonClient other) {
        RReadWriteLock lock = one.getReadWriteLock("readers");
        RReadWriteLock others = other.getReadWriteLock("readers");
        expect(lock.readLock().tryLock() && others.readLock().tryLock(), "readers exclude each other");
        expect(!others.writeLock().tryLock(), "a writer came among readers");
        lock.readLock().unlock();
        others.readLock().unlock();
        expect(others.writeLock().tryLock() && !lock.readLock().tryLock(), "a reader came beside a writer");
        expect(others.readLock().tryLock(), "a writer may not read");
        others.readLock().unlock();
        others.writeLock().unlock();
        same(one.getKeys().count(), 0L);
    }

    private static void semaphore(RedissonClient one, RedissonClient other) throws Exception {
        RSemaphore mine = one.getSemaphore("permits");
        RSemaphore others = other.getSemaphore("permits");
        expect(mine.trySetPermits(3) && !others.trySetPermits(5), "permits were set twice");
        expect(mine.tryAcquire(2) && !others.tryAcquire(2) && others.tryAcquire(), "permits are miscounted");
        same(others.availablePermits(), 0);
        CompletableFuture<Void> waiting = beside(() -> {
            others.acquire();
            return null;
        });
        waitUntil(() -> subscribers(one, "redisson_sc:{permits}") == 1, "nobody waits");
        mine.release(2);
        waiting.get(PATIENCE, TimeUnit.SECONDS);
        same(mine.availablePermits(), 1);
        same(mine.drainPermits(), 1);
    }

    private static void limiter(RedissonClient one, RedissonClient other) {
        RRateLimiter mine = one.getRateLimiter("limit");
        RRateLimiter others = other.getRateLimiter("limit");
        expect(mine.trySetRate(RateType.OVERALL, 3, Duration.ofHours(1)), "the rate was not set");
        expect(mine.tryAcquire(2) && others.tryAcquire(1), "too few came through");
        expect(!mine.tryAcquire(1) && !others.tryAcquire(1), "too many came through");
        same(mine.availablePermits(), 0L);
    }

    private static long subscribers(RedissonClient client, String channel) {
        return client.getTopic(channel).countSubscribers();
    }

    private static <T> CompletableFuture<T> beside(Callable<T> call) {
        CompletableFuture<T> done = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                done.complete(call.call());
            } catch (Throwable failure) {
                done.completeExceptionally(failure);
            }
        });
        thread.setDaemon(true);
        thread.start();
        return done;
    }

    /** Expects Redisson to say that the lock is not this thread's. */
    private static Void refused(Runnable unlock) {
        try {
            unlock.run();
        } catch (IllegalMonitorStateException error) {
            return null;
        }
        throw new AssertionError("somebody else's lock was unlocked");
    }

    private static void waitUntil(BooleanSupplier condition, String what) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE);
        while (!condition.getAsBoolean()) {
            expect(System.nanoTime() < deadline, what);
            Thread.sleep(1);
        }
    }

    private static void expect(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    private static void same(Object actual, Object expected) {
        expect(expected.equals(actual), "got " + actual + ", want " + expected);
    }

    private static RedissonClient client(Protocol protocol) {
        Config config = new Config();
        config.setProtocol(protocol);
        config.setLockWatchdogTimeout(LEASE);
        String address = System.getenv().getOrDefault("SERVER_ADDR", "127.0.0.1:6379");
        config.useSingleServer().setAddress("redis://" + address).setConnectionMinimumIdleSize(1).setConnectionPoolSize(8);
        return Redisson.create(config);
    }

    public static void main(String[] chosen) {
        boolean passed = true;
        for (Protocol protocol : List.of(Protocol.RESP2, Protocol.RESP3)) {
            RedissonClient one = client(protocol);
            RedissonClient other = client(protocol);
            for (Map.Entry<String, Case> each : CASES.entrySet()) {
                String title = "locks: " + each.getKey() + " (" + protocol + ")";
                if (chosen.length > 0 && List.of(chosen).stream().noneMatch(title::contains)) {
                    continue;
                }
                one.getKeys().flushall();
                try {
                    each.getValue().run(one, other);
                    System.out.println("ok   " + title);
                } catch (Exception | AssertionError failure) {
                    passed = false;
                    System.out.println("FAIL " + title);
                    failure.printStackTrace(System.out);
                }
            }
        }
        System.exit(passed ? 0 : 1);
    }
}
