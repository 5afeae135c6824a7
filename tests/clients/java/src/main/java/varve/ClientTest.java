package varve;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.RedisProtocol;

/**
 * Jedis against the server at SERVER_ADDR: every case over RESP2 and RESP3, one line each, status 1 when one fails.
 * Arguments are the groups to run, such as "lists sorted_sets"; without any, all are run.
 */
public final class ClientTest {
    private static final Map<String, Class<?>> GROUPS = new LinkedHashMap<>();

    static {
        GROUPS.put("connection", Connections.class);
        GROUPS.put("keys", Keys.class);
        GROUPS.put("strings", Strings.class);
        GROUPS.put("lists", Lists.class);
        GROUPS.put("hashes", Hashes.class);
        GROUPS.put("sets", Sets.class);
        GROUPS.put("sorted_sets", SortedSets.class);
        GROUPS.put("streams", Streams.class);
        GROUPS.put("geo", Geo.class);
        GROUPS.put("hyperloglog", HyperLogLogs.class);
        GROUPS.put("sort", Sorting.class);
        GROUPS.put("blocking", Blocking.class);
        GROUPS.put("pipelines", Pipelines.class);
        GROUPS.put("transactions", Transactions.class);
        GROUPS.put("scripts", Scripts.class);
        GROUPS.put("pubsub", Messages.class);
        GROUPS.put("caching", Caching.class);
        GROUPS.put("users", Users.class);
        GROUPS.put("lettuce", LettuceClients.class);
    }

    private static List<Method> casesOf(String group) {
        return Arrays.stream(GROUPS.get(group).getDeclaredMethods())
                .filter(method -> method.isAnnotationPresent(Case.class))
                .sorted(Comparator.comparing(Method::getName))
                .toList();
    }

    /** "holds10000Fields" as "holds 10000 fields". */
    private static String words(String name) {
        return name.replaceAll("(?<=.)(?=[A-Z])|(?<=[a-z])(?=[0-9])", " ").toLowerCase();
    }

    /** Whether a case passes on an empty server. */
    private static boolean passes(String title, Method test, RedisProtocol protocol) throws IllegalAccessException {
        try (Jedis db = Support.client(protocol)) {
            db.flushAll();
            test.invoke(null, db);
            System.out.println("ok   " + title);
            return true;
        } catch (InvocationTargetException failure) {
            System.out.println("FAIL " + title);
            failure.getCause().printStackTrace(System.out);
            return false;
        }
    }

    public static void main(String[] chosen) throws IllegalAccessException {
        boolean passed = true;
        for (String group : chosen.length > 0 ? List.of(chosen) : GROUPS.keySet()) {
            for (Method test : casesOf(group)) {
                for (RedisProtocol protocol : List.of(RedisProtocol.RESP2, RedisProtocol.RESP3)) {
                    String title = group + ": " + words(test.getName()) + " (" + protocol + ")";
                    passed &= passes(title, test, protocol);
                }
            }
        }
        System.exit(passed ? 0 : 1);
    }
}
