#!/usr/bin/env bash
# xmemcached 2.4.8 and spymemcached 2.12.3 lose their connection when they read an item with flags of 2^31 or more.
#
# Software   xmemcached 2.4.8 and spymemcached 2.12.3 (Maven), text protocol; a few lines of Java answer as a server that has such items
# Guess      Flags are 32 bits without a sign, as the protocol says, so each item is read; or the read of this one item fails.
# Seen       Both read flags by Integer.parseInt. Below 2^31 the item comes. With 2^31 the read fails, and the connection is closed with it, for all
#            threads that share it: xmemcached has none until it has connected again, so the next reads, of other items, fail too ("no available
#            connection at this moment"); spymemcached cancels what it was asked and goes on after two seconds. One item that a client in another
#            language has written, with the upper bit of its flags set, so costs every Java client that asks for it its connection.
# Output     xmemcached: flags 2147418112 read, 2147483648 failed, then 0 failed; spymemcached: flags 2147418112 read, 2147483648 failed; connections: 2 and 2
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, a JDK from 11 on, and Maven.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat > "$scratch/pom.xml" <<'POM'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>findings</groupId><artifactId>flags</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>com.googlecode.xmemcached</groupId><artifactId>xmemcached</artifactId><version>2.4.8</version></dependency>
    <dependency><groupId>net.spy</groupId><artifactId>spymemcached</artifactId><version>2.12.3</version></dependency>
  </dependencies>
</project>
POM
mvn -q -f "$scratch/pom.xml" dependency:copy-dependencies -DoutputDirectory="$scratch/jars" >"$scratch/maven.log" 2>&1 || { cat "$scratch/maven.log"; exit 2; }

cat > "$scratch/Flags.java" <<'JAVA'
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import net.rubyeye.xmemcached.XMemcachedClient;

public class Flags {
    /** Answers get and gets with an item of one byte, whose flags are the digits of its key. */
    static void serve(Socket client) {
        try (client) {
            BufferedReader in = new BufferedReader(new InputStreamReader(client.getInputStream()));
            for (String line; (line = in.readLine()) != null; ) {
                String[] words = line.trim().split(" ");
                String answer = "VERSION 1.6.45\r\n";
                if (words[0].equals("get") || words[0].equals("gets")) {
                    String cas = words[0].equals("gets") ? " 1" : "";
                    answer = "VALUE " + words[1] + " " + words[1].substring(1) + " 1" + cas + "\r\nx\r\nEND\r\n";
                }
                client.getOutputStream().write(answer.getBytes());
            }
        } catch (Exception gone) {
            // The client has closed the connection.
        }
    }

    static String tried(long flags, Callable<Object> read) {
        try {
            return flags + (read.call() == null ? " missed" : " read");
        } catch (Exception error) {
            return flags + " failed";
        }
    }

    public static void main(String[] arguments) throws Exception {
        AtomicInteger connections = new AtomicInteger();
        ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread accepting = new Thread(() -> {
            try {
                while (true) {
                    Socket client = server.accept();
                    connections.incrementAndGet();
                    new Thread(() -> serve(client)).start();
                }
            } catch (Exception closed) {
                // It is over.
            }
        });
        accepting.setDaemon(true);
        accepting.start();
        // The lower half stays 0: transcoders read types from it.
        long last = 0x7fff0000L, beyond = 0x80000000L;

        XMemcachedClient first = new XMemcachedClient("127.0.0.1", server.getLocalPort());
        first.setHealSessionInterval(2000);
        String ofFirst = tried(last, () -> first.get("k" + last, 3000)) + ", " + tried(beyond, () -> first.get("k" + beyond, 3000))
            + ", then " + tried(0, () -> first.get("k0", 3000));
        while (tried(0, () -> first.get("k0", 3000)).endsWith("failed")) {
            Thread.sleep(50);
        }
        int made = connections.getAndSet(0);
        first.shutdown();

        var second = new net.spy.memcached.MemcachedClient(new InetSocketAddress("127.0.0.1", server.getLocalPort()));
        String ofSecond = tried(last, () -> second.asyncGets("k" + last).get(10, TimeUnit.SECONDS))
            + ", " + tried(beyond, () -> second.asyncGets("k" + beyond).get(10, TimeUnit.SECONDS));
        while (!tried(0, () -> second.asyncGets("k0").get(10, TimeUnit.SECONDS)).endsWith("read")) {
            Thread.sleep(50);
        }
        System.out.println("xmemcached: flags " + ofFirst + "; spymemcached: flags " + ofSecond + "; connections: " + made + " and " + connections.get());
        System.exit(0);
    }
}
JAVA
said=$(timeout 120 java -cp "$scratch/jars/*" "$scratch/Flags.java" 2>"$scratch/errors.log" | grep '^xmemcached') || { cat "$scratch/errors.log"; exit 1; }
echo "$said"
[[ $said == 'xmemcached: flags 2147418112 read, 2147483648 failed, then 0 failed; spymemcached: flags 2147418112 read, 2147483648 failed; connections: 2 and 2' ]]
