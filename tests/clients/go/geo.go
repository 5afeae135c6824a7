package main

import (
	"fmt"

	"github.com/redis/go-redis/v9"
)

var (
	palermo = &redis.GeoLocation{Name: "Palermo", Longitude: 13.361389, Latitude: 38.115556}
	catania = &redis.GeoLocation{Name: "Catania", Longitude: 15.087269, Latitude: 37.502669}
	nearby  = redis.GeoSearchQuery{Longitude: 15, Latitude: 37, Radius: 200, RadiusUnit: "km", Sort: "ASC"}
)

var geoCases = cases{
	{"tells positions, distances and hashes", func(db *redis.Client) {
		gives(db.GeoAdd(ctx, "g", palermo, catania), 2)
		places := value(db.GeoPos(ctx, "g", "Palermo", "missing"))
		between(places[0].Longitude, palermo.Longitude-1e-5, palermo.Longitude+1e-5)
		between(places[0].Latitude, palermo.Latitude-1e-5, palermo.Latitude+1e-5)
		expect(places[1] == nil, "a missing member has a place")
		between(value(db.GeoDist(ctx, "g", "Palermo", "Catania", "m")), 166274.150, 166274.153)
		missing(db.GeoDist(ctx, "g", "Palermo", "missing", "km"))
		gives(db.GeoHash(ctx, "g", "Palermo", "Catania"), list("sqc8b49rny0", "sqdtr74hyu0"))
	}},

	{"finds members in a circle and in a box", func(db *redis.Client) {
		done(db.GeoAdd(ctx, "g", palermo, catania))
		gives(db.GeoSearch(ctx, "g", &nearby), list("Catania", "Palermo"))
		farthest := nearby
		farthest.Sort, farthest.Count = "DESC", 1
		gives(db.GeoSearch(ctx, "g", &farthest), list("Palermo"))
		box := redis.GeoSearchQuery{Longitude: 15, Latitude: 37, BoxWidth: 200, BoxHeight: 200, BoxUnit: "km"}
		gives(db.GeoSearch(ctx, "g", &box), list("Catania"))
		gives(db.GeoSearch(ctx, "g", &redis.GeoSearchQuery{Member: "Palermo", Radius: 1}), list("Palermo"))
	}},

	{"gives distances, hashes and positions of what it finds", func(db *redis.Client) {
		done(db.GeoAdd(ctx, "g", palermo, catania))
		query := redis.GeoSearchLocationQuery{
			GeoSearchQuery: redis.GeoSearchQuery{Member: "Palermo", Radius: 1},
			WithCoord:      true, WithDist: true, WithHash: true,
		}
		found := value(db.GeoSearchLocation(ctx, "g", &query))
		expect(len(found) == 1 && found[0].Name == "Palermo", "%v", found)
		equal(found[0].GeoHash, 3479099956230698)
		between(found[0].Dist, 0, 0)
		between(found[0].Longitude, palermo.Longitude-1e-5, palermo.Longitude+1e-5)
	}},

	{"stores what it finds", func(db *redis.Client) {
		done(db.GeoAdd(ctx, "g", palermo, catania))
		gives(db.GeoSearchStore(ctx, "g", "to", &redis.GeoSearchStoreQuery{GeoSearchQuery: nearby}), 2)
		gives(db.Type(ctx, "to"), "zset")
		distances := redis.GeoSearchStoreQuery{GeoSearchQuery: nearby, StoreDist: true}
		gives(db.GeoSearchStore(ctx, "g", "to", &distances), 2)
		between(value(db.ZScore(ctx, "to", "Catania")), 56.441, 56.442)
	}},

	{"refuses places off the globe", func(db *redis.Client) {
		nowhere := redis.GeoLocation{Name: "nowhere", Longitude: 200, Latitude: 100}
		refused(db.GeoAdd(ctx, "g", &nowhere), "invalid longitude,latitude pair")
	}},

	{"finds the nearest among 10000 places", func(db *redis.Client) {
		places := []*redis.GeoLocation{}
		for number := range many {
			name := fmt.Sprintf("p:%d", number)
			longitude, latitude := float64(number%100)/10, float64(number/100)/10
			places = append(places, &redis.GeoLocation{Name: name, Longitude: longitude, Latitude: latitude})
		}
		gives(db.GeoAdd(ctx, "g", places...), many)
		near := redis.GeoSearchQuery{Longitude: 5.001, Latitude: 5.002, Radius: 100, Sort: "ASC", Count: 2}
		gives(db.GeoSearch(ctx, "g", &near), list("p:5050", "p:5150"))
		all := redis.GeoSearchQuery{Longitude: 5, Latitude: 5, BoxWidth: 4000, BoxHeight: 4000}
		equal(len(value(db.GeoSearch(ctx, "g", &all))), many)
	}},
}
