"""Pipelines of commands on several types."""

import redis


def answers_a_pipeline_of_mixed_types_in_order(db):
    pipe = db.pipeline(transaction=False)
    for number in range(500):
        pipe.set("string:%d" % number, number)
        pipe.rpush("list", number)
        pipe.hset("hash", "f:%d" % number, number)
        pipe.sadd("set", number)
        pipe.zadd("zset", {"m:%d" % number: number})
        pipe.xadd("stream", {"n": number}, id="%d-1" % number)
        pipe.lindex("list", -1)
        pipe.hget("hash", "f:%d" % number)
        pipe.zscore("zset", "m:%d" % number)
    replies = pipe.execute()
    for number in range(500):
        text = "%d" % number
        expected = [True, number + 1, 1, 1, 1, text + "-1", text, text, float(number)]
        assert replies[9 * number : 9 * number + 9] == expected
    lengths = [db.llen("list"), db.hlen("hash"), db.scard("set"), db.zcard("zset"), db.xlen("stream")]
    assert lengths == [500] * 5


def an_error_inside_a_pipeline_leaves_the_other_replies(db):
    pipe = db.pipeline(transaction=False)
    pipe.rpush("l", "a").sadd("l", "m").hget("l", "f").lrange("l", 0, -1)
    pushed, added, got, elements = pipe.execute(raise_on_error=False)
    assert pushed == 1 and elements == ["a"]
    for error in (added, got):
        assert isinstance(error, redis.ResponseError) and "WRONGTYPE" in str(error)


def gives_large_replies_of_several_types_in_one_pipeline(db):
    elements = ["%d" % number for number in range(10000)]
    db.rpush("l", *elements)
    db.sadd("s", *elements)
    db.zadd("z", {element: int(element) for element in elements})
    pipe = db.pipeline(transaction=False)
    pipe.lrange("l", 0, -1).smembers("s").zrange("z", 0, -1).llen("l")
    assert pipe.execute() == [elements, set(elements), elements, 10000]
