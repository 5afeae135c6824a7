#!/usr/bin/env bash
# Everything that is tested from outside, over a socket: transcripts, client libraries and tools, and the process itself.
#
# VARVE_SERVER  the server to start (default target/release/varve-server); it may carry arguments
# SERVER_ADDR   host:port of a server that runs already, with enable-debug-command yes: it is used instead, and the tests
#               of the process are left out
# PARTS         which of "transcripts clients suites process files tools" are tested (default: all)
# VARVE_TOOLS   the folder of varve-check and varve-import (default: that of VARVE_SERVER)
# THREADS       the values of `threads` for which the transcripts are played (default "1 4"; empty: as the server decides)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
VARVE_SERVER=${VARVE_SERVER:-$PWD/target/release/varve-server}
[[ ! -e $VARVE_SERVER ]] || VARVE_SERVER=$(readlink -f "$VARVE_SERVER")
export VARVE_SERVER PYTHONDONTWRITEBYTECODE=1
failed=0 pid= folder=

stop() {
  if [[ -n $pid ]]; then
    kill "$pid" 2>/dev/null
    wait "$pid" || { echo "blackbox: the server ended with status $?"; tail -n 20 "$folder/server.log"; failed=1; }
  fi
  if [[ -n $folder ]]; then rm -rf "$folder"; fi
  pid= folder=
}
trap stop EXIT

# start [SETTING...]: a fresh server on a free port; sets SERVER_ADDR
start() {
  local port
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
  folder=$(mktemp -d)
  # shellcheck disable=SC2086
  $VARVE_SERVER --port "$port" --dir "$folder" --save '' --enable-debug-command yes "$@" >"$folder/server.log" 2>&1 &
  pid=$!
  export SERVER_ADDR=127.0.0.1:$port
  for _ in $(seq 500); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then return 0; fi
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.02
  done
  echo "blackbox: the server did not start:" && cat "$folder/server.log"
  exit 1
}

# Has the server move connections between its threads at random, as no load would.
move_connections() {
  (cd tests/transcripts && python3 -c 'import os, resp
connection = resp.Connection(os.environ["SERVER_ADDR"], 15)
assert connection.command("DEBUG", "MOVE-CONNECTIONS", "1") == b"OK"')
}

# check NAME COMMAND...
check() {
  [[ " ${PARTS:-transcripts clients suites process files tools} " == *" ${1%%,*} "* ]] || return 0
  echo "-- $1"
  "${@:2}" || { echo "blackbox: $1 failed" && failed=1; }
}

if [[ -n ${SERVER_ADDR:-} ]]; then
  check transcripts python3 tests/transcripts/run.py
  check clients tests/clients/run
else
  for threads in ${THREADS-1 4}; do
    start --threads "$threads"
    [[ $threads == 1 ]] || move_connections || failed=1
    check "transcripts, $threads threads" python3 tests/transcripts/run.py
    stop
  done
  start
  if [[ -z ${THREADS-1} ]]; then check transcripts python3 tests/transcripts/run.py; fi
  check clients tests/clients/run
  stop
  check suites env -u SERVER_ADDR tests/clients/suites/run --small
  check process python3 tests/process/run.py
  check "process, order" python3 tests/process/order.py
  check "process, one core" python3 tests/process/one_core.py
  check "process, started" python3 tests/process/started.py
  check "process, bounds" python3 tests/process/bounds.py
  check "process, loading" python3 tests/process/loading.py
  check "process, append-only" python3 tests/process/append_only.py
  check "process, foreign files" python3 tests/process/foreign_files.py
  check "process, saving" python3 tests/process/saving.py
  check "process, migrate" python3 tests/process/migrate.py
  check "process, expiring" python3 tests/process/expiring.py
  check "process, messages" python3 tests/process/messages.py
  check "process, sharing" python3 tests/process/sharing.py
  check "process, signals" python3 tests/process/signals.py
  check "process, listening" python3 tests/process/listening.py
  check tools python3 tests/tools/run.py
  check "process, appending" python3 tests/process/appending.py
  check "process, full disk" python3 tests/process/full_disk.py
  check "process, full disks" python3 tests/process/full_disks.py --every 7
  check "process, leftovers" python3 tests/process/leftovers.py
  check "process, short lives" python3 tests/process/short_lives.py
  check "process, address space" python3 tests/process/address_space.py
  check "process, clock" python3 tests/process/clock.py
  check "process, slow sink" python3 tests/process/slow_sink.py
  check "process, crashes" python3 tests/process/crashes.py --every 7
  check "process, kills" python3 tests/process/kills.py --seconds 40
  check "process, journaled" python3 tests/process/journaled.py --lives 2 --rounds 25 --transcripts 4
  # Those two have scripts, which cannot run.
  check files python3 tests/rdb/run.py --server "$VARVE_SERVER --enable-debug-command yes" --skip '^aof/redis-[23].*-script'
fi
if [[ $failed == 0 ]]; then echo "blackbox: passed"; else echo "blackbox: FAILED"; fi
exit "$failed"
