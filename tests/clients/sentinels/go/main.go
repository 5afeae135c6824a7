// go-redis with sentinels; see watched_test.py.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

func main() {
	var sentinels []string
	for _, port := range strings.Split(os.Getenv("SENTINELS"), ",") {
		sentinels = append(sentinels, "127.0.0.1:"+port)
	}
	seconds, _ := strconv.ParseFloat(os.Getenv("SECONDS"), 64)
	primary := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "all", SentinelAddrs: sentinels, ReadTimeout: time.Second, DialTimeout: time.Second})
	errors, answered, longest := map[string]int{}, 0, 0.0
	began, last := time.Now(), time.Now()
	for time.Since(began).Seconds() < seconds {
		if err := primary.Incr(context.Background(), "count").Err(); err != nil {
			errors[err.Error()[:min(len(err.Error()), 60)]]++
		} else {
			answered++
			longest, last = max(longest, time.Since(last).Seconds()), time.Now()
		}
		time.Sleep(5 * time.Millisecond)
	}
	said, _ := json.Marshal(map[string]any{"answered": answered, "longest": longest, "errors": errors})
	fmt.Println(string(said))
}
