#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The programs for a GPU, where there is none or none is to be seen: they say so and are skipped.
# test_gpu_skip.sh BUILD_DIR; a line for each check, and last
# `gpu_skip: N passed, N failed, N skipped`.
set -u
bin=${1:?usage: test_gpu_skip.sh BUILD_DIR}/bin
script=$(dirname "$0")/gpu.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0
failed=0
code=0
CUDA_VISIBLE_DEVICES=
export CUDA_VISIBLE_DEVICES

# check NAME COMMAND...
check() {
    name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "ok   $name"
    else
        failed=$((failed + 1))
        echo "FAIL $name: exit $code; $(head -c 500 "$tmp/out")"
    fi
}

# run COMMAND...: then $code and $tmp/out.
run() {
    "$@" >"$tmp/out" 2>&1
    code=$?
}

lines() { grep -c "$1" "$tmp/out"; }

run "$bin/sluice_gpu_check" --list
check "it lists its checks" [ "$code" -eq 0 ]
count=$(lines '^[a-z0-9_]*$')
check "there are many" [ "$count" -ge 20 ]
run "$bin/sluice_gpu_check"
check "without a GPU it exits with 77" [ "$code" -eq 77 ]
check "every check is skipped, with a reason" [ "$(lines '^SKIP [a-z0-9_]*: device cuda:0: ')" -eq "$count" ]
check "it ends with numbers" [ "$(tail -n 1 "$tmp/out")" = "0 passed, 0 failed, $count skipped" ]
run "$bin/sluice_gpu_check" --only nothing
check "a check that is none is refused" [ "$code" -eq 2 ]
run "$bin/sluice_gpu_check" --only conditional_default_is_zero
check "a check that cannot run fails, with CUDA's reason" [ "$(lines '^FAIL conditional_default_is_zero: cuda.*: ')" -eq 1 ]
run "$bin/sluice_gpu_bench"
check "the benchmark is skipped, too" [ "$code" -eq 77 ]
run sh "$script"
check "gpu.sh wants a command" [ "$code" -eq 2 ]
check "gpu.sh says which there are" [ "$(lines 'tests/gpu.sh [a-z]* ')" -ge 3 ]
run sh "$script" what
check "gpu.sh refuses others" [ "$code" -eq 2 ]

echo "gpu_skip: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
