#!/usr/bin/env bash
# Builds every binary, optimised. It builds the whole workspace at once, so that later commands find the same features of
# dependencies and compile nothing again.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release --workspace --locked
