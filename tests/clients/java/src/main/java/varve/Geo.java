package varve;

import static varve.Support.MANY;
import static varve.Support.between;
import static varve.Support.is;
import static varve.Support.refused;
import static varve.Support.same;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import redis.clients.jedis.GeoCoordinate;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.GeoUnit;
import redis.clients.jedis.params.GeoAddParams;
import redis.clients.jedis.params.GeoSearchParam;
import redis.clients.jedis.resps.GeoRadiusResponse;

/** Places on the globe. */
final class Geo {
    private static final GeoCoordinate PALERMO = new GeoCoordinate(13.361389, 38.115556);
    private static final GeoCoordinate CATANIA = new GeoCoordinate(15.087269, 37.502669);
    private static final GeoCoordinate CENTRE = new GeoCoordinate(15, 37);

    private Geo() {}

    @Case
    static void tellsPositionsDistancesAndHashes(Jedis db) {
        addCities(db);
        List<GeoCoordinate> places = db.geopos("g", "Palermo", "missing");
        near(places.get(0), PALERMO);
        same(places.get(1), null);
        between(db.geodist("g", "Palermo", "Catania"), 166274.150, 166274.153);
        between(db.geodist("g", "Palermo", "Catania", GeoUnit.KM), 166.274, 166.275);
        same(db.geodist("g", "Palermo", "missing"), null);
        same(db.geohash("g", "Palermo", "Catania"), List.of("sqc8b49rny0", "sqdtr74hyu0"));
    }

    @Case
    static void findsMembersInACircleAndInABox(Jedis db) {
        addCities(db);
        same(found(db, nearby().asc()), List.of("Catania", "Palermo"));
        same(found(db, nearby().desc().count(1)), List.of("Palermo"));
        same(found(db, new GeoSearchParam().fromLonLat(CENTRE).byBox(200, 200, GeoUnit.KM)), List.of("Catania"));
        same(found(db, new GeoSearchParam().fromMember("Palermo").byRadius(1, GeoUnit.M)), List.of("Palermo"));
    }

    @Case
    static void givesDistancesHashesAndPositionsOfWhatItFinds(Jedis db) {
        addCities(db);
        GeoSearchParam query = new GeoSearchParam().fromMember("Palermo").byRadius(1, GeoUnit.M);
        List<GeoRadiusResponse> found = db.geosearch("g", query.withDist().withHash().withCoord());
        is(found.size(), 1);
        is(found.get(0).getDistance(), 0.0);
        is(found.get(0).getRawScore(), 3479099956230698L);
        near(found.get(0).getCoordinate(), PALERMO);
    }

    @Case
    static void storesWhatItFinds(Jedis db) {
        addCities(db);
        is(db.geosearchStore("to", "g", nearby()), 2);
        same(db.type("to"), "zset");
        is(db.geosearchStoreStoreDist("to", "g", nearby()), 2);
        between(db.zscore("to", "Catania"), 56.441, 56.442);
    }

    @Case
    static void addsUnderConditionsAndRefusesPlacesOffTheGlobe(Jedis db) {
        addCities(db);
        is(db.geoadd("g", GeoAddParams.geoAddParams().nx(), Map.of("Palermo", CENTRE)), 0);
        is(db.geoadd("g", GeoAddParams.geoAddParams().xx().ch(), Map.of("Palermo", CENTRE, "new", CENTRE)), 1);
        refused(() -> db.geoadd("g", 200, 100, "nowhere"), "invalid longitude,latitude pair");
    }

    @Case
    static void findsTheNearestAmong10000Places(Jedis db) {
        Map<String, GeoCoordinate> places = new HashMap<>();
        for (int number = 0; number < MANY; number++) {
            places.put("p:" + number, new GeoCoordinate(number % 100 / 10.0, number / 100 / 10.0));
        }
        is(db.geoadd("g", places), MANY);
        GeoSearchParam nearest = new GeoSearchParam().fromLonLat(5.001, 5.002).byRadius(100, GeoUnit.KM);
        same(found(db, nearest.asc().count(2)), List.of("p:5050", "p:5150"));
        is(found(db, new GeoSearchParam().fromLonLat(5, 5).byBox(4000, 4000, GeoUnit.KM)).size(), MANY);
    }

    private static void addCities(Jedis db) {
        is(db.geoadd("g", Map.of("Palermo", PALERMO, "Catania", CATANIA)), 2);
    }

    private static GeoSearchParam nearby() {
        return new GeoSearchParam().fromLonLat(CENTRE).byRadius(200, GeoUnit.KM);
    }

    private static List<String> found(Jedis db, GeoSearchParam query) {
        return db.geosearch("g", query).stream().map(GeoRadiusResponse::getMemberByString).toList();
    }

    /** Expects a place as exact as 26 bits for each coordinate allow. */
    private static void near(GeoCoordinate actual, GeoCoordinate expected) {
        between(actual.getLongitude() - expected.getLongitude(), -1e-5, 1e-5);
        between(actual.getLatitude() - expected.getLatitude(), -1e-5, 1e-5);
    }
}
