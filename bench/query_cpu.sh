#!/usr/bin/env bash
# Measures what analytical queries take of a server's processors, on StemDB and on peers, over TPC-H's tables: the 22 queries,
# and some shapes of queries that read `lineitem` alone. Prints a table with the ratio of the better peer to StemDB.
#
#   bench/query_cpu.sh [SCALE [ROUNDS [QUERY ...]]]
#
# SCALE: of the tables (0.2). ROUNDS: how often each query is measured on each server, in turn; the least counts (3).
# QUERY: names of some queries (q1 ... q22, count, two-groups, scan-q1, scan-q6, top-10, like); all of them.
#
# All servers run at once and are idle while another one is measured. A query is repeated until it has taken a quarter of a
# second of processor time, of all threads, after a run that warms up. Elapsed time does not count, so that other work on the
# machine disturbs less.
#
# STEMDB: the binary (target/release/stemdb). PEERS: of mysql and mariadb (both). MEMORY_MIB: buffer pool, or caches, of each
# (1024). QUERY_CPU_DIR: where data directories go; what is there already is used again (var/bench/query-cpu).
set -euo pipefail
cd "$(dirname "$0")/.."
source bench/servers.sh

fail() {
    echo "query_cpu.sh: $*" >&2
    exit 1
}

scale=${1:-0.2} rounds=${2:-3}
shift $(($# < 2 ? $# : 2))
stemdb=${STEMDB:-target/release/stemdb} memory_mib=${MEMORY_MIB:-1024} out=${QUERY_CPU_DIR:-var/bench/query-cpu}
read -r -a peers <<<"${PEERS:-mysql mariadb}"
client=$(command -v mariadb || command -v mysql) || fail "no mariadb or mysql client"
[ -x "$stemdb" ] || fail "no server at $stemdb; build it or set STEMDB"
for peer in "${peers[@]}"; do
    case $peer in
    mariadb | mysql) "find_$peer" ;;
    *) fail "a peer is mariadb or mysql" ;;
    esac
done
mkdir -p "$out"
out=$(cd "$out" && pwd)

declare -A pids ports least
finish() {
    kill "${pids[@]}" 2>/dev/null || true
    wait
}
trap finish EXIT

sql() {
    "$client" --no-defaults --protocol=TCP -h127.0.0.1 -P"${ports[$1]}" -uroot tpch
}

# Clock ticks of a server's processor time.
ticks() {
    sed 's/.*) //' "/proc/${pids[$1]}/stat" | awk '{ print $12 + $13 }'
}

declare -A texts
names=()
add() {
    names+=("$1")
    texts[$1]=$2
}
fraction=$(awk -v scale="$scale" 'BEGIN { printf "%.10f", 0.0001 / scale }')
for number in $(seq 22); do
    text=$(<"crates/loadgen/src/tpch/queries/$(printf %02d "$number").sql")
    add "q$number" "${text//\{fraction\}/$fraction}"
done
add count 'SELECT COUNT(*) FROM lineitem'
add two-groups 'SELECT l_returnflag, l_linestatus, COUNT(*), SUM(l_quantity) FROM lineitem GROUP BY l_returnflag, l_linestatus'
add scan-q1 "${texts[q1]}"
add scan-q6 "${texts[q6]}"
add top-10 'SELECT * FROM lineitem ORDER BY l_extendedprice DESC LIMIT 10'
add like "SELECT COUNT(*) FROM lineitem WHERE l_comment LIKE '%special%requests%'"
chosen=("$@")
[ $# -gt 0 ] || chosen=("${names[@]}")
for name in "${chosen[@]}"; do
    [ -n "${texts[$name]:-}" ] || fail "no query $name; there are: ${names[*]}"
done

for server in stemdb "${peers[@]}"; do
    case $server in
    stemdb) start_stemdb "$stemdb" "$out/stemdb" "$memory_mib" ;;
    *) "start_$server" "$out/$server" "$memory_mib" ;;
    esac
    pids[$server]=$server_pid ports[$server]=$server_port
    [ -e "$out/$server/scale-$scale" ] || {
        "$stemdb" bench prepare tpch --dsn "mysql://root@127.0.0.1:$server_port/tpch" -o scale="$scale" >&2
        touch "$out/$server/scale-$scale"
    }
done

measure() {
    local server=$1 text="$2;" from used=0 runs=1 number
    while :; do
        from=$(ticks "$server")
        for ((number = 0; number < runs; number++)); do echo "$text"; done | sql "$server" >/dev/null
        used=$(($(ticks "$server") - from))
        [ "$used" -lt 25 ] || break
        runs=$((used < 5 ? runs * 5 : runs * 30 / used + 1))
    done
    awk -v ticks="$used" -v hz="$(getconf CLK_TCK)" -v runs="$runs" 'BEGIN { printf "%.2f", ticks / hz * 1000 / runs }'
}

for ((round = 0; round < rounds; round++)); do
    for name in "${chosen[@]}"; do
        for server in stemdb "${peers[@]}"; do
            [ "$round" -gt 0 ] || echo "${texts[$name]};" | sql "$server" >/dev/null
            used=$(measure "$server" "${texts[$name]}")
            known=${least[$name-$server]:-$used}
            least[$name-$server]=$(awk -v a="$used" -v b="$known" 'BEGIN { print (a < b ? a : b) }')
        done
        echo "round $((round + 1)): $name" >&2
    done
done

{
    echo "query stemdb ${peers[*]}"
    for name in "${chosen[@]}"; do
        printf '%s' "$name"
        for server in stemdb "${peers[@]}"; do printf ' %s' "${least[$name-$server]}"; done
        echo
    done
} | awk '
    NR == 1 {
        printf "| ms of CPU |"
        for (i = 3; i <= NF; i++) printf " %s |", $i
        print " stemdb | the better of them to stemdb |"
        printf "|"
        for (i = 1; i <= NF + 1; i++) printf "---|"
        print ""
        next
    }
    {
        best = $3
        printf "| %s |", $1
        for (i = 3; i <= NF; i++) { printf " %s |", $i; if ($i < best) best = $i; if ($1 ~ /^q/) sum[i] += $i }
        printf " %s | %.2f |\n", $2, best / $2
        if ($1 ~ /^q/) { queries++; own += $2; bests += best; logs += log(best / $2) }
    }
    END {
        if (!queries) exit
        printf "| all q |"
        for (i = 3; i in sum; i++) printf " %.0f |", sum[i]
        printf " %.0f | %.2f |\n| geometric mean |", own, bests / own
        for (i = 3; i in sum; i++) printf " |"
        printf " | %.2f |\n", exp(logs / queries)
    }'
