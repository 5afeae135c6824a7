"""redis-py against the server at SERVER_ADDR: every case over RESP2 and RESP3, one line each, status 1 when one fails.

client_test.py [GROUP ...]      only the cases of these groups, such as "lists sorted_sets"
"""

import sys
import traceback

from cases import (
    blocking,
    caching,
    connection,
    geo,
    hashes,
    hyperloglog,
    keys,
    lists,
    pipelines,
    pubsub,
    scripts,
    sets,
    sort,
    sorted_sets,
    streams,
    strings,
    transactions,
    users,
)
from cases.support import client

GROUPS = (
    connection,
    keys,
    strings,
    lists,
    hashes,
    sets,
    sorted_sets,
    streams,
    geo,
    hyperloglog,
    sort,
    blocking,
    pipelines,
    transactions,
    scripts,
    pubsub,
    caching,
    users,
)


def cases_of(group):
    """The public functions that a module defines, in the order of their definition."""
    return [
        case
        for name, case in vars(group).items()
        if getattr(case, "__module__", None) == group.__name__ and not name.startswith("_")
    ]


def passes(title, case, protocol):
    """Whether a case passes on an empty server."""
    with client(protocol) as db:
        db.flushall()
        try:
            case(db)
        except Exception:
            print("FAIL %s\n%s" % (title, traceback.format_exc()))
            return False
    print("ok   " + title)
    return True


def main(chosen):
    groups = {group.__name__.removeprefix("cases."): group for group in GROUPS}
    failed = 0
    for name in chosen or groups:
        for case in cases_of(groups[name]):
            for protocol in (2, 3):
                title = "%s: %s (RESP%d)" % (name, case.__name__.replace("_", " "), protocol)
                failed += not passes(title, case, protocol)
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
