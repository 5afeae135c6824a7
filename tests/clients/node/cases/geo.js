"use strict";

const assert = require("node:assert/strict");
const { MANY, between, refused } = require("./support");

const addCities = (db) => db.geoadd("g", 13.361389, 38.115556, "Palermo", 15.087269, 37.502669, "Catania");
const nearby = ["FROMLONLAT", 15, 37, "BYRADIUS", 200, "KM", "ASC"];

// Coordinates arrive as text and are kept to 26 bits each.
function near([longitude, latitude], expected) {
  between(Number(longitude), expected[0] - 1e-5, expected[0] + 1e-5);
  between(Number(latitude), expected[1] - 1e-5, expected[1] + 1e-5);
}

module.exports = {
  "tells positions, distances and hashes": async (db) => {
    assert.equal(await addCities(db), 2);
    const [palermo, missing] = await db.geopos("g", "Palermo", "missing");
    near(palermo, [13.361389, 38.115556]);
    assert.equal(missing, null);
    assert.equal(await db.geodist("g", "Palermo", "Catania"), "166274.1516");
    assert.equal(await db.geodist("g", "Palermo", "Catania", "KM"), "166.2742");
    assert.equal(await db.geodist("g", "Palermo", "missing"), null);
    assert.deepEqual(await db.geohash("g", "Palermo", "Catania"), ["sqc8b49rny0", "sqdtr74hyu0"]);
  },

  "finds members in a circle and in a box": async (db) => {
    await addCities(db);
    assert.deepEqual(await db.geosearch("g", ...nearby), ["Catania", "Palermo"]);
    const box = ["FROMLONLAT", 15, 37, "BYBOX", 200, 200, "KM"];
    assert.deepEqual(await db.geosearch("g", ...box), ["Catania"]);
    assert.deepEqual(await db.geosearch("g", "FROMMEMBER", "Palermo", "BYRADIUS", 1, "M"), ["Palermo"]);
    assert.deepEqual(await db.geosearch("g", "FROMLONLAT", 0, 0, "BYRADIUS", 1, "M"), []);
  },

  "gives distances, hashes and positions of what it finds": async (db) => {
    await addCities(db);
    const details = ["WITHDIST", "WITHHASH", "WITHCOORD"];
    const found = await db.geosearch("g", "FROMMEMBER", "Palermo", "BYRADIUS", 1, "M", ...details);
    const [[name, distance, code, place]] = found;
    assert.deepEqual([name, distance, code], ["Palermo", "0.0000", 3479099956230698]);
    near(place, [13.361389, 38.115556]);
  },

  "stores what it finds": async (db) => {
    await addCities(db);
    assert.equal(await db.geosearchstore("to", "g", ...nearby), 2);
    assert.equal(await db.type("to"), "zset");
    assert.equal(await db.geosearchstore("to", "g", ...nearby, "STOREDIST"), 2);
    between(Number(await db.zscore("to", "Catania")), 56.441, 56.442);
  },

  "adds under conditions and refuses places off the globe": async (db) => {
    await addCities(db);
    assert.equal(await db.geoadd("g", "NX", 0, 0, "Palermo"), 0);
    assert.equal(await db.geoadd("g", "XX", "CH", 13.5, 38, "Palermo", 0, 0, "new"), 1);
    await refused(db.geoadd("g", 200, 100, "nowhere"), /invalid longitude,latitude pair/);
  },

  "finds the nearest among 10000 places": async (db) => {
    const place = (number) => [(number % 100) / 10, Math.floor(number / 100) / 10, `p:${number}`];
    assert.equal(await db.geoadd("g", Array.from({ length: MANY }, (_, number) => place(number)).flat()), MANY);
    const nearest = ["FROMLONLAT", 5.001, 5.002, "BYRADIUS", 100, "KM", "ASC", "COUNT", 2];
    assert.deepEqual(await db.geosearch("g", ...nearest), ["p:5050", "p:5150"]);
    const everything = await db.geosearch("g", "FROMLONLAT", 5, 5, "BYBOX", 4000, 4000, "KM");
    assert.equal(everything.length, MANY);
  },
};
