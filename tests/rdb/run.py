#!/usr/bin/env python3
"""Starts a server on each sample in turn and asks it whether it holds what the sample must hold.

    run.py --server COMMAND [--scratch DIR] [--inside ROOT] [--skip REGEX] [NAME ...]

Every `tests/rdb/*.rdb` is loaded at the start of a server, every folder of `tests/aof` as its append-only files, and every
payload of `tests/rdb/dumps-*.txt` with RESTORE. Without NAME, all of them; NAME is a part of a sample's name.
"""

import argparse
import glob
import os
import re
import shutil
import sys
import tempfile

import check
import expectation
from server import Server

AOF = os.path.normpath(os.path.join(expectation.HERE, "..", "aof"))
POLICIES = {"lfu": ["--maxmemory", "1gb", "--maxmemory-policy", "allkeys-lfu", "--lfu-decay-time", "0"],
            "lru": ["--maxmemory", "1gb", "--maxmemory-policy", "allkeys-lru"]}


def samples():
    """Expectations by name, in the order of their names."""
    found = glob.glob(os.path.join(expectation.HERE, "*.txt")) + glob.glob(os.path.join(AOF, "*.txt"))
    return {os.path.relpath(path, os.path.dirname(AOF))[:-4]: path for path in sorted(found)}


def lay_out(path, folder):
    """Puts the files of a sample into a folder and says with which settings a server finds them."""
    base = path[:-4]
    if os.path.isdir(base):
        for name in os.listdir(base):
            source, target = os.path.join(base, name), os.path.join(folder, name)
            (shutil.copytree if os.path.isdir(source) else shutil.copyfile)(source, target)
        return ["--appendonly", "yes"]
    if os.path.exists(base + ".rdb"):
        shutil.copyfile(base + ".rdb", os.path.join(folder, "dump.rdb"))
        return POLICIES.get(base.rsplit("-", 1)[-1], [])
    return []


def play(options, path):
    """The differences, the keys and what was not told for one sample."""
    folder = tempfile.mkdtemp(dir=options.scratch)
    unknown = expectation.read(path)[0].get("refused", {}).get("type")
    try:
        settings = lay_out(path, folder)
        give_away(folder)
        with Server(options.server, folder, options.inside, settings) as server:
            if unknown:
                return ["loaded, though it holds %s" % unknown], 0, 0
            dumps = os.path.basename(path).startswith("dumps-")
            return check.check(server.connection, path, dumps, options.complete)
    except RuntimeError as error:
        with open(os.path.join(folder, "server.log"), errors="replace") as log:
            named = unknown and unknown in log.read()
        return [] if named else [str(error)], 0, 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def give_away(folder):
    """Lets a server that runs as somebody else write there."""
    for place, _, names in os.walk(folder):
        os.chmod(place, 0o777)
        for name in names:
            os.chmod(os.path.join(place, name), 0o666)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--scratch", help="a folder for the files of the server")
    parser.add_argument("--inside", default="", help="the root folder that the server sees, if not the machine's")
    parser.add_argument("--skip", default="(?!)", help="names to leave out")
    parser.add_argument("--complete", action="store_true", help="add the attributes that the files lack")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    passed = failed = skipped = 0
    for name, path in samples().items():
        if options.names and not any(part in name for part in options.names):
            continue
        if re.search(options.skip, name):
            skipped += 1
            continue
        wrong, keys, untold = play(options, path)
        passed, failed = passed + (not wrong), failed + bool(wrong)
        print("%-6s %s: %d keys, %d attributes not told" % ("FAILED" if wrong else "ok", name, keys, untold))
        for line in wrong:
            print("       " + line[:400])
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
