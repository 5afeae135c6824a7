// Cases with gomemcache: `cases`, or `add N`, which adds 1 to the key `sum` N times by CAS.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/bradfitz/gomemcache/memcache"
)

func client() *memcache.Client {
	return memcache.New(os.Getenv("MEMCACHED_ADDR"))
}

func check(condition bool, what string) error {
	if condition {
		return nil
	}
	return errors.New(what)
}

func set(c *memcache.Client, key string, value []byte, flags uint32) error {
	return c.Set(&memcache.Item{Key: key, Value: value, Flags: flags})
}

func flags(c *memcache.Client) error {
	if err := set(c, "flags", []byte("v"), 0xfedcba98); err != nil {
		return err
	}
	item, err := c.Get("flags")
	return errors.Join(err, check(err == nil && item.Flags == 0xfedcba98, "the flags are others"))
}

func compression(c *memcache.Client) error {
	var packed bytes.Buffer
	text := bytes.Repeat([]byte("packed "), 10000)
	writer := gzip.NewWriter(&packed)
	writer.Write(text)
	writer.Close()
	if err := set(c, "packed", packed.Bytes(), 1); err != nil {
		return err
	}
	item, err := c.Get("packed")
	if err != nil {
		return err
	}
	reader, err := gzip.NewReader(bytes.NewReader(item.Value))
	if err != nil {
		return err
	}
	again, err := io.ReadAll(reader)
	return errors.Join(err, check(bytes.Equal(again, text), "the text is another"))
}

func manyKeys(c *memcache.Client) error {
	var keys []string
	for i := 0; i < 1000; i++ {
		keys = append(keys, fmt.Sprintf("many:%d", i))
		if i%2 == 0 {
			if err := set(c, keys[i], []byte(strconv.Itoa(i)), uint32(i)); err != nil {
				return err
			}
		}
	}
	items, err := c.GetMulti(keys)
	if err != nil {
		return err
	}
	right := len(items) == 500
	for i := 0; i < 1000; i += 2 {
		item := items[keys[i]]
		right = right && item != nil && string(item.Value) == strconv.Itoa(i) && item.Flags == uint32(i)
	}
	return check(right, "items are missing or others")
}

func large(c *memcache.Client) error {
	value := bytes.Repeat([]byte("0123456789abcdef"), 5<<16)
	if err := set(c, "large", value, 7); err != nil {
		return err
	}
	item, err := c.Get("large")
	return errors.Join(err, check(err == nil && bytes.Equal(item.Value, value), "the value is another"))
}

func conditions(c *memcache.Client) error {
	c.Delete("condition")
	missing := c.CompareAndSwap(&memcache.Item{Key: "condition", Value: []byte("x")})
	if err := c.Add(&memcache.Item{Key: "condition", Value: []byte("1")}); err != nil {
		return err
	}
	again := c.Add(&memcache.Item{Key: "condition", Value: []byte("2")})
	item, err := c.Get("condition")
	if err != nil {
		return err
	}
	number, err := c.Increment("condition", 41)
	late := c.CompareAndSwap(item)
	return errors.Join(err, check(number == 42, "the number is another"),
		check(missing == memcache.ErrCacheMiss || missing == memcache.ErrNotStored, "a CAS of no item"),
		check(again == memcache.ErrNotStored, "two items were added"),
		check(late == memcache.ErrCASConflict, "a CAS of a changed item"), c.Touch("condition", 100))
}

func fromResp(c *memcache.Client) error {
	item, err := c.Get("from-resp")
	return errors.Join(err, check(err == nil && string(item.Value) == "written elsewhere" && item.Flags == 0, "another value"))
}

func add(count int) error {
	c := client()
	for done := 0; done < count; {
		item, err := c.Get("sum")
		if err != nil {
			return err
		}
		number, err := strconv.Atoi(string(item.Value))
		if err != nil {
			return err
		}
		item.Value = []byte(strconv.Itoa(number + 1))
		switch err := c.CompareAndSwap(item); err {
		case nil:
			done++
		case memcache.ErrCASConflict:
		default:
			return err
		}
	}
	return nil
}

func main() {
	if os.Args[1] == "add" {
		count, _ := strconv.Atoi(os.Args[2])
		if err := add(count); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	cases := []struct {
		name string
		run  func(*memcache.Client) error
	}{
		{"flags", flags}, {"compression", compression}, {"many keys", manyKeys}, {"5 MB", large},
		{"conditions", conditions}, {"a key of RESP", fromResp},
	}
	failed := false
	for _, it := range cases {
		if err := it.run(client()); err != nil {
			fmt.Printf("FAILED %s: %v\n", it.name, err)
			failed = true
		} else {
			fmt.Println("ok   " + it.name)
		}
	}
	if failed {
		os.Exit(1)
	}
}
