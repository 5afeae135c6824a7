"""Places on the globe."""

from .support import MANY, raises

PALERMO = (13.361389, 38.115556)
CATANIA = (15.087269, 37.502669)


def tells_positions_distances_and_hashes(db):
    _add_cities(db)
    palermo, missing = db.geopos("g", "Palermo", "missing")
    assert all(abs(got - added) < 1e-5 for got, added in zip(palermo, PALERMO)) and missing is None
    assert abs(db.geodist("g", "Palermo", "Catania") - 166274.1516) < 0.001
    assert abs(db.geodist("g", "Palermo", "Catania", "km") - 166.2742) < 0.0001
    assert db.geodist("g", "Palermo", "missing") is None
    assert db.geohash("g", "Palermo", "Catania") == ["sqc8b49rny0", "sqdtr74hyu0"]


def finds_members_in_a_circle_and_in_a_box(db):
    _add_cities(db)
    around = {"longitude": 15, "latitude": 37, "unit": "km"}
    assert db.geosearch("g", radius=200, sort="ASC", **around) == ["Catania", "Palermo"]
    assert db.geosearch("g", radius=200, sort="DESC", count=1, **around) == ["Palermo"]
    assert db.geosearch("g", width=200, height=200, **around) == ["Catania"]
    assert db.geosearch("g", member="Palermo", radius=1, unit="m") == ["Palermo"]
    assert db.geosearch("g", longitude=0, latitude=0, radius=1) == []


def gives_distances_hashes_and_positions_of_what_it_finds(db):
    _add_cities(db)
    name, distance, code, place = db.geosearch(
        "g", member="Palermo", radius=1, withdist=True, withhash=True, withcoord=True
    )[0]
    assert (name, distance, code) == ("Palermo", 0.0, 3479099956230698)
    assert all(abs(got - added) < 1e-5 for got, added in zip(place, PALERMO))


def stores_what_it_finds(db):
    _add_cities(db)
    around = {"longitude": 15, "latitude": 37, "unit": "km", "radius": 200}
    assert db.geosearchstore("to", "g", **around) == 2 and db.type("to") == "zset"
    assert db.geosearchstore("to", "g", storedist=True, **around) == 2
    assert abs(db.zscore("to", "Catania") - 56.4413) < 0.001


def adds_under_conditions_and_refuses_places_off_the_globe(db):
    _add_cities(db)
    assert db.geoadd("g", (0, 0, "Palermo"), nx=True) == 0 and db.geoadd("g", (0, 0, "new"), xx=True) == 0
    assert db.geoadd("g", (13.5, 38, "Palermo"), ch=True) == 1 and db.zcard("g") == 2
    raises("invalid longitude,latitude pair", db.geoadd, "g", (200, 100, "nowhere"))


def finds_the_nearest_among_10000_places(db):
    places = [part for n in range(MANY) for part in (n % 100 / 10, n // 100 / 10, "p:%d" % n)]
    assert db.geoadd("g", places) == MANY
    nearest = db.geosearch("g", longitude=5.001, latitude=5.002, radius=100, unit="km", sort="ASC", count=2)
    assert nearest == ["p:5050", "p:5150"]
    everything = db.geosearch("g", longitude=5, latitude=5, width=4000, height=4000, unit="km")
    assert len(everything) == MANY


def _add_cities(db):
    assert db.geoadd("g", (*PALERMO, "Palermo", *CATANIA, "Catania")) == 2
