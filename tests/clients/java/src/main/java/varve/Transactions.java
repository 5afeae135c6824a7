package varve;

import static varve.Support.another;
import static varve.Support.expect;
import static varve.Support.is;
import static varve.Support.refused;
import static varve.Support.same;

import java.util.Arrays;
import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Response;
import redis.clients.jedis.Transaction;

/** MULTI, EXEC and WATCH. */
final class Transactions {
    private Transactions() {}

    @Case
    static void runsATransactionAsOne(Jedis db) {
        Transaction transaction = db.multi();
        transaction.set("s", "1");
        Response<Long> number = transaction.incr("s");
        transaction.rpush("l", "a", "b");
        Response<List<String>> elements = transaction.lrange("l", 0, -1);
        same(transaction.exec(), Arrays.asList("OK", 2L, 2L, List.of("a", "b")));
        is(number.get(), 2);
        same(elements.get(), List.of("a", "b"));
    }

    @Case
    static void anErrorInsideLeavesTheOtherCommands(Jedis db) {
        Transaction transaction = db.multi();
        transaction.set("s", "x");
        Response<Long> pushed = transaction.lpush("s", "y");
        Response<String> last = transaction.set("t", "1");
        transaction.exec();
        refused(pushed::get, "WRONGTYPE");
        same(last.get(), "OK");
        same(db.get("t"), "1");
    }

    @Case
    static void aCommandThatIsRefusedMakesExecRunNone(Jedis db) {
        Transaction transaction = db.multi();
        transaction.set("s", "1");
        transaction.sendCommand(() -> "NOSUCH".getBytes(), "x");
        refused(transaction::exec, "EXECABORT");
        same(db.get("s"), null);
    }

    @Case
    static void aWatchedKeyThatChangesMakesExecRunNone(Jedis db) {
        try (Jedis other = another(db)) {
            db.set("s", "1");
            db.watch("s", "t");
            other.incr("s");
            Transaction transaction = db.multi();
            transaction.set("s", "7");
            same(transaction.exec(), null);
            same(db.get("s"), "2");
            db.watch("s");
            other.incr("t");
            transaction = db.multi();
            transaction.get("s");
            same(transaction.exec(), List.of("2"));
            db.watch("s");
            other.incr("s");
            db.unwatch();
            transaction = db.multi();
            transaction.get("s");
            same(transaction.exec(), List.of("3"));
        }
    }

    @Case
    static void discardsWhatWasQueued(Jedis db) {
        Transaction transaction = db.multi();
        transaction.set("s", "1");
        same(transaction.discard(), "OK");
        expect(!db.exists("s"), "a discarded command was run");
    }
}
