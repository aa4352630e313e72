#!/usr/bin/env bash
# Two SQL nodes behind HAProxy on one TiKV cluster, and the order workload through all of it.
#
# PD=HOST:PORT[,HOST:PORT...][/KEYSPACE]: the cluster. Without it, the script builds (Go 1.24) and starts the TiKV stand-in
# of the tests: one process, in memory, without replicas. It shows how things work, not how fast they are.
# STEMDB_DEMO_SECONDS: how long it measures (20).
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-$PWD/target}/release
stemdb=$target/stemdb
shown=${stemdb#"$PWD"/}
var=var/cluster
mkdir -p "$var"

command -v haproxy >/dev/null || PATH=$PATH:/usr/sbin
if ! command -v haproxy >/dev/null; then
    echo "haproxy is not installed: apt-get install haproxy" >&2
    exit 1
fi

processes=()
# Stops the balancer first and the store last.
stop() {
    local i
    for ((i = ${#processes[@]} - 1; i >= 0; i--)); do
        kill "${processes[i]}" 2>/dev/null || true
        wait "${processes[i]}" 2>/dev/null || true
    done
    processes=()
}
trap stop EXIT

fail() {
    echo "$1" >&2
    tail -n 20 "$2" >&2
    exit 1
}

listens() {
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

port=4000
free_port() {
    while listens "$port"; do
        port=$((port + 1))
    done
    taken=$port
    port=$((port + 1))
}

await() { # PORT PROCESS LOG WHAT
    local _
    for _ in $(seq 300); do
        listens "$1" && return
        kill -0 "$2" 2>/dev/null || break
        sleep 0.1
    done
    fail "$4 did not start:" "$3"
}

if [[ -n ${PD:-} ]]; then
    store=tikv://$PD
    echo "On the cluster $store."
else
    if ! command -v go >/dev/null; then
        echo "Name a cluster with PD=HOST:PORT, or install Go 1.24 for the stand-in." >&2
        exit 1
    fi
    tests/tikv-stand-in/build.sh "$target/tikv-stand-in"
    "$target/tikv-stand-in" -stores 3 >"$var/stand-in.out" 2>"$var/stand-in.log" &
    processes+=($!)
    for _ in $(seq 100); do
        grep -q '^ready ' "$var/stand-in.out" && break
        sleep 0.1
    done
    pd=$(sed -n 's/^ready pd=\([^ ]*\).*/\1/p' "$var/stand-in.out")
    [[ -n $pd ]] || fail "the stand-in did not start:" "$var/stand-in.log"
    store=tikv://$pd
    echo "On the TiKV stand-in of the tests: one process, in memory, no replicas. Name a real cluster with PD=HOST:PORT."
fi

cat >"$var/node.toml" <<TEXT
[shutdown]
delay_seconds = 2

[proxy_protocol]
networks = ["127.0.0.0/8"]
TEXT

cat >"$var/haproxy.cfg" <<TEXT
# For production see deploy/haproxy.cfg.
defaults
    mode tcp
    timeout connect 3s
    timeout check 2s
    timeout client 1h
    timeout server 1h
    retries 3
    option redispatch 1
backend sql
    balance leastconn
    option httpchk
    http-check send meth GET uri /status ver HTTP/1.1 hdr Host stemdb
    http-check expect status 200
    default-server inter 500ms fall 1 rise 1 send-proxy-v2
TEXT

starts=()
for node in 1 2; do
    free_port
    sql=$taken
    free_port
    status=$taken
    start="serve --store $store --config $var/node.toml --listen 127.0.0.1:$sql --status 127.0.0.1:$status"
    starts+=("$start")
    # shellcheck disable=SC2086 # the words of a command line
    "$stemdb" $start >"$var/sql-$node.log" 2>&1 &
    processes+=($!)
    await "$status" "${processes[-1]}" "$var/sql-$node.log" "SQL node $node"
    echo "    server sql-$node 127.0.0.1:$sql check port $status" >>"$var/haproxy.cfg"
done

free_port
door=$taken
printf 'frontend mysql\n    bind 127.0.0.1:%s\n    default_backend sql\n' "$door" >>"$var/haproxy.cfg"
haproxy -db -f "$var/haproxy.cfg" >"$var/haproxy.log" 2>&1 &
processes+=($!)
await "$door" "${processes[-1]}" "$var/haproxy.log" "HAProxy"
# HAProxy runs its first checks.
sleep 2

"$stemdb" demo --dsn "mysql://root@127.0.0.1:$door" --seconds "${STEMDB_DEMO_SECONDS:-20}"
stop
trap - EXIT

[[ -n ${PD:-} ]] || exit 0
cat <<TEXT

All data is in the cluster. Start the nodes again:

    $shown ${starts[0]} &
    $shown ${starts[1]} &
    haproxy -f $var/haproxy.cfg &

Connect to either of them:

    mysql -h 127.0.0.1 -P $door -u root stemdb_demo
TEXT
