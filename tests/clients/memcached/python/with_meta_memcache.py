"""Cases with meta-memcache: the meta protocol, with its leases and stale items."""

from meta_memcache import CacheClient, Key, ServerAddress, connection_pool_factory_builder
from meta_memcache.configuration import LeasePolicy, RecachePolicy, StalePolicy

from cases import HOST, LARGE, PORT, run


def client():
    pools = connection_pool_factory_builder(recv_timeout=30)
    return CacheClient.cache_client_from_servers([ServerAddress(HOST, int(PORT))], pools)


CLIENT, OTHER = client(), client()
NO_WAIT = LeasePolicy(ttl=30, miss_retries=1, miss_retry_wait=0)


def flags():
    for key, value in (("text", "é"), ("bytes", b"\0\r\n\xff"), ("number", 7), ("list", [1, {"a": None}])):
        assert CLIENT.set(Key(key), value, ttl=100) and CLIENT.get(key) == value


def compression():
    text = "packed " * 10000
    assert CLIENT.set("packed", text, ttl=0) and CLIENT.get("packed") == text


def many_keys():
    values = {Key("many:%d" % number): number for number in range(0, 1000, 2)}
    for key, value in values.items():
        CLIENT.set(key, value, ttl=100)
    found = CLIENT.multi_get([Key("many:%d" % number) for number in range(1000)])
    assert {key: value for key, value in found.items() if value is not None} == values


def keys_of_any_bytes():
    assert CLIENT.set(Key("🍺 and a blank"), "beer", ttl=100) and CLIENT.get(Key("🍺 and a blank")) == "beer"
    assert CLIENT.get(Key("🍺 and another")) is None


def values_of_5_mb():
    assert CLIENT.set("large", LARGE, ttl=0) and CLIENT.get("large") == LARGE


def conditions():
    CLIENT.delete("condition")
    cas = CLIENT.set_cas("condition", 1, ttl=100)
    assert CLIENT.get_cas("condition") == (1, cas)
    assert CLIENT.delta_and_get("condition", 41) == 42
    assert not CLIENT.set("condition", 5, ttl=100, cas_token=cas)
    assert CLIENT.delta_initialize_and_get("counter", 1, initial_value=10, initial_ttl=100) in (10, 11)
    assert CLIENT.touch("condition", ttl=10) and CLIENT.get("condition", touch_ttl=100) == 42


def a_lease_goes_to_one_client():
    CLIENT.delete("leased")
    assert CLIENT.get_or_lease_cas("leased", NO_WAIT)[0] is None
    assert OTHER.get_or_lease("leased", NO_WAIT) is None
    cas = CLIENT.get_or_lease_cas("leased", NO_WAIT)[1]
    assert CLIENT.set("leased", "new", ttl=100, cas_token=cas)
    assert OTHER.get_or_lease("leased", NO_WAIT) == "new"


def a_stale_item_is_for_all_but_one():
    policy = StalePolicy(mark_stale_on_deletion_ttl=30, mark_stale_on_cas_mismatch=True)
    CLIENT.set("stale", "old", ttl=100)
    assert CLIENT.invalidate("stale", stale_policy=policy)
    winner, cas = CLIENT.get_cas("stale")
    assert winner is None and OTHER.get("stale") == "old"
    CLIENT.invalidate("stale", stale_policy=policy)  # behind the winner's back: what it writes is stale too
    assert CLIENT.set("stale", "late", ttl=100, cas_token=cas, stale_policy=policy)
    assert OTHER.get("stale") is None and CLIENT.get("stale") == "late"
    assert OTHER.set("stale", "new", ttl=100, cas_token=OTHER.get_cas("stale")[1]) and CLIENT.get("stale") == "new"


def an_item_that_ends_soon_is_written_anew_by_one():
    policy = RecachePolicy(ttl=50)
    CLIENT.set("ending", "v", ttl=30)
    assert CLIENT.get("ending", recache_policy=policy) is None
    assert OTHER.get("ending", recache_policy=policy) == "v"


def a_key_of_resp():
    assert CLIENT.get("from-resp") == "written elsewhere"


def add(count):
    while count:
        value, cas = CLIENT.get_cas("sum")
        count -= CLIENT.set("sum", str(int(value) + 1), ttl=0, cas_token=cas)


run(
    [
        flags,
        compression,
        many_keys,
        keys_of_any_bytes,
        values_of_5_mb,
        conditions,
        a_lease_goes_to_one_client,
        a_stale_item_is_for_all_but_one,
        an_item_that_ends_soon_is_written_anew_by_one,
        a_key_of_resp,
    ],
    add,
)
