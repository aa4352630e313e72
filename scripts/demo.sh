#!/usr/bin/env bash
# Starts the server on ./var, runs the order workload on it, and prints the commands that start it again.
#
# STEMDB_DEMO_PORT: where it listens (4000, or the next free one). STEMDB_DEMO_SECONDS: how long it measures (20).
set -euo pipefail
cd "$(dirname "$0")/.."

stemdb=${CARGO_TARGET_DIR:-$PWD/target}/release/stemdb
# The path relative to the repository, if it is inside.
shown=${stemdb#"$PWD"/}
mkdir -p var

listens() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

port=${STEMDB_DEMO_PORT:-4000}
while listens "$port"; do
    port=$((port + 1))
done
status=$((port + 6080))
while listens "$status"; do
    status=$((status + 1))
done

start=("$stemdb" serve --store rocksdb:var/data --listen "127.0.0.1:$port" --socket "$PWD/var/stemdb.sock" --status "127.0.0.1:$status")
"${start[@]}" >var/server.log 2>&1 &
server=$!
stop() {
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
}
trap stop EXIT

for _ in $(seq 300); do
    listens "$port" && break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
done
if ! kill -0 "$server" 2>/dev/null || ! listens "$port"; then
    echo "the server did not start:" >&2
    tail -n 20 var/server.log >&2
    exit 1
fi

"$stemdb" demo --dsn "mysql://root@127.0.0.1:$port" --seconds "${STEMDB_DEMO_SECONDS:-20}"
stop
trap - EXIT

cat <<TEXT

The data is in ./var/data. Start the server on it again:

    $shown serve --store rocksdb:var/data --listen 127.0.0.1:$port --socket var/stemdb.sock --status 127.0.0.1:$status

Connect to it:

    mysql -h 127.0.0.1 -P $port -u root stemdb_demo

Run the workload again:

    $shown demo --dsn mysql://root@127.0.0.1:$port
TEXT
