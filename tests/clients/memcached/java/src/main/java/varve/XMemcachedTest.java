package varve;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import net.rubyeye.xmemcached.CASOperation;
import net.rubyeye.xmemcached.GetsResponse;
import net.rubyeye.xmemcached.MemcachedClient;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.rubyeye.xmemcached.transcoders.SerializingTranscoder;
import net.rubyeye.xmemcached.utils.AddrUtil;

/** Cases with xmemcached in text mode: {@code cases}, or {@code add N}, which adds 1 to the key `sum` N times by CAS. */
final class XMemcachedTest {
    private static final int TIMEOUT = 30_000;
    private static final int ITEM_MAX = 16 << 20;

    private interface Case {
        void run(MemcachedClient client) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        XMemcachedClientBuilder builder = new XMemcachedClientBuilder(AddrUtil.getAddresses(System.getenv("MEMCACHED_ADDR")));
        builder.setConnectionPoolSize(3);
        builder.setOpTimeout(TIMEOUT);
        builder.setTranscoder(new SerializingTranscoder(ITEM_MAX));
        MemcachedClient client = builder.build();
        int status = 0;
        if (args[0].equals("add")) {
            add(client, Integer.parseInt(args[1]));
        } else {
            for (Map.Entry<String, Case> it : cases().entrySet()) {
                try {
                    it.getValue().run(client);
                    System.out.println("ok   " + it.getKey());
                } catch (Exception | AssertionError error) {
                    System.out.println("FAILED " + it.getKey() + ": " + error + Arrays.toString(error.getStackTrace()));
                    status = 1;
                }
            }
        }
        client.shutdown();
        System.exit(status);
    }

    private static void check(boolean condition, String what) {
        if (!condition) {
            throw new AssertionError(what);
        }
    }

    private static Map<String, Case> cases() {
        Map<String, Case> cases = new LinkedHashMap<>();
        cases.put("flags", XMemcachedTest::flags);
        cases.put("compression", XMemcachedTest::compression);
        cases.put("many keys", XMemcachedTest::manyKeys);
        cases.put("5 MB", XMemcachedTest::large);
        cases.put("conditions", XMemcachedTest::conditions);
        cases.put("a key of RESP", client -> check("written elsewhere".equals(client.get("from-resp")), "another value"));
        return cases;
    }

    private static void flags(MemcachedClient client) throws Exception {
        Map<String, Object> values = Map.of("text", "é", "number", 7L, "yes", true, "half", 0.5, "list", new ArrayList<>(List.of("a", 1)));
        for (Map.Entry<String, Object> it : values.entrySet()) {
            check(client.set(it.getKey(), 0, it.getValue()), it.getKey());
            check(it.getValue().equals(client.get(it.getKey())), it.getKey());
        }
    }

    private static void compression(MemcachedClient client) throws Exception {
        String text = "packed ".repeat(10000);
        check(client.set("packed", 0, text) && text.equals(client.get("packed")), "the text is another");
    }

    private static void manyKeys(MemcachedClient client) throws Exception {
        List<String> keys = new ArrayList<>();
        Map<String, Integer> values = new HashMap<>();
        for (int number = 0; number < 1000; number++) {
            keys.add("many:" + number);
            if (number % 2 == 0) {
                values.put("many:" + number, number);
                client.set("many:" + number, 0, number);
            }
        }
        check(values.equals(client.<Integer>get(keys)), "items are missing or others");
        check(client.<Integer>gets(keys).size() == values.size(), "items are missing from gets");
    }

    private static void large(MemcachedClient client) throws Exception {
        byte[] value = new byte[5 << 20];
        new java.util.Random(7).nextBytes(value);
        check(client.set("large", 0, value), "it is not stored");
        check(Arrays.equals(value, client.<byte[]>get("large")), "the value is another");
    }

    private static void conditions(MemcachedClient client) throws Exception {
        client.delete("condition");
        check(!client.cas("condition", 0, "x", 5), "a CAS of no item");
        check(client.add("condition", 0, "1") && !client.add("condition", 0, "2"), "two items were added");
        GetsResponse<String> found = client.gets("condition");
        check(client.incr("condition", 41) == 42 && client.decr("condition", 2) == 40, "the number is another");
        check(!client.cas("condition", 0, "x", found.getCas()), "a CAS of a changed item");
        check(client.touch("condition", 100), "touch");
        check(client.append("condition", "b") && client.prepend("condition", "a"), "append");
        check("a40b".equals(client.get("condition")), "the value is another");
    }

    private static void add(MemcachedClient client, int count) throws Exception {
        for (int left = count; left > 0; left--) {
            client.cas("sum", 0, new CASOperation<String>() {
                @Override
                public int getMaxTries() {
                    return Integer.MAX_VALUE;
                }

                @Override
                public String getNewValue(long cas, String value) {
                    return Integer.toString(Integer.parseInt(value) + 1);
                }
            });
        }
    }
}
