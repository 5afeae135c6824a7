// go-redis against the server at SERVER_ADDR: every case over RESP2 and RESP3, one line each, status 1 when one fails.
//
//	go-client [GROUP ...]      only the cases of these groups, such as "lists sorted_sets"
package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/redis/go-redis/v9"
)

// cases have a name and a function that takes a client whose server is empty.
type cases []struct {
	name string
	run  func(*redis.Client)
}

var groups = []struct {
	name  string
	cases cases
}{
	{"connection", connectionCases},
	{"keys", keyCases},
	{"strings", stringCases},
	{"lists", listCases},
	{"hashes", hashCases},
	{"sets", setCases},
	{"sorted_sets", sortedSetCases},
	{"streams", streamCases},
	{"geo", geoCases},
	{"hyperloglog", hyperLogLogCases},
	{"sort", sortCases},
	{"blocking", blockingCases},
	{"pipelines", pipelineCases},
	{"transactions", transactionCases},
	{"scripts", scriptCases},
	{"pubsub", pubSubCases},
	{"users", userCases},
}

// passes tells whether a case passes on an empty server.
func passes(title string, run func(*redis.Client), protocol int) (passed bool) {
	db := client(protocol)
	defer db.Close()
	defer func() {
		if reason := recover(); reason != nil {
			fmt.Printf("FAIL %s: %v\n%s\n", title, reason, debug.Stack())
			passed = false
		}
	}()
	done(db.FlushAll(ctx))
	run(db)
	fmt.Println("ok   " + title)
	return true
}

// selected gives the names of the groups to run.
func selected(arguments []string) map[string]bool {
	names := map[string]bool{}
	for _, group := range groups {
		names[group.name] = len(arguments) == 0
	}
	for _, name := range arguments {
		if _, known := names[name]; !known {
			fmt.Println("FAIL: there is no group " + name)
			os.Exit(1)
		}
		names[name] = true
	}
	return names
}

func main() {
	chosen := selected(os.Args[1:])
	status := 0
	for _, group := range groups {
		for _, test := range group.cases {
			for _, protocol := range []int{2, 3} {
				title := fmt.Sprintf("%s: %s (RESP%d)", group.name, test.name, protocol)
				if chosen[group.name] && !passes(title, test.run, protocol) {
					status = 1
				}
			}
		}
	}
	os.Exit(status)
}
