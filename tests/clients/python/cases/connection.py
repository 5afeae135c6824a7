"""Connections, errors and pipelines of simple commands."""

from .support import protocol_of, raises


def speaks_the_chosen_protocol(db):
    assert db.ping()
    reply = db.execute_command("HELLO")
    assert (reply["proto"] if protocol_of(db) == 3 else reply[5]) == protocol_of(db)


def answers_a_pipeline_of_1000_commands_in_order(db):
    pipe = db.pipeline(transaction=False)
    for number in range(500):
        pipe.set("p:%d" % number, number)
        pipe.get("p:%d" % number)
    replies = pipe.execute()
    assert replies[0::2] == [True] * 500
    assert replies[1::2] == ["%d" % number for number in range(500)]


def raises_errors_and_stays_usable(db):
    db.set("word", "abc")
    for arguments, part in [
        (("NOSUCHCOMMAND", "x"), "unknown command"),
        (("GET",), "wrong number of arguments"),
        (("INCR", "word"), "not an integer"),
        (("SET", "k", "v", "EX", "0"), "invalid expire time"),
    ]:
        raises(part, db.execute_command, *arguments)
    assert db.ping()
