package varve;

import static varve.Support.expect;
import static varve.Support.is;
import static varve.Support.same;
import static varve.Support.waitUntil;

import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** Users: logging in by options and URL, pools, what is refused, changed passwords, deleted users. */
final class Users {
    private static final String[] RIGHTS = {
        "~u:*", "+@read", "+@write", "+@connection", "+@transaction", "-@dangerous", "+acl|whoami"
    };

    private Users() {}

    /** A user who may read and write what begins with "u:", until it is closed. */
    private record User(Jedis db, String name, String password) implements AutoCloseable {
        static User of(Jedis db) {
            User user = new User(db, "user-" + random(), random() + "@:/ %");
            same(user.set(RIGHTS), "OK");
            same(user.set("on", ">" + user.password), "OK");
            return user;
        }

        private static String random() {
            return UUID.randomUUID().toString().substring(0, 8);
        }

        String set(String... rules) {
            return db.aclSetUser(name, rules);
        }

        Jedis client() {
            return client(password);
        }

        Jedis client(String password) {
            return Support.client(db, name, password);
        }

        JedisPool pool() {
            return Support.pool(db, name, password);
        }

        /** Number and protocol of each of its connections. */
        List<String> connections() {
            Pattern line = Pattern.compile("(?m)^id=(\\d+) .* user=" + name + " .* resp=(\\d)");
            Matcher lines = line.matcher(db.clientList());
            return Support.sorted(lines.results().map(one -> one.group(1) + " " + one.group(2)).toList());
        }

        /** What connections() gives for one of them. */
        String number(Jedis one) {
            return one.clientId() + " " + protocol();
        }

        String protocol() {
            return db.getConnection().getRedisProtocol().version();
        }

        @Override
        public void close() {
            db.aclDelUser(name);
            db.aclLogReset();
        }
    }

    /** Jedis makes a class out of WRONGPASS and NOPERM. */
    private static void denied(Runnable call, String part) {
        try {
            call.run();
        } catch (JedisAccessControlException error) {
            expect(error.getMessage().startsWith(part), "unexpected error: " + error.getMessage());
            return;
        }
        throw new AssertionError("nothing was thrown, expected: " + part);
    }

    @Case
    static void logsInByOptions(Jedis db) {
        try (User user = User.of(db); Jedis one = user.client()) {
            same(one.aclWhoAmI(), user.name);
            same(one.set("u:1", "v"), "OK");
            same(one.get("u:1"), "v");
            Transaction transaction = one.multi();
            transaction.incr("u:2");
            same(transaction.exec(), List.of(1L));
            same(user.connections(), List.of(user.number(one)));
        }
    }

    @Case
    static void logsInByUrl(Jedis db) {
        try (User user = User.of(db)) {
            String password = URLEncoder.encode(user.password, StandardCharsets.UTF_8).replace("+", "%20");
            // Jedis sends HELLO when it is told a protocol, else AUTH.
            String query = user.protocol().equals("3") ? "?protocol=3" : "";
            String url = "redis://" + user.name + ":" + password + "@" + Support.address() + "/0" + query;
            try (Jedis one = new Jedis(URI.create(url))) {
                same(one.aclWhoAmI(), user.name);
                same(user.connections(), List.of(user.number(one)));
            }
        }
    }

    @Case
    static void eachConnectionOfAPoolIsTheUser(Jedis db) {
        try (User user = User.of(db); JedisPool pool = user.pool()) {
            List<Jedis> ones = new ArrayList<>();
            for (int number = 0; number < 4; number++) {
                ones.add(pool.getResource());
            }
            ones.forEach(one -> same(one.aclWhoAmI(), user.name));
            same(user.connections(), Support.sorted(ones.stream().map(user::number).toList()));
            ones.forEach(Jedis::close);
        }
    }

    @Case
    static void aWrongPasswordIsAnErrorOfItsOwn(Jedis db) {
        try (User user = User.of(db)) {
            denied(() -> user.client("wrong"), "WRONGPASS ");
            denied(() -> db.auth(user.name, "wrong"), "WRONGPASS ");
            List<String> tried = db.aclLog().stream()
                    .filter(entry -> entry.getUsername().equals(user.name))
                    .map(entry -> entry.getReason() + " " + entry.getObject() + " " + entry.getCount())
                    .toList();
            same(tried, List.of("auth AUTH 1", "auth HELLO 1")); // HELLO with either protocol
        }
    }

    @Case
    static void whatAUserMayNotDoIsAnErrorOfItsOwn(Jedis db) {
        try (User user = User.of(db); Jedis one = user.client()) {
            denied(one::flushAll, "NOPERM User " + user.name + " has no permissions to run the 'flushall' command");
            denied(() -> one.get("other"), "NOPERM ");
            same(one.get("u:1"), null);
        }
    }

    @Case
    static void aChangedPasswordIsAskedOfNewConnections(Jedis db) {
        try (User user = User.of(db); JedisPool pool = user.pool(); Jedis held = pool.getResource()) {
            same(held.aclWhoAmI(), user.name);
            same(user.set("resetpass", ">new"), "OK");
            same(held.aclWhoAmI(), user.name);
            same(held.set("u:1", "v"), "OK");
            denied(pool::getResource, "WRONGPASS "); // a second connection
            try (Jedis other = user.client("new")) {
                same(other.get("u:1"), "v");
            }
        }
    }

    @Case
    static void aDeletedUserIsCutOff(Jedis db) {
        try (User user = User.of(db); JedisPool pool = user.pool()) {
            try (Jedis one = pool.getResource()) {
                same(one.aclWhoAmI(), user.name);
                is(db.aclDelUser(user.name), 1);
                waitUntil(() -> user.connections().isEmpty(), "the connection stays");
                try {
                    one.ping();
                    throw new AssertionError("it is logged in");
                } catch (JedisConnectionException closed) {
                    expect(one.isBroken(), "it is not given up");
                }
            }
            denied(pool::getResource, "WRONGPASS ");
        }
    }
}
