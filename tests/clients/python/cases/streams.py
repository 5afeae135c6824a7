"""Streams and consumer groups."""

from .support import MANY, raises


def appends_and_reads_entries(db):
    assert db.xadd("s", {"a": 1, "b": 2}, id="5-1") == "5-1" and db.xadd("s", {"c": 3}, id="5-*") == "5-2"
    latest = db.xadd("s", {"d": 4})
    assert db.xlen("s") == 3 and int(latest.split("-")[0]) > 5
    assert _plain(db.xrange("s", "-", "(" + latest)) == [("5-1", {"a": "1", "b": "2"}), ("5-2", {"c": "3"})]
    assert _plain(db.xrevrange("s", count=1)) == [(latest, {"d": "4"})]
    raises("equal or smaller than the target stream top item", db.xadd, "s", {"e": 5}, id="5-2")


def deletes_and_trims_entries(db):
    _append(db, 10)
    assert db.xdel("s", "3-0", "99-0") == 1 and db.xlen("s") == 9
    assert db.xtrim("s", maxlen=5, approximate=False) == 4 and db.xtrim("s", minid="8", approximate=False) == 2
    assert _ids(db.xrange("s")) == ["8-0", "9-0", "10-0"]
    assert db.xadd("s", {"n": 11}, id="11-0", maxlen=2, approximate=False) and db.xlen("s") == 2
    assert db.xadd("missing", {"n": 1}, nomkstream=True) is None and not db.exists("missing")


def reads_several_streams_from_an_id(db):
    db.xadd("s", {"n": 1}, id="1-0")
    db.xadd("s", {"n": 2}, id="2-0")
    db.xadd("t", {"n": 3}, id="3-0")
    assert _received(db.xread({"s": "1-0", "t": "0"})) == {"s": ["2-0"], "t": ["3-0"]}
    assert not db.xread({"s": "2-0", "t": "$"})


def a_group_shares_entries_among_its_consumers(db):
    _append(db, 3)
    assert db.xgroup_create("s", "g", id="0")
    raises("Consumer Group name already exists", db.xgroup_create, "s", "g")
    assert _received(db.xreadgroup("g", "ann", {"s": ">"}, count=2)) == {"s": ["1-0", "2-0"]}
    assert _received(db.xreadgroup("g", "bob", {"s": ">"}, count=2)) == {"s": ["3-0"]}
    assert not db.xreadgroup("g", "bob", {"s": ">"})
    raises("NOGROUP", db.xreadgroup, "absent", "ann", {"s": ">"})


def entries_are_pending_until_acknowledged(db):
    _append(db, 3)
    db.xgroup_create("s", "g", id="0")
    db.xreadgroup("g", "ann", {"s": ">"})
    pending = db.xpending("s", "g")
    assert (pending["pending"], pending["min"], pending["max"]) == (3, "1-0", "3-0")
    assert pending["consumers"] == [{"name": "ann", "pending": 3}]
    assert db.xack("s", "g", "1-0", "99-0") == 1
    assert _received(db.xreadgroup("g", "ann", {"s": "0"})) == {"s": ["2-0", "3-0"]}
    first = db.xpending_range("s", "g", "-", "+", 1)[0]
    assert (first["message_id"], first["consumer"], first["times_delivered"]) == ("2-0", "ann", 2)


def claims_pending_entries_for_another_consumer(db):
    _append(db, 3)
    db.xgroup_create("s", "g", id="0")
    db.xreadgroup("g", "ann", {"s": ">"})
    assert _ids(db.xclaim("s", "g", "bob", 0, ["1-0"])) == ["1-0"]
    assert db.xclaim("s", "g", "bob", 3600000, ["2-0"]) == []
    assert db.xclaim("s", "g", "bob", 0, ["2-0"], justid=True) == ["2-0"]
    following, claimed, deleted = db.xautoclaim("s", "g", "cid", 0, count=2)
    assert (following, _ids(claimed), deleted) == ("3-0", ["1-0", "2-0"], [])
    assert {one["name"]: one["pending"] for one in db.xinfo_consumers("s", "g")} == {"ann": 1, "bob": 0, "cid": 2}


def manages_groups_and_consumers(db):
    assert db.xgroup_create("s", "g", id="$", mkstream=True) and db.xlen("s") == 0
    _append(db, 2)
    assert db.xgroup_createconsumer("s", "g", "ann") == 1 and db.xgroup_createconsumer("s", "g", "ann") == 0
    assert _received(db.xreadgroup("g", "ann", {"s": ">"})) == {"s": ["1-0", "2-0"]}
    assert db.xgroup_delconsumer("s", "g", "ann") == 2
    assert db.xgroup_setid("s", "g", "1-0")
    assert _received(db.xreadgroup("g", "ann", {"s": ">"})) == {"s": ["2-0"]}
    assert db.xgroup_destroy("s", "g") == 1 and db.xinfo_groups("s") == []


def describes_a_stream_and_its_groups(db):
    _append(db, 3)
    db.xgroup_create("s", "g", id="0")
    db.xreadgroup("g", "ann", {"s": ">"}, count=2)
    stream = db.xinfo_stream("s")
    assert (stream["length"], stream["groups"], stream["last-generated-id"]) == (3, 1, "3-0")
    assert stream["first-entry"][0] == "1-0" and stream["last-entry"][0] == "3-0"
    group = db.xinfo_groups("s")[0]
    assert (group["name"], group["pending"], group["last-delivered-id"]) == ("g", 2, "2-0")
    assert (group["consumers"], group["entries-read"], group["lag"]) == (1, 2, 1)


def refuses_a_key_of_another_type(db):
    db.set("word", "abc")
    raises("WRONGTYPE", db.xadd, "word", {"f": "v"})
    raises("WRONGTYPE", db.xread, {"word": "0"})
    raises("WRONGTYPE", db.xlen, "word")


def holds_10000_entries_and_gives_them_in_pages(db):
    _append(db, MANY)
    read, after = [], "0"
    while page := db.xread({"s": after}, count=999):
        read += _received(page)["s"]
        after = read[-1]
    assert read == ["%d-0" % number for number in range(1, MANY + 1)] and db.xlen("s") == MANY
    assert _plain(db.xrange("s", "5000", "5000")) == [("5000-0", {"n": "5000"})]


def a_group_delivers_10000_entries_once(db):
    _append(db, MANY)
    db.xgroup_create("s", "g", id="0")
    read = []
    while page := db.xreadgroup("g", "ann", {"s": ">"}, count=999):
        read += _received(page)["s"]
    assert read == ["%d-0" % number for number in range(1, MANY + 1)]
    assert db.xpending("s", "g")["pending"] == MANY and db.xack("s", "g", *read) == MANY


def _append(db, count):
    """Entries 1-0 to count-0, each with its number."""
    pipe = db.pipeline(transaction=False)
    for number in range(1, count + 1):
        pipe.xadd("s", {"n": number}, id="%d-0" % number)
    pipe.execute()


def _plain(entries):
    return [(entry[0], entry[1]) for entry in entries]


def _ids(entries):
    return [entry[0] for entry in entries]


def _received(reply):
    """The identifiers of the entries that each stream gave."""
    return {stream: _ids(entries) for stream, entries in reply.items()}
