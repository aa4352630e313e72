# The commands a developer needs; HACKING.md lists them, scripts/ has what they do.
#
# One cargo profile (release) serves building, testing and the demo, so that nothing is compiled twice.

export CARGO_TARGET_DIR ?= $(CURDIR)/target

.PHONY: build demo test test-long lint

build:
	scripts/install-deps.sh build
	scripts/build.sh

demo: build
	scripts/demo.sh

test:
	scripts/test.sh

test-long:
	STEMDB_CRASH_ROUNDS=100 scripts/test.sh

lint:
	scripts/lint.sh
