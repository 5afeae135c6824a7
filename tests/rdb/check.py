#!/usr/bin/env python3
"""Asks a running server whether it holds what a sample must hold.

    check.py PORT FILE.txt             compare what it has loaded
    check.py PORT FILE.txt --flush     for dumps-*.txt: empty it, RESTORE every payload, then compare
    check.py PORT FILE.txt --complete  add the attributes that the file lacks, as this server reads them
"""

import argparse
import sys

import expectation
import resp


def restore(connection, payloads):
    """Empties the server and restores every payload; what is refused is said. Payloads of versions that Valkey does not take are
    taken where that is asked for; a server that cannot be asked knows its own."""
    connection.command("FLUSHALL")
    connection.command("CONFIG", "SET", "rdb-version-check", "relaxed")
    wrong = []
    for head, line in payloads:
        key = expectation.unquote(head.split(" ", 2)[2])
        reply = connection.command("RESTORE", key, 0, bytes.fromhex(line["payload"]))
        if isinstance(reply, resp.Error):
            wrong.append("%s: %s" % (head, reply.decode()))
    return wrong


def complete(path, expected, actual):
    """Adds what only a newer server tells to the lines of the file."""
    for head, line in actual.items():
        for name, value in line.items():
            if name not in ("freq", "idle"):  # these depend on the moment
                expected.setdefault(head, {}).setdefault(name, value)
    with open(path, encoding="ascii") as file:
        kept = [line.rstrip("\n") for line in file if line.startswith(("#", "dump "))]
    with open(path, "w", encoding="ascii") as file:
        file.writelines(line + "\n" for line in kept + expectation.lines_of(expected))


def check(connection, path, flush=False, completing=False):
    """The differences as sentences, the number of keys, and of attributes that the server cannot tell."""
    expected, payloads = expectation.read(path)
    wrong = restore(connection, payloads) if flush else []
    actual = expectation.describe(connection)
    if completing:
        complete(path, expected, actual)
        expected, _ = expectation.read(path)
    found, untold = expectation.differences(expected, actual)
    return wrong + found, sum(head.startswith("key ") for head in expected), untold


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("file")
    parser.add_argument("--flush", action="store_true")
    parser.add_argument("--complete", action="store_true")
    options = parser.parse_args()
    connection = resp.Connection("127.0.0.1:%d" % options.port)
    wrong, keys, untold = check(connection, options.file, options.flush, options.complete)
    for line in wrong:
        print(line)
    print("%s: %d keys, %d differences, %d attributes not told" % (options.file, keys, len(wrong), untold))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
