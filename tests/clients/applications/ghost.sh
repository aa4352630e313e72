#!/usr/bin/env bash
# Installs Ghost into $OUT/ghost, where it stays until another version is wanted here. Its package is made for Yarn 1,
# and the yarn.lock in it pins everything it needs.
set -euo pipefail

version=5.130.6
digest=f91213dec239b55a8407c60ee8621349a7828f9f4bb448ef9747718d2b13b6b0

[[ -e $OUT/ghost/complete-$version ]] && exit 0
rm -rf "$OUT/ghost"
mkdir -p "$OUT/ghost"
cd "$OUT/ghost"
npm pack --silent "ghost@$version" >/dev/null
sha256sum --quiet --check <<<"$digest  ghost-$version.tgz"
tar -xzf "ghost-$version.tgz" --strip-components=1
rm "ghost-$version.tgz"
# Packages come from the registry that npm uses. Without those for development, which Yarn fetches even if it does not
# install them, and which are elsewhere in part; without the optional ones, which are native: SQLite, pictures.
sed -i -E "s#^(  resolved \")https://[^/]*/#\1$(npm config get registry)#" yarn.lock
node -e '
    const fs = require("node:fs");
    const { devDependencies, optionalDependencies, ...rest } = JSON.parse(fs.readFileSync("package.json"));
    fs.writeFileSync("package.json", JSON.stringify(rest, null, 2));'
"$OUT/node_modules/.bin/yarn" install --production --ignore-optional --ignore-scripts --non-interactive --silent \
    --no-progress --cache-folder "$OUT/ghost/yarn-cache" >&2
rm -rf yarn-cache
touch "complete-$version"
