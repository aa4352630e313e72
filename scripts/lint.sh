#!/usr/bin/env bash
# Format, lints and documentation, warnings denied.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo fmt --all --check
cargo clippy --release --workspace --all-targets --locked -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps --document-private-items --locked
for script in scripts/*.sh bench/*.sh tests/clients/cli/*.sh .ci/run; do
    bash -n "$script"
done
scripts/check-deploy.sh
if command -v go >/dev/null; then
    (cd tests/tikv-stand-in && test -z "$(gofmt -l .)" && go vet ./...)
fi
