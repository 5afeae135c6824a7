package varve;

import static varve.Support.MANY;
import static varve.Support.array;
import static varve.Support.is;
import static varve.Support.names;
import static varve.Support.refused;
import static varve.Support.same;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Response;
import redis.clients.jedis.StreamEntryID;

/** Pipelines of commands on several types. */
final class Pipelines {
    private Pipelines() {}

    @Case
    static void answersAPipelineOfMixedTypesInOrder(Jedis db) {
        Pipeline pipe = db.pipelined();
        List<Object> expected = new ArrayList<>();
        for (int number = 0; number < 500; number++) {
            String text = "" + number;
            StreamEntryID id = new StreamEntryID(number, 1);
            pipe.set("string:" + number, text);
            pipe.rpush("list", text);
            pipe.hset("hash", text, text);
            pipe.sadd("set", text);
            pipe.zadd("zset", number, text);
            pipe.xadd("stream", id, Map.of("n", text));
            pipe.lindex("list", -1);
            pipe.hget("hash", text);
            pipe.zscore("zset", text);
            expected.addAll(List.of("OK", number + 1L, 1L, 1L, 1L, id, text, text, (double) number));
        }
        same(pipe.syncAndReturnAll(), expected);
        is(db.llen("list"), 500);
        is(db.hlen("hash"), 500);
        is(db.scard("set"), 500);
        is(db.zcard("zset"), 500);
        is(db.xlen("stream"), 500);
    }

    @Case
    static void anErrorInsideAPipelineLeavesTheOtherReplies(Jedis db) {
        Pipeline pipe = db.pipelined();
        Response<Long> pushed = pipe.rpush("l", "a");
        Response<Long> added = pipe.sadd("l", "m");
        Response<String> got = pipe.hget("l", "f");
        Response<List<String>> elements = pipe.lrange("l", 0, -1);
        pipe.sync();
        is(pushed.get(), 1);
        refused(added::get, "WRONGTYPE");
        refused(got::get, "WRONGTYPE");
        same(elements.get(), List.of("a"));
    }

    @Case
    static void givesLargeRepliesOfSeveralTypesInOnePipeline(Jedis db) {
        db.rpush("l", array(names()));
        db.sadd("s", array(names()));
        db.zadd("z", SortedSets.ranked());
        Pipeline pipe = db.pipelined();
        Response<List<String>> elements = pipe.lrange("l", 0, -1);
        Response<Set<String>> members = pipe.smembers("s");
        Response<List<String>> ranked = pipe.zrange("z", 0, -1);
        Response<Long> length = pipe.llen("l");
        pipe.sync();
        same(elements.get(), names());
        same(members.get(), new HashSet<>(names()));
        same(ranked.get(), names());
        is(length.get(), MANY);
    }
}
