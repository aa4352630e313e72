#!/usr/bin/env bash
# Builds a secondary index on StemDB and a peer in turn, beside writers and alone. Prints the time, the server's processor
# time, and the writers' updates per second before, during and after the builds, with ratios.
#
#   bench/add_index.sh PEER [ROWS [BUILDS]]
#
# PEER: mariadb or mysql, as for bench/compare.sh; none: StemDB alone. ROWS: of the table (10000000). BUILDS: in a row, for each server (3).
#
# COLUMN: what is indexed: customer, an INT, or note, a VARCHAR(60) (customer). WRITERS: connections that update both
# columns of random rows (4; 0: none). STEMDB: the binary (target/release/stemdb). MEMORY_MIB: buffer pool, or caches (2048).
# ADD_INDEX_DIR: where the rows and data directories go, which later runs use again (var/bench/add-index).
set -euo pipefail
cd "$(dirname "$0")/.."
source bench/servers.sh

[ $# -ge 1 ] || usage
peer=$1 rows=${2:-10000000} builds=${3:-3}
column=${COLUMN:-customer} writers=${WRITERS:-4}
stemdb=${STEMDB:-target/release/stemdb} memory_mib=${MEMORY_MIB:-2048} out=${ADD_INDEX_DIR:-var/bench/add-index}
# Seconds of writers before the first build, and between and after builds.
warm=10 between=5
client=$(command -v mariadb || command -v mysql) || fail "no mariadb or mysql client"
case $peer in
mariadb | mysql) "find_$peer" ;;
none) ;;
*) fail "PEER is mariadb, mysql or none" ;;
esac
[ "$writers" = 0 ] || command -v sysbench >/dev/null || fail "no sysbench"
mkdir -p "$out"
out=$(cd "$out" && pwd)
sysbench_pid=''
stop_all() {
    [ -z "$sysbench_pid" ] || kill "$sysbench_pid" 2>/dev/null || true
    stop_server
}
trap stop_all EXIT

# The rows, by a random number generator with a seed.
make_rows() {
    awk -v rows="$rows" '
    BEGIN {
        srand(17); OFS = "\t"
        split("amber birch cedar delta ember fjord grove hazel ivory jetty karst lemon maple north ocean", words, " ")
        for (id = 1; id <= rows; id++) {
            moment = sprintf("2024-%02d-%02d %02d:%02d:%02d", 1 + rand() * 12, 1 + rand() * 28, rand() * 24, rand() * 60, rand() * 60)
            note = sprintf("%07x ", rand() * 268435456) words[1 + int(rand() * 15)] " " words[1 + int(rand() * 15)] sprintf(" of order %09d", rand() * 1000000000)
            print id, 1 + int(rand() * 1000000), moment, note
        }
    }'
}

file=$out/orders-$rows.tsv
[ -s "$file" ] || {
    make_rows >"$file.part"
    mv "$file.part" "$file"
}

sql() {
    "$client" --no-defaults --local-infile=1 --protocol=TCP -h127.0.0.1 -P"$server_port" -uroot -N -e "$1"
}

# Clock ticks of the server's processor time.
ticks() {
    sed 's/.*) //' "/proc/$server_pid/stat" | awk '{ print $12 + $13 }'
}

now() { date +%s.%N; }

fill() {
    sql "SET GLOBAL local_infile = 1; CREATE DATABASE IF NOT EXISTS bench"
    local stored
    stored=$(sql 'SELECT COUNT(*) FROM bench.orders' 2>/dev/null || true)
    [ "$stored" = "$rows" ] || {
        sql "DROP TABLE IF EXISTS bench.orders; CREATE TABLE bench.orders (id BIGINT AUTO_INCREMENT PRIMARY KEY,
            customer INT NOT NULL, created DATETIME NOT NULL, note VARCHAR(60) NOT NULL) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci"
        sql "LOAD DATA LOCAL INFILE '$file' INTO TABLE bench.orders"
    }
    sql "ALTER TABLE bench.orders DROP INDEX k" 2>/dev/null || true
}

start_writers() {
    sysbench bench/add_index.lua --rows="$rows" --db-driver=mysql --mysql-host=127.0.0.1 --mysql-port="$server_port" \
        --mysql-user=root --mysql-db=bench --threads="$writers" --time=0 --events=0 --report-interval=1 run > >(
            while read -r line; do
                case $line in *tps:*) echo "$(now) $line" ;; esac
            done >"$1"
        ) &
    sysbench_pid=$!
    sleep "$warm"
}

# From the reports of the writers: their mean before the first build, during builds, and between and after them.
summarise() {
    local reports=$1
    shift
    awk -v spans="$*" '
    BEGIN { n = split(spans, at, " ") }
    {
        for (i = 1; i <= NF; i++) if ($i == "tps:") tps = $(i + 1)
        # A report is of the second before it.
        from = $1 - 1; to = $1; when = "between"
        if (NR <= 2) next
        if (to < at[1]) when = "before"
        for (i = 1; i < n; i += 2) if (from >= at[i] - 0.2 && to <= at[i + 1] + 0.2) when = "during"
        sum[when] += tps; count[when]++
    }
    END {
        before = sum["before"] / (count["before"] ? count["before"] : 1)
        during = count["during"] ? sum["during"] / count["during"] : 0
        after = count["between"] ? sum["between"] / count["between"] : 0
        printf "writers: %.0f updates/s before, %.0f during (%d s), %.0f between and after: %.2f of before, %.2f of after\n",
            before, during, count["during"], after, during / before, during / (after ? after : 1)
    }' "$reports"
}

declare -A used
measure() {
    local name=$1 spans='' reports=$out/writers-$1
    fill
    [ "$writers" = 0 ] || start_writers "$reports"
    for ((build = 0; build < builds; build++)); do
        local from begin end
        from=$(ticks) begin=$(now)
        sql "ALTER TABLE bench.orders ADD INDEX k ($column)"
        end=$(now)
        spans+="$begin $end "
        awk -v name="$name" -v a="$begin" -v b="$end" -v ticks="$(($(ticks) - from))" -v hz="$(getconf CLK_TCK)" \
            'BEGIN { printf "%-8s ADD INDEX: %6.1f s, %6.1f s of the server'"'"'s processors\n", name, b - a, ticks / hz }'
        used[$name]+="$(($(ticks) - from)) "
        [ "$writers" = 0 ] || sleep "$between"
        [ $((build + 1)) = "$builds" ] || sql "ALTER TABLE bench.orders DROP INDEX k"
    done
    [ "$writers" = 0 ] || {
        kill "$sysbench_pid" 2>/dev/null || true
        sysbench_pid=''
        summarise "$reports" "$spans"
    }
}

start_stemdb "$stemdb" "$out/stemdb" "$memory_mib"
measure stemdb
stop_server
[ "$peer" != none ] || exit 0
"start_$peer" "$out/$peer" "$memory_mib"
measure "$peer"
stop_server
[ "$writers" != 0 ] ||
    echo "${used[stemdb]}| ${used[$peer]}" | awk -F'|' -v peer="$peer" '
    function middle(list, n, all) { n = split(list, all, " "); asort_(all, n); return all[int((n + 1) / 2)] }
    function asort_(all, n, i, j, t) { for (i = 2; i <= n; i++) for (j = i; j > 1 && all[j - 1] + 0 > all[j] + 0; j--) { t = all[j]; all[j] = all[j - 1]; all[j - 1] = t } }
    { printf "medians: StemDB takes %.2f of the processor time of %s\n", middle($1) / middle($2), peer }'
