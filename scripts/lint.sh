#!/usr/bin/env bash
# Format, lints and documentation, warnings denied.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh lint

cargo fmt --all --check
for script in .ci/run bench/*.sh deploy/*.sh scripts/*.sh scripts/rocksdb-c++ tests/clients/*/*.sh tests/tikv-stand-in/*.sh; do
    bash -n "$script"
done
# docs/unsafe.md must list exactly the files that allow unsafe code.
diff <(grep -rlE --include='*.rs' '(allow|expect)\(unsafe_code' crates fuzz tests | sort) \
    <(sed -n 's/^| `\([^`]*\.rs\)` .*/\1/p' docs/unsafe.md | sort) >&2 ||
    { echo "docs/unsafe.md lists other files than those that allow unsafe code" >&2; exit 1; }
if command -v gofmt >/dev/null; then
    unformatted=$(gofmt -l deploy/check tests/clients/go tests/tikv-stand-in)
    [[ -z $unformatted ]] || { printf 'not formatted (run gofmt -w):\n%s\n' "$unformatted" >&2; exit 1; }
    (cd tests/tikv-stand-in && go vet ./...)
else
    echo "lint: Go is not installed, skipped: gofmt and go vet" >&2
fi

cargo clippy --release --workspace --all-targets --locked -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps --document-private-items --locked
