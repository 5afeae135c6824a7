package varve;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.masterreplica.MasterReplica;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Lettuce with sentinels; see watched_test.py. */
public final class Watched {
  public static void main(String[] arguments) throws InterruptedException {
    RedisURI.Builder address = null;
    for (String port : System.getenv("SENTINELS").split(",")) {
      int number = Integer.parseInt(port);
      address = address == null ? RedisURI.Builder.sentinel("127.0.0.1", number, "all") : address.withSentinel("127.0.0.1", number);
    }
    RedisClient client = RedisClient.create();
    var primary = MasterReplica.connect(client, StringCodec.UTF8, address.withTimeout(Duration.ofSeconds(1)).build());
    Map<String, Integer> errors = new TreeMap<>();
    int answered = 0;
    double longest = 0;
    long began = System.nanoTime();
    long last = began;
    while (System.nanoTime() - began < Double.parseDouble(System.getenv("SECONDS")) * 1e9) {
      try {
        primary.sync().incr("count");
        answered++;
        longest = Math.max(longest, (System.nanoTime() - last) / 1e9);
        last = System.nanoTime();
      } catch (RedisException error) {
        String text = error.getClass().getSimpleName() + ": " + error.getMessage();
        errors.merge(text.substring(0, Math.min(60, text.length())).replace('"', ' ').replace('\\', ' '), 1, Integer::sum);
      }
      Thread.sleep(5);
    }
    String told = errors.entrySet().stream().map(it -> "\"" + it.getKey() + "\": " + it.getValue()).collect(Collectors.joining(", "));
    System.out.println("{\"answered\": " + answered + ", \"longest\": " + longest + ", \"errors\": {" + told + "}}");
    System.exit(0);
  }
}
