"""What programs of cases have in common: `cases` runs them, `add N` adds 1 to the key `sum` N times by CAS."""

import os
import sys
import traceback

HOST, PORT = os.environ.get("MEMCACHED_ADDR", "127.0.0.1:11211").split(":")
LARGE = b"0123456789abcdef" * (5 << 16)


def run(cases, add):
    if sys.argv[1] == "add":
        add(int(sys.argv[2]))
        return
    failed = 0
    for case in cases:
        name = case.__name__.replace("_", " ")
        try:
            case()
            print("ok   " + name)
        except Exception:  # pylint: disable=broad-except
            print("FAILED %s: %s" % (name, traceback.format_exc()))
            failed = 1
    sys.exit(failed)
