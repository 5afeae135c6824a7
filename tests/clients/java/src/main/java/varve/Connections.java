package varve;

import static varve.Support.expect;
import static varve.Support.refused;
import static varve.Support.same;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;

/** Connections, errors and pipelines of simple commands. */
final class Connections {
    private Connections() {}

    @Case
    static void speaksTheChosenProtocol(Jedis db) {
        same(db.ping(), "PONG");
        // RESP3 has maps, which Jedis gives as a list of pairs; in RESP2 names and values take turns.
        Object first = ((List<?>) db.sendCommand(() -> "HELLO".getBytes())).get(0);
        boolean isPair = first instanceof Map.Entry;
        expect(isPair == (db.getConnection().getRedisProtocol() == RedisProtocol.RESP3), "HELLO began with " + first);
    }

    @Case
    static void answersAPipelineOf1000CommandsInOrder(Jedis db) {
        Pipeline pipe = db.pipelined();
        List<Response<String>> replies = new ArrayList<>();
        for (int number = 0; number < 500; number++) {
            pipe.set("p:" + number, "" + number);
            replies.add(pipe.get("p:" + number));
        }
        pipe.sync();
        for (int number = 0; number < 500; number++) {
            same(replies.get(number).get(), "" + number);
        }
    }

    @Case
    static void throwsTheServersErrorsAndStaysUsable(Jedis db) {
        db.set("word", "abc");
        refused(() -> db.sendCommand(() -> "NOSUCHCOMMAND".getBytes(), "x"), "unknown command");
        refused(() -> db.sendCommand(() -> "GET".getBytes()), "wrong number of arguments");
        refused(() -> db.incr("word"), "not an integer");
        refused(() -> db.setex("k", 0, "v"), "invalid expire time");
        same(db.ping(), "PONG");
    }
}
