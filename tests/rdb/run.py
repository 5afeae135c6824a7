#!/usr/bin/env python3
"""Starts a server on each sample in turn and asks it whether it holds what the sample must hold.

    run.py --server COMMAND [--scratch DIR] [--inside ROOT] [--skip REGEX] [--reload] [--keep DIR] [--from DIR] [NAME ...]

Every `tests/rdb/*.rdb` is loaded at the start of a server, every folder of `tests/aof` as its append-only files, and every
payload of `tests/rdb/dumps-*.txt` with RESTORE. Without NAME, all of them; NAME is a part of a sample's name.

With --reload the server then writes its data to a file of its own and loads that, and is asked again; --keep collects these files,
and --from takes such files in place of the samples, for another server.
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


def lay_out(path, folder, source):
    """Puts the files of a sample into a folder and says with which settings a server finds them."""
    base = path[:-4]
    if source:
        shutil.copyfile(os.path.join(source, os.path.basename(base) + ".rdb"), os.path.join(folder, "dump.rdb"))
        return POLICIES.get(base.rsplit("-", 1)[-1], [])
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
        settings = lay_out(path, folder, getattr(options, "from"))
        give_away(folder)
        with Server(options.server, folder, options.inside, settings) as server:
            if unknown:
                return ["loaded, though it holds %s" % unknown], 0, 0
            dumps = os.path.basename(path).startswith("dumps-")
            found = check.check(server.connection, path, dumps and not getattr(options, "from"), options.complete)
            if options.reload and not found[0]:
                found = after_reload(options, server.connection, path, folder, found)
            return found
    except RuntimeError as error:
        with open(os.path.join(folder, "server.log"), errors="replace") as log:
            named = unknown and unknown in log.read()
        return [] if named else [str(error)], 0, 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def after_reload(options, connection, path, folder, found):
    """As `play`, after the server has written its data and loaded it again."""
    reply = connection.command(b"DEBUG", b"RELOAD")
    if reply != b"OK":
        return ["DEBUG RELOAD: %r" % reply], *found[1:]
    if options.keep:
        name = os.path.basename(path)[:-4] + ".rdb"
        shutil.copyfile(os.path.join(folder, "dump.rdb"), os.path.join(options.keep, name))
    # Asking was a use of the keys.
    wrong = [line for line in check.check(connection, path, False, False)[0] if not re.search(": (idle|freq) is ", line)]
    return ["reloaded: " + line for line in wrong], *found[1:]


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
    parser.add_argument("--reload", action="store_true", help="also after the server has written the data itself")
    parser.add_argument("--keep", help="a folder for the files that it writes")
    parser.add_argument("--from", help="a folder of such files, to load in place of the samples")
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
