#!/usr/bin/env bash
# Runs a workload against StemDB and a peer in turn (A B A B ...), and prints medians and ratios.
#
#   bench/compare.sh WORKLOAD PEER [options]
#
# PEER: mariadb (Debian's mariadb-server), mysql (MySQL 8.0.33), or the DSN (mysql://user@host:port/database) of a running
# server. The peer `sysbench` is StemDB again, driven by real sysbench, which shows whether both tools measure the same.
# StemDB and named peers are started for each run on free ports and stopped after it, with a synced commit, no binary log
# and the same memory for pages; all other settings are defaults.
#
#   --pairs N           how often each server is run; at least 3 (3)
#   --threads LIST      threads, as for `stemdb bench run` (16)
#   --seconds N         to measure, for each number of threads (20); --warm-up N before that (3)
#   --memory-mib N      buffer pool or block cache (1024)
#   --prepare once|each prepare tables before the first run of each server, or before every run (once)
#   --pin SERVER/CLIENT processors of the server and of the client, as for taskset (0/1), so that the client's CPU time takes
#                       nothing from the server
#   --with sysbench     real sysbench instead of our load generator (workloads sysbench-*)
#   --out DIR           where results go (var/bench/WORKLOAD-PEER)
#   --keep              keep the data directories
#   -o NAME=VALUE, --tables N, --table-size N, --scale N, --rate N, --text
#                       as for `stemdb bench`
#
# STEMDB: the binary of the server (target/release/stemdb). STEMDB_BENCH: the load generator ("$STEMDB bench").
# STEMDB_BENCH_DATA: the directory of all data directories, so that they are on one disk (var/bench/data).
# STEMDB_MYSQL_HOME: an unpacked MySQL 8.0.33 (~/.cache/stemdb/peers/mysql-8.0.33, which Maven fetches if it is installed).
set -euo pipefail
cd "$(dirname "$0")/.."
source bench/servers.sh

[ $# -ge 2 ] || usage
workload=$1
peer=$2
shift 2

pairs=3 threads=16 seconds=20 warm_up=3 memory_mib=1024 prepare=once with=ours out='' keep='' server_cpus='' client=()
target=() run=()
table_size=100000 tables=4 text=''
while [ $# -gt 0 ]; do
    option=$1
    case $option in
    --keep) keep=1 && shift && continue ;;
    --text) text=1 && run+=(--text) && shift && continue ;;
    esac
    [ $# -ge 2 ] || fail "$option needs a value"
    value=$2
    shift 2
    case $option in
    --pairs) pairs=$value ;;
    --threads) threads=$value ;;
    --seconds) seconds=$value ;;
    --warm-up) warm_up=$value ;;
    --memory-mib) memory_mib=$value ;;
    --prepare) prepare=$value ;;
    --with) with=$value ;;
    --pin)
        [[ $value =~ ^[0-9,-]+/[0-9,-]+$ ]] || fail "--pin is SERVER/CLIENT, two lists of processors: 0/1"
        server_cpus=${value%/*}
        client=(taskset -c "${value#*/}")
        ;;
    --out) out=$value ;;
    --tables) tables=$value && target+=("$option" "$value") ;;
    --table-size) table_size=$value && target+=("$option" "$value") ;;
    -o | --scale) target+=("$option" "$value") ;;
    --rate) run+=("$option" "$value") ;;
    *) fail "no option $option" ;;
    esac
done
[[ $pairs =~ ^[0-9]+$ ]] && [ "$pairs" -ge 3 ] || fail "--pairs must be at least 3: fewer have no median"
[[ $memory_mib =~ ^[0-9]+$ ]] || fail "--memory-mib must be a number"
case $prepare in once | each) ;; *) fail "--prepare is once or each" ;; esac
tool=$with
[ "$peer" = sysbench ] && tool=sysbench
case $tool in
ours) ;;
sysbench)
    [[ $workload == sysbench-* ]] || fail "sysbench runs the workloads sysbench-* only"
    [[ $threads =~ ^[0-9,]+$ ]] || fail "with sysbench, --threads is a list of numbers"
    command -v sysbench >/dev/null || fail "sysbench is not installed"
    ;;
