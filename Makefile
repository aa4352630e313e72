# The commands for developers. HACKING.md describes them; scripts/ implements them.
#
# One cargo profile (release) serves building, testing and the demo, so that nothing is compiled twice.

export PD
export CARGO_TARGET_DIR ?= $(CURDIR)/target

.PHONY: build demo demo-cluster test test-long test-cluster lint

build:
	scripts/install-deps.sh build
	scripts/build.sh

demo: build
	scripts/demo.sh

# PD=HOST:PORT names the cluster. Without it, the TiKV stand-in of the tests is used.
demo-cluster: build
	scripts/install-deps.sh cluster
	scripts/demo-cluster.sh

test:
	scripts/test.sh

test-long:
	STEMDB_CRASH_ROUNDS=100 scripts/test.sh

# On a real cluster: make test-cluster PD=HOST:PORT
test-cluster:
	scripts/test-cluster.sh

lint:
	scripts/lint.sh
	scripts/check-deploy.sh
