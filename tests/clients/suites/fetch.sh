#!/usr/bin/env bash
# Unpacks the source packages of sources.txt, which have the test suites, into $OUT/sources. They stay there until
# sources.txt changes.
set -euo pipefail

cmp -s sources.txt "$OUT/sources/complete" && exit 0
rm -rf "$OUT/sources"
mkdir -p "$OUT/sources"
"$OUT/venv/bin/python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary sqlalchemy,django \
    --require-hashes -r sources.txt -d "$OUT/sources"
for package in "$OUT"/sources/*.tar.gz; do
    tar -xzf "$package" -C "$OUT/sources"
    rm "$package"
done
cp sources.txt "$OUT/sources/complete"
