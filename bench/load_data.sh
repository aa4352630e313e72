#!/usr/bin/env bash
# Loads one file into the order workload's main table (1 unique and 13 other secondary indexes) with LOAD DATA LOCAL
# INFILE, on StemDB and a peer in turn. Prints seconds, CPU time per row, and ratios.
#
#   bench/load_data.sh PEER [ROWS [PAIRS]]
#
# PEER: mariadb or mysql, as for bench/compare.sh. ROWS: rows of the file, about 1.1 kB each (300000). PAIRS: how often each
# server loads it, each time into a new table (3).
#
# STEMDB: the binary (target/release/stemdb). MEMORY_MIB: size of the buffer pool or caches (1024). LOAD_DATA_DIR: the
# directory of files and data (var/bench/load-data).
set -euo pipefail
cd "$(dirname "$0")/.."
source bench/servers.sh

[ $# -ge 1 ] || usage
peer=$1 rows=${2:-300000} pairs=${3:-3}
stemdb=${STEMDB:-target/release/stemdb} memory_mib=${MEMORY_MIB:-1024} out=${LOAD_DATA_DIR:-var/bench/load-data}
client=$(command -v mariadb || command -v mysql) || fail "no mariadb or mysql client"
case $peer in
mariadb | mysql) "find_$peer" ;;
*) fail "PEER is mariadb or mysql" ;;
esac
mkdir -p "$out"
out=$(cd "$out" && pwd)
trap 'stop_server' EXIT

# Prints the rows, made from a fixed seed. Keys are spread over their whole range.
make_rows() {
    awk -v rows="$rows" '
    function hex(digits, text) {
        for (text = ""; length(text) < digits;) text = text sprintf("%07x", int(rand() * 268435456))
        return substr(text, 1, digits)
    }
    function number() { return sprintf("%d%09d", 1 + int(rand() * 922336), int(rand() * 1000000000)) }
    function moment(fraction) {
        return sprintf("2024-%02d-%02d %02d:%02d:%02d%s", 1 + rand() * 12, 1 + rand() * 28, rand() * 24, rand() * 60,
            rand() * 60, fraction ? sprintf(".%03d", rand() * 1000) : "")
    }
    BEGIN {
        srand(17); OFS = "\t"
        street = "Long Street in a Town with a Name of Some Length, Building "
        for (id = 1; id <= rows; id++) {
            key = hex(16)
            attributes = ""
            for (n = 0; n < 8; n++) attributes = attributes "\"attribute" n "\": \"" hex(14) " of the order, as text\", "
            print id, "ORD-" key, number(), number(), int(rand() * 500), number(), "INV-" hex(16), "PAY-" hex(24), \
                (rand() < 0.7 ? "\\N" : "C" hex(8)), "customer." hex(12) "@mail.example", "+49" sprintf("%010d", rand() * 10000000000), \
                hex(32), int(rand() * 8), "EUR", sprintf("%.2f", rand() * 1000), sprintf("%.2f", rand() * 200), "0.00", \
                street int(rand() * 1000) ", 10115 Berlin, Germany", street int(rand() * 1000) ", 20095 Hamburg, Germany", \
                attributes, moment(1), moment(1), moment(0)
        }
    }'
}

file=$out/orders-$rows.tsv
[ -s "$file" ] || {
    make_rows >"$file.part"
    mv "$file.part" "$file"
}
create=$(sed -n '/^const ORDERS: &str = "/,/^)";/p' crates/loadgen/src/orders/schema.rs | sed 's/^const ORDERS: &str = "//;s/";$//')

sql() {
    "$client" --no-defaults --local-infile=1 --protocol=TCP -h127.0.0.1 -P"$server_port" -uroot -e "$1"
}

# The server's CPU time in clock ticks.
ticks() {
    sed 's/.*) //' "/proc/$server_pid/stat" | awk '{ print $12 + $13 }'
}

declare -A seconds cpu
load() {
    local name=$1 begin from
    sql "SET GLOBAL local_infile = 1; CREATE DATABASE IF NOT EXISTS shop"
    sql "DROP TABLE IF EXISTS shop.orders; USE shop; SET time_zone = '+00:00'; $create"
    from=$(ticks) begin=$(date +%s.%N)
    sql "SET time_zone = '+00:00'; LOAD DATA LOCAL INFILE '$file' INTO TABLE shop.orders"
    local end to
    end=$(date +%s.%N) to=$(ticks)
    [ "$(sql 'SELECT COUNT(*) FROM shop.orders' | tail -1)" = "$rows" ] || fail "$name has not loaded all rows"
    local took used
    took=$(awk -v a="$begin" -v b="$end" 'BEGIN { printf "%.2f", b - a }')
    used=$(awk -v a="$from" -v b="$to" -v hz="$(getconf CLK_TCK)" -v rows="$rows" 'BEGIN { printf "%.1f", (b - a) / hz / rows * 1e6 }')
    seconds[$name]+="$took " cpu[$name]+="$used "
    printf '%-8s %8s s  %6s us of server CPU time per row\n' "$name" "$took" "$used"
}

middle() {
    tr ' ' '\n' <<<"$1" | sed '/^$/d' | sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
}

for ((pair = 0; pair < pairs; pair++)); do
    start_stemdb "$stemdb" "$out/stemdb" "$memory_mib"
    load stemdb
    stop_server
    "start_$peer" "$out/$peer" "$memory_mib"
    load "$peer"
    stop_server
done
echo "$(middle "${seconds[stemdb]}") $(middle "${seconds[$peer]}") $(middle "${cpu[stemdb]}") $(middle "${cpu[$peer]}")" |
    awk -v peer="$peer" '{ printf "medians: StemDB loads %.2f times the rows/s of %s, with %.2f times its CPU time\n", $2 / $1, peer, $3 / $4 }'
