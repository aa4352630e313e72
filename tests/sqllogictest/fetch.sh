#!/usr/bin/env bash
# Puts the corpus into $OUT: the package that package.txt names (Maven coordinates, then the SHA-256 of its file). It stays
# there until package.txt changes.
set -euo pipefail

cmp -s package.txt "$OUT/complete" && exit 0
read -r package hash <package.txt
rm -rf "$OUT/new"
mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dartifact="$package" \
    -DoutputDirectory="$OUT/new" -Dmdep.stripVersion=true
echo "$hash  $OUT/new/sql-logic-test.jar" | sha256sum --check --quiet
mv "$OUT/new/sql-logic-test.jar" "$OUT/corpus.jar"
rmdir "$OUT/new"
cp package.txt "$OUT/complete"
