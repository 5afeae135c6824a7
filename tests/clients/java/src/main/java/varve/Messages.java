package varve;

import static varve.Support.PATIENCE;
import static varve.Support.another;
import static varve.Support.is;
import static varve.Support.same;
import static varve.Support.waitUntil;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.stream.IntStream;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Transaction;

/** Channels and patterns. Jedis has shard channels in clusters only. */
final class Messages {
    private Messages() {}

    /** Somebody who hears messages on a connection of its own until it is closed. */
    private static final class Hearer extends JedisPubSub implements AutoCloseable {
        private final LinkedBlockingQueue<List<String>> heard = new LinkedBlockingQueue<>();
        private final CompletableFuture<Void> end;
        private final Runnable unsubscribe;

        static Hearer ofChannels(Jedis db, String... channels) {
            return new Hearer(db, false, channels);
        }

        static Hearer ofPatterns(Jedis db, String... patterns) {
            return new Hearer(db, true, patterns);
        }

        private Hearer(Jedis db, boolean byPattern, String... names) {
            Jedis own = another(db);
            BiConsumer<Jedis, JedisPubSub> subscribe = byPattern
                    ? (connection, hearer) -> connection.psubscribe(hearer, names)
                    : (connection, hearer) -> connection.subscribe(hearer, names);
            // The thread closes the connection at the last subscription's end: one request ends them all.
            unsubscribe = byPattern ? this::punsubscribe : this::unsubscribe;
            end = CompletableFuture.runAsync(() -> subscribe.accept(own, this), task -> new Thread(task).start())
                    .whenComplete((done, failure) -> own.close());
            waitUntil(() -> getSubscribedChannels() == names.length, "nobody has subscribed");
        }

        @Override
        public void onMessage(String channel, String message) {
            heard.add(List.of(channel, message));
        }

        @Override
        public void onPMessage(String pattern, String channel, String message) {
            heard.add(List.of(pattern, channel, message));
        }

        List<String> next() {
            try {
                return heard.poll(PATIENCE, TimeUnit.SECONDS);
            } catch (InterruptedException stopped) {
                throw new AssertionError(stopped);
            }
        }

        @Override
        public void close() {
            if (isSubscribed()) {
                unsubscribe.run();
            }
            end.orTimeout(PATIENCE, TimeUnit.SECONDS).join();
        }
    }

    @Case
    static void aMessageComesToAllSubscribersOfItsChannel(Jedis db) {
        try (Hearer one = Hearer.ofChannels(db, "a", "b");
                Hearer other = Hearer.ofChannels(db, "a")) {
            is(db.publish("a", "first"), 2);
            is(db.publish("b", "second"), 1);
            is(db.publish("c", "third"), 0);
            same(one.next(), List.of("a", "first"));
            same(one.next(), List.of("b", "second"));
            same(other.next(), List.of("a", "first"));
            same(db.pubsubNumSub("a", "b", "c"), Map.of("a", 2L, "b", 1L, "c", 0L));
        }
    }

    @Case
    static void aPatternGetsWhatMatches(Jedis db) {
        try (Hearer hearer = Hearer.ofPatterns(db, "n.*", "[xy]")) {
            is(db.pubsubNumPat(), 2);
            is(db.publish("n.1", "1"), 1);
            is(db.publish("m.1", "1"), 0);
            is(db.publish("x", "2"), 1);
            same(hearer.next(), List.of("n.*", "n.1", "1"));
            same(hearer.next(), List.of("[xy]", "x", "2"));
        }
    }

    @Case
    static void messagesComeInOrderAndNoneBehindTheEndOfASubscription(Jedis db) {
        try (Hearer hearer = Hearer.ofChannels(db, "a", "b")) {
            Pipeline pipe = db.pipelined();
            IntStream.range(0, 2000).forEach(number -> pipe.publish("a", "" + number));
            pipe.sync();
            IntStream.range(0, 2000).forEach(number -> same(hearer.next(), List.of("a", "" + number)));
            hearer.unsubscribe("a");
            waitUntil(() -> hearer.getSubscribedChannels() == 1, "the subscription does not end");
            is(db.publish("a", "no"), 0);
            is(db.publish("b", "yes"), 1);
            same(hearer.next(), List.of("b", "yes"));
        }
    }

    @Case
    static void aTransactionPublishesToo(Jedis db) {
        try (Hearer hearer = Hearer.ofChannels(db, "a")) {
            Transaction transaction = db.multi();
            transaction.publish("a", "1");
            transaction.set("s", "1");
            transaction.publish("a", "2");
            transaction.exec();
            same(hearer.next(), List.of("a", "1"));
            same(hearer.next(), List.of("a", "2"));
        }
    }
}
