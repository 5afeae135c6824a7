package varve;

import static varve.Support.everyByte;
import static varve.Support.expect;
import static varve.Support.is;
import static varve.Support.refused;
import static varve.Support.same;

import java.util.Arrays;
import java.util.List;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.Pipeline;
import redis.clients.jedis.Response;
import redis.clients.jedis.args.FunctionRestorePolicy;
import redis.clients.jedis.resps.LibraryInfo;

/** Scripts and functions. */
final class Scripts {
    private static final String ADD = "return redis.call('INCRBY', KEYS[1], ARGV[1])";

    private static final String LIBRARY =
            """
            #!lua name=shelf
            local function put(keys, arguments)
              return redis.call('RPUSH', keys[1], unpack(arguments))
            end
            local function count(keys)
              return redis.call('LLEN', keys[1])
            end
            redis.register_function('put', put)
            redis.register_function{function_name = 'count', callback = count, flags = {'no-writes'}}
            """;

    private Scripts() {}

    @Case
    static void aScriptGetsItsKeysAndArguments(Jedis db) {
        Object given = db.eval("return {KEYS[1], KEYS[2], ARGV[1], #KEYS, #ARGV}", List.of("k", "l"), List.of("a"));
        same(given, List.of("k", "l", "a", 2L, 1L));
        Object kinds = db.eval("return {1, 'two', {3, {'four'}}, false, 5.9, redis.status_reply('six')}");
        same(kinds, Arrays.asList(1L, "two", List.of(3L, List.of("four")), null, 5L, "six"));
        same(db.evalReadonly("return redis.call('EXISTS', KEYS[1])", List.of("k"), List.of()), 0L);
        refused(() -> db.evalReadonly(ADD, List.of("k"), List.of("1")), "Write commands are not allowed");
    }

    @Case
    static void aScriptIsRunByItsDigest(Jedis db) {
        String digest = db.scriptLoad(ADD);
        same(db.scriptExists(digest, "0".repeat(40)), List.of(true, false));
        same(db.evalsha(digest, 1, "n", "3"), 3L);
        same(db.evalsha(digest, List.of("n"), List.of("4")), 7L);
        db.scriptFlush();
        expect(!db.scriptExists(digest), "a script outlived SCRIPT FLUSH");
        refused(() -> db.evalsha(digest, 1, "n", "1"), "NOSCRIPT");
    }

    @Case
    static void aPipelineRunsScripts(Jedis db) {
        String digest = db.scriptLoad(ADD);
        Pipeline pipeline = db.pipelined();
        pipeline.set("n", "1");
        Response<Object> first = pipeline.evalsha(digest, 1, "n", "2");
        Response<Object> second = pipeline.eval(ADD, 1, "n", "3");
        pipeline.sync();
        same(List.of(first.get(), second.get()), List.of(3L, 6L));
    }

    @Case
    static void errorsOfAScriptTellWhereTheyArose(Jedis db) {
        db.set("word", "abc");
        refused(() -> db.eval(ADD, 1, "word", "1"), "not an integer");
        refused(() -> db.eval("return redis.error_reply('ERR mine')"), "ERR mine");
        refused(() -> db.eval("\nerror('thrown')"), "user_script:2");
        refused(() -> db.eval("return return"), "Error compiling script");
        same(db.get("word"), "abc");
    }

    @Case
    static void aScriptPassesBinaryValues(Jedis db) {
        byte[] script = "redis.call('SET', KEYS[1], ARGV[1]) return redis.call('GET', KEYS[1])".getBytes();
        Object kept = db.eval(script, 1, "b".getBytes(), everyByte());
        expect(Arrays.equals((byte[]) kept, everyByte()), "the value was changed");
    }

    @Case
    static void aLibraryOfFunctionsIsCalled(Jedis db) {
        db.functionFlush();
        same(db.functionLoad(LIBRARY), "shelf");
        refused(() -> db.functionLoad(LIBRARY), "already exists");
        same(db.functionLoadReplace(LIBRARY), "shelf");
        same(db.fcall("put", List.of("l"), List.of("a", "b")), 2L);
        same(db.fcallReadonly("count", List.of("l"), List.of()), 2L);
        refused(() -> db.fcallReadonly("put", List.of("l"), List.of("c")), "Can not execute a script with write flag");
        same(db.functionDelete("shelf"), "OK");
        refused(() -> db.fcall("put", List.of("l"), List.of("c")), "Function not found");
    }

    @Case
    static void aLibraryIsListedAndItsDumpRestored(Jedis db) {
        db.functionFlush();
        db.functionLoad(LIBRARY);
        List<LibraryInfo> libraries = db.functionListWithCode("sh*");
        is(libraries.size(), 1);
        same(libraries.get(0).getLibraryName(), "shelf");
        same(libraries.get(0).getLibraryCode(), LIBRARY);
        is(libraries.get(0).getFunctions().size(), 2);
        byte[] dump = db.functionDump();
        refused(() -> db.functionRestore(dump), "already exists");
        same(db.functionRestore(dump, FunctionRestorePolicy.FLUSH), "OK");
        same(db.fcall("put", List.of("l"), List.of("a")), 1L);
        db.functionFlush();
        is(db.functionList().size(), 0);
    }
}
