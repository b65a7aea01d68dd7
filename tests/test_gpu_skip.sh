#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The programs for a GPU, where there is none or none is to be seen: they say so and are skipped.
# test_gpu_skip.sh BUILD_DIR; a line for each check, and last
# `gpu_skip: N passed, N failed, N skipped`.
set -u
bin=${1:?usage: test_gpu_skip.sh BUILD_DIR}/bin
script=$(dirname "$0")/gpu.sh
title=gpu_skip
. "$(dirname "$0")/shell_kit.sh"
CUDA_VISIBLE_DEVICES=
export CUDA_VISIBLE_DEVICES

lines() { cat "$tmp/out" "$tmp/err" | grep -c "$1"; }

run "$bin/sluice_gpu_check" --list
check "it lists its checks" [ "$code" -eq 0 ]
count=$(lines '^[a-z0-9_]*$')
check "there are many" [ "$count" -ge 40 ]
named() {
    for one in "$@"; do
        grep -qx "$one" "$tmp/out" || return 1
    done
}
check "calls, ordering, rates, gaps, nodes and sanitizers are among them" named \
    launches_counted_by_cupti publish_order gather_rate step_gaps_beside_busy_cores \
    batches_on_each_numa_node unrolled shared_library memcheck racecheck synccheck
run "$bin/sluice_gpu_check"
check "without a GPU it exits with 77" [ "$code" -eq 77 ]
check "every check is skipped, with a reason" [ "$(lines '^SKIP [a-z0-9_]*: device cuda:0: ')" -eq "$count" ]
check "it ends with numbers" [ "$(tail -n 1 "$tmp/out")" = "0 passed, 0 failed, $count skipped" ]
run "$bin/sluice_gpu_check" --only nothing
check "a check that is none is refused" [ "$code" -eq 2 ]
run "$bin/sluice_gpu_check" --only conditional_default_is_zero
check "a check that cannot run fails, with CUDA's reason" [ "$(lines '^FAIL conditional_default_is_zero: cuda.*: ')" -eq 1 ]
for name in publish_order gather_rate step_gaps_beside_busy_cores unrolled; do
    run "$bin/sluice_gpu_check" --only "$name"
    check "$name without a GPU fails, and not by a crash" \
        [ "$code $(lines "^FAIL $name: .")" = "1 1" ]
done
run "$bin/sluice_gpu_check" --only launches_counted_by_cupti
check "without a driver, or without CUPTI, calls are not counted" \
    [ "$(lines '^\(SKIP\|FAIL\) launches_counted_by_cupti: .')" -eq 1 ]
if ! command -v compute-sanitizer >/dev/null; then
    run "$bin/sluice_gpu_check" --only synccheck
    check "a sanitizer that is not there is said where to find" \
        [ "$code $(lines '^SKIP synccheck: .*cuda-sanitizer')" = "0 1" ]
fi
run "$bin/sluice_gpu_check" --only one --too
check "more words are refused" [ "$code" -eq 2 ]
run "$bin/sluice_gpu_bench"
check "the benchmark is skipped, too" [ "$code" -eq 77 ]
check "with a reason" [ "$(lines '^SKIP bench: device cuda:0: ')" -eq 1 ]
run "$bin/sluice_gpu_bench" what
check "the benchmark refuses words" [ "$code" -eq 2 ]
run "$bin/sluice_gpu_bench" --columns
columns=$(cat "$tmp/out")
check "the benchmark names its columns" [ "$(echo "$columns" | tr ',' '\n' | wc -l)" -eq 15 ]
if [ -n "$python" ]; then
    export PYTHONDONTWRITEBYTECODE=1
    run "$python" "$(dirname "$script")/bench/torch_graph.py" --columns
    check "torch's rows have the same columns" [ "$(cat "$tmp/out")" = "$columns" ]
    run "$python" -c "import sys
sys.path.insert(0, '$(dirname "$script")/bench')
import torch_graph
print(torch_graph.row((50, 4000000), 3000, 1.5, 4000.0, 16.0, 30, 0.1875, 0.375))"
    check "and the same form" [ "$(cat "$tmp/out")" = \
        "torch graph,50,4000000,100,3000,1.500,2000.0,0.5000,8.000,0.5000,3000,30,0,0.1250,0.2500" ]
    run "$python" "$(dirname "$script")/bench/torch_graph.py"
    check "torch without itself, or without a GPU, is skipped with a reason" \
        [ "$code $(lines '^SKIP torch: ')" = "77 1" ]
else
    skip "torch's rows" "no python3"
fi
run sh "$script"
check "gpu.sh wants a command" [ "$code" -eq 2 ]
check "gpu.sh says which there are" [ "$(lines 'tests/gpu.sh [a-z]* ')" -ge 3 ]
run sh "$script" what
check "gpu.sh refuses others" [ "$code" -eq 2 ]

finish
