#!/usr/bin/env bash
# Everything that is tested from outside, over a socket: transcripts, client libraries and tools, and the process itself.
#
# VARVE_SERVER  the server to start (default target/release/varve-server); it may carry arguments
# RELEASE_SERVER  another server, to which the transcripts are played as well
# SERVER_ADDR   host:port of a server that runs already, with enable-debug-command yes: it is used instead, and the tests
#               of the process are left out
# PARTS         which of "transcripts clients queues suites process files tools" are tested (default: all)
# VARVE_TOOLS   the folder of varve-check and varve-import (default: that of VARVE_SERVER)
# THREADS       the values of `threads` for which the transcripts are played (default "1 4"; empty: as the server decides)
# LANES         how many parts run at the same time (default 4). Each has servers, ports and folders of its own
# SUMMARY       a file to which the seconds of all parts are added
# FAILURES      a file to which what failed in each part is added
#
# What a part prints is shown when it has ended; the seconds of all parts stand at the end.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
VARVE_SERVER=${VARVE_SERVER:-$PWD/target/release/varve-server}
[[ ! -e $VARVE_SERVER ]] || VARVE_SERVER=$(readlink -f "$VARVE_SERVER")
export VARVE_SERVER PYTHONDONTWRITEBYTECODE=1
LANES=${LANES:-4}
QUEUES=(bullmq rq celery redisson django) # Sidekiq is left to `make clients`: it needs Ruby, and begins with a pause of ten seconds
failed=0 summary=() folder=$(mktemp -d)
declare -A names=() began=() # of the parts that run, by process

# Each part is a process group, which ends with all its servers.
set -m
stop() {
  local pid
  for pid in "${!names[@]}"; do kill -- "-$pid" 2>/dev/null; done
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 130' INT TERM

# part NAME COMMAND...   begins when a lane is free
part() {
  [[ " ${PARTS:-transcripts clients queues suites process files tools} " == *" ${1%%,*} "* ]] || return 0
  until ((${#names[@]} < LANES)); do end_one; done
  "${@:2}" >"$folder/$1" 2>&1 </dev/null &
  names[$!]=$1 began[$!]=$SECONDS
}

# what_failed FILE   what a part printed of the cases that failed, or its last lines where it names none
what_failed() {
  if grep -q '^FAILED ' "$1"; then awk '/^(passed|FAILED|process:) / { shown = /^FAILED/ } shown' "$1" | tail -n 30; else tail -n 8 "$1"; fi
}

# Waits for the first part that ends.
end_one() {
  local pid status=0 outcome=ok name
  wait -n -p pid "${!names[@]}" || status=$?
  name=${names[$pid]}
  echo "-- $name"
  cat "$folder/$name"
  if [[ $status != 0 ]]; then
    echo "blackbox: $name failed with status $status"
    outcome=FAILED failed=1
    [[ -z ${FAILURES:-} ]] || { echo "-- $name, status $status"; what_failed "$folder/$name"; } >>"$FAILURES"
  fi
  summary+=("$(printf '%-24s %-8s %4d s' "$name" "$outcome" $((SECONDS - began[$pid])))")
  unset "names[$pid]" "began[$pid]"
}

# process NAME [OPTION...]   a script of tests/process
process() { part "process, ${1//_/ }" python3 "tests/process/$1.py" "${@:2}"; }

# The queues, and one of them as a user with the rules that the page about users gives it: it flushes the server besides.
queues() {
  tests/with_server.py tests/clients/run "${QUEUES[@]}" || return
  tests/clients/as_user bullmq
}

# The client libraries, and again over TLS with certificates of their own.
clients() {
  local status=0
  tests/with_server.py tests/clients/run || status=1
  CASES="connection strings blocking pipelines scripts pubsub" tests/with_server.py --tls --threads 2 \
    tests/clients/run python go node java || status=1
  CASES=lettuce tests/with_server.py --tls tests/clients/run java || status=1
  return "$status"
}

# Transcripts over TLS, but for those of what is said to a client that is not let in, and of INFO without certificates.
transcripts_over_tls() {
  local files
  mapfile -t files < <(ls tests/transcripts/*.txt | grep -v -e server-counts -e server-info)
  tests/with_server.py --tls --threads 4 --moving python3 tests/transcripts/run.py "${files[@]}"
}

# transcripts WORD SERVER   transcripts, played to a server with each number of threads
transcripts() {
  local threads moving
  for threads in ${THREADS-1 4}; do
    moving=--moving
    [[ $threads != 1 ]] || moving=
    part "transcripts, $1$threads threads" env VARVE_SERVER="$2" \
      tests/with_server.py --threads "$threads" $moving python3 tests/transcripts/run.py
  done
  [[ -n ${THREADS-1} ]] || part "transcripts${1:+, release}" env VARVE_SERVER="$2" tests/with_server.py python3 tests/transcripts/run.py
}

if [[ -n ${SERVER_ADDR:-} ]]; then
  LANES=1
  part transcripts python3 tests/transcripts/run.py
  part clients tests/clients/run
  part queues tests/clients/run "${QUEUES[@]}"
else
  # The longest come first, so that the lanes end together.
  part suites tests/clients/suites/run --small
  part clients clients
  part queues queues
  process memcached
  process appending
  process replicas
  process full_disk
  process listening
  for kind in die fail full; do part "process, crashes ($kind)" python3 tests/process/crashes.py --kinds $kind --every 7; done
  transcripts "" "$VARVE_SERVER"
  [[ -z ${RELEASE_SERVER:-} ]] || transcripts "release, " "$RELEASE_SERVER"
  part "transcripts, tls" transcripts_over_tls
  process tls
  process run
  process kills --seconds 40
  process journaled --lives 2 --rounds 25 --transcripts 4
  process order
  process users
  process following
  process replica_settings
  process slow_replicas
  process links
  process replicated
  process failover
  SEEDS=8 process failover_faults
  process sentinel a_primary_that_dies_is_replaced_and_comes_back_as_a_replica a_sentinel_is_a_user_with_few_rights
  process one_core
  process busy
  process functions
  process started
  process bounds
  process loading
  process append_only
  process foreign_files
  process saving
  process migrate
  process moving
  process memcached_tools
  process attributes
  process expiring
  process messages
  process large_values
  process sharing
  process signals
  part tools python3 tests/tools/run.py
  process full_disks --every 7
  process leftovers
  process short_lives
  process address_space
  process clock
  process slow_sink
  part files python3 tests/rdb/run.py --server "$VARVE_SERVER --enable-debug-command yes"
fi
while ((${#names[@]})); do end_one; done
((${#summary[@]})) || { echo "blackbox: no part is named '$PARTS'"; failed=1; }
echo '-- seconds'
printf '%s\n' "${summary[@]}"
[[ -z ${SUMMARY:-} ]] || printf '  %s\n' "${summary[@]}" >>"$SUMMARY"
if [[ $failed == 0 ]]; then echo "blackbox: passed"; else echo "blackbox: FAILED"; fi
exit "$failed"
