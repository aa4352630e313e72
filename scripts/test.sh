#!/usr/bin/env bash
# Runs every test: those of the crates, then the black-box tests on the built server. Ends with one line of counts.
#
# STEMDB_CRASH_ROUNDS: rounds of kill -9 (5; `make test-long` has 100).
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}

scripts/install-deps.sh test
scripts/build.sh

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0

echo "== the crates' own tests"
cargo test --release --workspace --locked --no-fail-fast 2>&1 | tee "$log" || failed=1

if command -v go >/dev/null; then
    echo "== the TiKV stand-in's own tests"
    (cd tests/tikv-stand-in && go test ./...) || failed=1
fi

echo "== black-box tests"
"$CARGO_TARGET_DIR/release/stemdb-tests" all --rounds "${STEMDB_CRASH_ROUNDS:-5}" 2>&1 | tee -a "$log" || failed=1

# "test result: ok. 5 passed; 0 failed; 1 ignored; ..." of cargo, "5 passed, 0 failed, 1 skipped" of ours.
awk '
    /^test result:/ { passed += $4; failures += $6; skipped += $8 }
    /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { passed += $1; failures += $3; skipped += $5 }
    END { printf "%d passed, %d failed, %d skipped\n", passed, failures, skipped }
' "$log"
exit "$failed"
