#!/usr/bin/env bash
# Builds every binary, optimised. The whole workspace at once: features are the same for all that comes after.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release --workspace --locked
