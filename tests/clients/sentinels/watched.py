"""redis-py with sentinels; see watched_test.py."""

import collections
import json
import os
import time

import redis
from redis.sentinel import Sentinel

sentinels = Sentinel([("127.0.0.1", int(port)) for port in os.environ["SENTINELS"].split(",")], socket_timeout=1)
primary = sentinels.master_for("all", socket_timeout=1)
errors, answered, longest = collections.Counter(), 0, 0.0
began = last = time.monotonic()
while time.monotonic() - began < float(os.environ["SECONDS"]):
    try:
        primary.incr("count")
        answered += 1
        longest, last = max(longest, time.monotonic() - last), time.monotonic()
    except redis.RedisError as error:
        errors["%s: %s" % (type(error).__name__, str(error)[:60])] += 1
    time.sleep(0.005)
print(json.dumps({"answered": answered, "longest": longest, "errors": errors}))
