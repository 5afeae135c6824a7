package varve;

import static varve.Support.expect;
import static varve.Support.is;
import static varve.Support.same;

import io.lettuce.core.ClientOptions;
import io.lettuce.core.FlushMode;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisNoScriptException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.SslOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.RedisProtocol;

/** Lettuce, which shares a connection among threads, as a user and without. */
final class LettuceClients {
    private LettuceClients() {}

    /** A client of the protocol that Jedis speaks in this case; with a user's name and password if they are given. */
    private static RedisClient client(Jedis db, String user, String password) {
        RedisURI.Builder uri = RedisURI.builder().withHost(Support.address().getHost()).withPort(Support.address().getPort());
        if (user != null) {
            uri.withAuthentication(user, password.toCharArray());
        }
        boolean isOld = db.getConnection().getRedisProtocol() == RedisProtocol.RESP2;
        ClientOptions.Builder options = ClientOptions.builder()
                .protocolVersion(isOld ? ProtocolVersion.RESP2 : ProtocolVersion.RESP3);
        if (Tls.isWanted()) {
            uri.withSsl(true).withVerifyPeer(false);
            options.sslOptions(SslOptions.builder().keyManager(Tls.keys()).trustManager(Tls.trusted()).build());
        }
        RedisClient client = RedisClient.create(uri.build());
        client.setOptions(options.build());
        return client;
    }

    @Case
    static void writesAndReads(Jedis db) {
        RedisClient client = client(db, null, null);
        try (StatefulRedisConnection<String, String> one = client.connect()) {
            same(one.sync().set("k", "v"), "OK");
            same(one.sync().get("k"), "v");
            String large = "x".repeat(3_000_000);
            same(one.sync().set("large", large), "OK");
            expect(one.sync().get("large").equals(large), "a large value comes back");
        } finally {
            client.shutdown(0, 0, TimeUnit.SECONDS);
        }
    }

    @Case
    static void pipelinesOnOneConnection(Jedis db) throws Exception {
        RedisClient client = client(db, null, null);
        try (StatefulRedisConnection<String, String> one = client.connect()) {
            List<RedisFuture<Long>> sent = new ArrayList<>();
            for (int number = 0; number < Support.MANY; number++) {
                sent.add(one.async().incr("n"));
            }
            for (int number = 0; number < Support.MANY; number++) {
                same(sent.get(number).get(Support.PATIENCE, TimeUnit.SECONDS), number + 1L);
            }
        } finally {
            client.shutdown(0, 0, TimeUnit.SECONDS);
        }
    }

    @Case
    static void hearsMessages(Jedis db) throws Exception {
        RedisClient client = client(db, null, null);
        BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        try (StatefulRedisPubSubConnection<String, String> one = client.connectPubSub()) {
            one.addListener(new RedisPubSubAdapter<>() {
                @Override
                public void message(String channel, String message) {
                    heard.add(channel + ": " + message);
                }
            });
            one.sync().subscribe("news");
            db.publish("news", "today");
            same(heard.poll(Support.PATIENCE, TimeUnit.SECONDS), "news: today");
        } finally {
            client.shutdown(0, 0, TimeUnit.SECONDS);
        }
    }

    @Case
    static void runsScriptsAndFunctions(Jedis db) {
        RedisClient client = client(db, null, null);
        try (StatefulRedisConnection<String, String> one = client.connect()) {
            String add = "return redis.call('INCRBY', KEYS[1], ARGV[1])";
            Long first = one.sync().eval(add, ScriptOutputType.INTEGER, new String[] {"n"}, "3");
            same(first, 3L);
            one.sync().scriptFlush();
            String digest = one.sync().digest(add);
            try {
                one.sync().evalsha(digest, ScriptOutputType.INTEGER, new String[] {"n"}, "4");
                throw new AssertionError("a script outlived SCRIPT FLUSH");
            } catch (RedisNoScriptException unknown) {
                same(one.sync().scriptLoad(add), digest);
            }
            Long second = one.sync().evalsha(digest, ScriptOutputType.INTEGER, new String[] {"n"}, "4");
            same(second, 7L);
            one.sync().functionFlush(FlushMode.SYNC);
            same(one.sync().functionLoad("#!lua name=lettuce\nredis.register_function('put', function(keys, arguments)"
                    + " return redis.call('RPUSH', keys[1], unpack(arguments)) end)"), "lettuce");
            Long length = one.sync().fcall("put", ScriptOutputType.INTEGER, new String[] {"l"}, "a", "b");
            same(length, 2L);
            byte[] dump = one.sync().functionDump();
            one.sync().functionFlush(FlushMode.SYNC);
            same(one.sync().functionRestore(dump), "OK");
            is(one.sync().functionList().size(), 1);
            one.sync().functionFlush(FlushMode.SYNC);
        } finally {
            client.shutdown(0, 0, TimeUnit.SECONDS);
        }
    }

    @Case
    static void logsInAsAUser(Jedis db) {
        db.aclSetUser("lettuce", "on", ">secret", "~l:*", "+@all");
        RedisClient client = client(db, "lettuce", "secret");
        try (StatefulRedisConnection<String, String> one = client.connect()) {
            same(one.sync().aclWhoami(), "lettuce");
            same(one.sync().set("l:k", "v"), "OK");
            try {
                one.sync().set("k", "v");
                throw new AssertionError("it may set a key of others");
            } catch (RedisCommandExecutionException refused) {
                expect(refused.getMessage().startsWith("NOPERM"), refused.getMessage());
            }
        } finally {
            client.shutdown(0, 0, TimeUnit.SECONDS);
        }
        RedisClient wrong = client(db, "lettuce", "other");
        try {
            wrong.connect().close();
            throw new AssertionError("a wrong password lets in");
        } catch (RedisConnectionException refused) {
            expect(refused.getCause().getMessage().contains("WRONGPASS"), refused.getCause().getMessage());
        } finally {
            wrong.shutdown(0, 0, TimeUnit.SECONDS);
            db.aclDelUser("lettuce");
        }
    }
}
