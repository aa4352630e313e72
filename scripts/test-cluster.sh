#!/usr/bin/env bash
# Runs the tests that need a cluster on a real one: the key-value contract, the SQL corpus, concurrency, a driver and
# sysbench, two nodes together, splits and outages under load, kill -9 of a SQL node during commits and during a backfill,
# a rolling restart, and the demo through HAProxy on two nodes.
#
#   PD=HOST:PORT[,HOST:PORT...][/KEYSPACE] scripts/test-cluster.sh
#
# Use a cluster that has no other purpose: the tests drop databases with their names, create and drop accounts, and
# collect all old versions. STEMDB_CRASH_ROUNDS: rounds of kill -9 (3). STEMDB_HARM: a shell command that causes a fault
# and repairs it, for example `kill -9` of a TiKV and its restart. It runs six times, under load.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}

if [[ -z ${PD:-} ]]; then
    echo "which cluster? make test-cluster PD=HOST:PORT" >&2
    exit 2
fi
scripts/install-deps.sh cluster
scripts/build.sh

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
step() {
    local name=$1
    shift
    echo "== $name"
    "$@" 2>&1 | tee -a "$log" || failed=1
}
tests=("$CARGO_TARGET_DIR/release/stemdb-tests" --store "tikv://$PD")

step "the key-value contract" env STEMDB_TEST_PD="$PD" \
    cargo test --release --workspace --locked --test contract -- --test-threads=1
step "the SQL corpus" "${tests[@]}" sql
step "concurrency" "${tests[@]}" concurrency
step "clients" "${tests[@]}" clients go sysbench
step "pushdown, ids, nodes, regions, rolling restart" "${tests[@]}" tikv coprocessor ids nodes regions rolling
step "splits and outages under load" "${tests[@]}" tikv faults ${STEMDB_HARM:+--harm "$STEMDB_HARM"}
step "kill -9 of a SQL node that fills an index" "${tests[@]}" tikv backfill
step "kill -9 of a SQL node" "${tests[@]}" crash --rounds "${STEMDB_CRASH_ROUNDS:-3}"
step "two nodes behind HAProxy" scripts/demo-cluster.sh

awk '
    /^test result:/ { passed += $4; failures += $6; skipped += $8 }
    /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { passed += $1; failures += $3; skipped += $5 }
    END { printf "%d passed, %d failed, %d skipped\n", passed, failures, skipped }
' "$log"
exit "$failed"
