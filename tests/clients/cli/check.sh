#!/usr/bin/env bash
# The function `check`, for the scripts of this directory, which source it. `failed` is 1 after a check that failed.
failed=0

# check NAME EXPECTED COMMAND...: runs the command and compares what it prints, errors included.
check() {
    local name=$1 expected=$2 got
    shift 2
    got=$("$@" 2>&1)
    if [[ $got == "$expected" ]]; then
        echo "ok $name"
    else
        failed=1
        echo "FAIL $name: got '${got//$'\n'/ | }', expected '${expected//$'\n'/ | }'"
    fi
}
