#!/usr/bin/env bash
# Computes how many cores a load needs, from the inputs in the table of docs/scale-out.md.
#
#   scale-model.sh            prints the results
#   scale-model.sh --check    fails if the document shows other results
set -euo pipefail
cd "$(dirname "$0")/.."
document=docs/scale-out.md

results() {
    awk -F' *[|] *' '
        # | `name` | value | ...
        $2 ~ /^`[a-z_]+`$/ && $3 ~ /^[0-9.,]+$/ { gsub(/`/, "", $2); gsub(/,/, "", $3); v[$2] = $3 }
        function need(name) {
            if (!(name in v)) { print "no input " name > "/dev/stderr"; failed = 1; exit 1 }
            return v[name]
        }
        function row(what, load, sql, store, all) {
            all = (sql + store) / need("utilisation")
            printf "| %s | %.0f | %.0f | %.0f | %.0f | %.1f |\n", what, sql, store, sql + store, all, all / need("record_cpus")
        }
        END {
            if (failed) exit 1
            reads = need("reads_per_s"); inserts = need("inserts_per_s")
            transactions = inserts / need("inserts_per_transaction")
            print "| load | SQL cores busy | PD and TiKV cores busy | together | cores to provide | of the record |"
            print "|---|---|---|---|---|---|"
            by_key = reads * (need("sql_us_per_read") + need("client_us_per_request")) / 1e6
            row("reads by primary key", reads, by_key, reads * need("store_us_per_read") / 1e6)
            requests = need("requests_per_mixed_read")
            mixed = reads * (need("sql_us_per_read") + requests * need("client_us_per_request")) / 1e6
            row("reads by the mix of keys", reads, mixed, reads * requests * need("store_us_per_read") / 1e6)
            locks = need("lock_requests_per_transaction"); writes = need("write_requests_per_transaction")
            sql = need("inserts_per_transaction") * need("sql_us_per_insert") + (locks + writes) * need("client_us_per_request")
            store = locks * need("store_us_per_read") + writes * need("store_us_per_write")
            row("inserts, at most", inserts, transactions * sql / 1e6, transactions * store / 1e6)
        }
    ' "$document"
}

if [[ ${1:-} == --check ]]; then
    results | diff <(sed -n '/<!-- scale-model.sh -->/,/<!-- end -->/p' "$document" | sed '1d;$d') - >&2 ||
        { echo "$document shows other results than scripts/scale-model.sh prints" >&2; exit 1; }
else
    results
fi
