package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	many     = 10000            // elements of a large collection
	patience = 10 * time.Second // after which a case that waits for something gives up
)

var ctx = context.Background()

// client speaks the given version of RESP.
func client(protocol int) *redis.Client {
	address := os.Getenv("SERVER_ADDR")
	if address == "" {
		address = "127.0.0.1:6379"
	}
	return redis.NewClient(&redis.Options{Addr: address, Protocol: protocol, TLSConfig: tlsConfig()})
}

// tlsConfig is for TLS, if SERVER_TLS names a folder with ca.crt, client.crt and client.key.
func tlsConfig() *tls.Config {
	folder := os.Getenv("SERVER_TLS")
	if folder == "" {
		return nil
	}
	file := func(name string) string { return filepath.Join(folder, name) }
	roots := x509.NewCertPool()
	expect(roots.AppendCertsFromPEM(must(os.ReadFile(file("ca.crt")))), "no certificate of the CA")
	own := must(tls.LoadX509KeyPair(file("client.crt"), file("client.key")))
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}, ServerName: "localhost"}
}

// command is a command of go-redis that was sent.
type command[T any] interface{ Result() (T, error) }

// expect fails the case unless the condition holds.
func expect(condition bool, format string, values ...any) {
	if !condition {
		panic(fmt.Sprintf(format, values...))
	}
}

// must gives the value of a call that should succeed.
func must[T any](value T, err error) T {
	expect(err == nil, "%v", err)
	return value
}

// value gives the reply of a command that should succeed.
func value[T any](sent command[T]) T {
	return must(sent.Result())
}

// done expects the command to succeed.
func done(sent interface{ Err() error }) {
	expect(sent.Err() == nil, "%v", sent.Err())
}

// gives expects the command to be answered with the value.
func gives[T any](sent command[T], want T) {
	equal(value(sent), want)
}

// holds expects the command to give the elements in any order.
func holds(sent command[[]string], want ...string) {
	equal(sorted(value(sent)), sorted(want))
}

// missing expects the command to be answered with nothing.
func missing(sent interface{ Err() error }) {
	expect(errors.Is(sent.Err(), redis.Nil), "got %v where nothing was expected", sent)
}

// refused expects the server to answer with an error that contains part.
func refused(sent interface{ Err() error }, part string) {
	var reply redis.Error
	expect(errors.As(sent.Err(), &reply) && strings.Contains(sent.Err().Error(), part), "%v gave no error with %q", sent, part)
}

// equal expects two values to be the same; an empty slice equals nil.
func equal[T any](got, want T) {
	if either := reflect.ValueOf(got); either.Kind() == reflect.Slice && either.Len() == 0 {
		expect(reflect.ValueOf(want).Len() == 0, "got nothing, want %v", want)
		return
	}
	expect(reflect.DeepEqual(got, want), "got %v, want %v", got, want)
}

// between expects a value to lie within limits.
func between[T int64 | float64 | time.Duration](got, low, high T) {
	expect(low <= got && got <= high, "got %v, want %v to %v", got, low, high)
}

// within polls until the condition holds.
func within(condition func() bool, what string) {
	deadline := time.Now().Add(patience)
	for !condition() {
		expect(time.Now().Before(deadline), "%s", what)
		time.Sleep(time.Millisecond)
	}
}

// list is short for a slice of strings.
func list(elements ...string) []string {
	return elements
}

// sorted gives the elements in order, in a slice of their own.
func sorted(elements []string) []string {
	elements = slices.Clone(elements)
	slices.Sort(elements)
	return elements
}

// names gives the names of the elements of a large collection.
func names(prefix string) []string {
	elements := make([]string, many)
	for number := range elements {
		elements[number] = prefix + strconv.Itoa(number)
	}
	return elements
}

// arguments makes values of any type out of strings.
func arguments(elements []string) []any {
	values := make([]any, len(elements))
	for i, element := range elements {
		values[i] = element
	}
	return values
}

// everyByte gives a string that has each byte once.
func everyByte() string {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return string(every)
}

// scanned gives everything that an iterator finds.
func scanned(iterator *redis.ScanIterator) []string {
	found := []string{}
	for iterator.Next(ctx) {
		found = append(found, iterator.Val())
	}
	expect(iterator.Err() == nil, "%v", iterator.Err())
	return found
}
