#!/bin/sh
# Builds the stand-in: build.sh OUT. Needs Go and its module proxy the first time, and only Go afterwards.
set -eu
out=${1:?usage: build.sh OUT}
case $out in
    /*) ;;
    *) out=$PWD/$out ;;
esac
cd "$(dirname "$0")"
exec env CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -buildvcs=false -o "$out" .