*) fail "--with is sysbench" ;;
esac

stemdb=${STEMDB:-${CARGO_TARGET_DIR:-target}/release/stemdb}
[ -x "$stemdb" ] || fail "no server at $stemdb; build it or set STEMDB"
# The value may be several words.
read -r -a bench <<<"${STEMDB_BENCH:-$stemdb bench}"
"${bench[@]}" list | grep -c "^$workload " >/dev/null || fail "no workload $workload; \`stemdb bench list\` has them"
case $peer in
mariadb) find_mariadb ;;
mysql) find_mysql ;;
mysql://* | sysbench) ;;
*) fail "no peer $peer: mariadb, mysql, sysbench, or a DSN" ;;
esac
name=$peer
[[ $peer == mysql://* ]] && name=dsn
out=${out:-var/bench/$workload-$name}
data=${STEMDB_BENCH_DATA:-var/bench/data}
mkdir -p "$out" "$data"
data=$(mktemp -d "$data/$workload.XXXXXX")
data=$(cd "$data" && pwd)
rm -f "$out"/*.json

finish() {
    stop_server
    [ -n "$keep" ] || rm -rf "$data"
}
trap finish EXIT
trap 'exit 130' INT TERM

# One run of one server: starts it, prepares tables if needed, measures, stops it.
turn() {
    local side=$1 number=$2 dsn json="$out/$1-$2.json"
    case $side in
    stemdb | sysbench) start_stemdb "$stemdb" "$data/stemdb" "$memory_mib" ;;
    mariadb) start_mariadb "$data/mariadb" "$memory_mib" ;;
    mysql) start_mysql "$data/mysql" "$memory_mib" ;;
    esac
    [ -z "$server_cpus" ] || [ -z "$server_pid" ] || taskset -acp "$server_cpus" "$server_pid" >/dev/null
    if [ "$side" = dsn ]; then dsn=$peer; else dsn="mysql://root@127.0.0.1:$server_port/stemdb_bench"; fi
    if { [ "$number" = 1 ] && [ "$side" != sysbench ]; } || [ "$prepare" = each ]; then
        "${bench[@]}" prepare "$workload" --dsn "$dsn" "${target[@]}" 2>>"$out/log"
    fi
    echo "$side, run $number of $pairs" >&2
    if [ "$with" = sysbench ] || [ "$side" = sysbench ]; then
        "${client[@]}" bench/sysbench.sh "$workload" "$dsn" "${server_pid:-}" "$(label "$side")" "$json" "$threads" "$seconds" "$warm_up" \
            "$tables" "$table_size" "$text" >>"$out/log"
    else
        "${client[@]}" "${bench[@]}" run "$workload" --dsn "$dsn" "${target[@]}" "${run[@]}" --threads "$threads" \
            --seconds "$seconds" --warm-up "$warm_up" --quiet --json "$json" --label "$(label "$side")" >>"$out/log"
    fi
    if [ "$number" = "$pairs" ]; then
        "${bench[@]}" check "$workload" --dsn "$dsn" "${target[@]}" >>"$out/log" || fail "check of $side failed: see $out/log"
    fi
    stop_server
}

label() {
    case $1 in
    stemdb) echo StemDB ;;
    mariadb) echo MariaDB ;;
    mysql) echo MySQL ;;
    sysbench) echo sysbench ;;
    *) echo peer ;;
    esac
}

: >"$out/log"
for number in $(seq "$pairs"); do
    turn stemdb "$number"
    turn "$name" "$number"
done
"${bench[@]}" report "$out"/*.json --out "$out/report.html" --baseline "$(label "$name")"
