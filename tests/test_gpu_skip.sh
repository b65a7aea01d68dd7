#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The programs for a GPU, where there is none or none is to be seen: they say so and are skipped.
# test_gpu_skip.sh BUILD_DIR; a line for each check, and last
# `gpu_skip: N passed, N failed, N skipped`.
set -u
build=${1:?usage: test_gpu_skip.sh BUILD_DIR}
bin=$build/bin
script=$(dirname "$0")/gpu.sh
title=gpu_skip
. "$(dirname "$0")/shell_kit.sh"
CUDA_VISIBLE_DEVICES=
export CUDA_VISIBLE_DEVICES

lines() { cat "$tmp/out" "$tmp/err" | grep -c "$1"; }

run "$bin/sluice_gpu_check" --list
cp "$tmp/out" "$tmp/names"
check "it lists its checks" [ "$code" -eq 0 ]
count=$(lines '^[a-z0-9_]*$')
check "there are many" [ "$count" -ge 40 ]
named() {
    for one in "$@"; do
        grep -qx "$one" "$tmp/out" || return 1
    done
}
# skips: the names of checks that are skipped for their device.
skips() { sed -n 's/^SKIP \([a-z0-9_]*\): device cuda:0: .*/\1/p' "$tmp/out"; }
# named_in_order NAME...: they stand in the output in this order.
named_in_order() {
    grep -nx "$(printf '%s\n' "$@")" "$tmp/out" | cut -d : -f 2 >"$tmp/found"
    printf '%s\n' "$@" | cmp - "$tmp/found"
}
check "calls, ordering, rates, gaps, nodes and sanitizers are among them" named \
    launches_counted_by_cupti publish_order gather_rate step_gaps_beside_busy_cores \
    batches_on_each_numa_node unrolled shared_library memcheck racecheck synccheck
run "$bin/sluice_gpu_check"
check "without a GPU it exits with 77" [ "$code" -eq 77 ]
check "every check is skipped, with a reason" [ "$(lines '^SKIP [a-z0-9_]*: device cuda:0: ')" -eq "$count" ]
check "it ends with numbers" [ "$(tail -n 1 "$tmp/out")" = "0 passed, 0 failed, $count skipped" ]
run "$bin/sluice_gpu_check" --list --first
check "17 checks and 11 figures come first" [ "$code $(lines '^[a-z0-9_]*$')" = "0 28" ]
check "all of them are checks, none twice" [ "$(sort -u "$tmp/out" | grep -cxf - "$tmp/names")" -eq 28 ]
check "the kernels' bits are the first, figures come behind checks" named_in_order \
    kernel_bits loop modes conversions publish_order channel loop_steps copies_with_words gather_rate
cp "$tmp/out" "$tmp/first"
run "$bin/sluice_gpu_check" --first
check "without a GPU the first ones are skipped, in their order" \
    [ "$code $(skips | cmp - "$tmp/first" 2>&1)" = "77 " ]
run "$bin/sluice_gpu_check" channel loop
check "checks that are named are those that run, in their order" \
    [ "$code $(skips | tr '\n' ' ')" = "77 channel loop " ]
run "$bin/sluice_gpu_check" loop nothing
check "a name that is none runs no check" [ "$code $(lines '^SKIP')" = "2 0" ]
run "$bin/sluice_gpu_check" --only nothing
check "a check that is none is refused" [ "$code" -eq 2 ]
run "$bin/sluice_gpu_check" --only conditional_default_is_zero
check "a check that cannot run fails, with CUDA's reason" [ "$(lines '^FAIL conditional_default_is_zero: cuda.*: ')" -eq 1 ]
for name in publish_order gather_rate step_gaps_beside_busy_cores unrolled \
    loop_steps large_batches copies_with_words loop_turn content_brief; do
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
check "the benchmark refuses other words than its sections" [ "$code $(lines 'memory')" = "2 1" ]
run "$bin/sluice_gpu_bench" copies kernels
check "sections are skipped, too" [ "$code $(lines '^SKIP bench: ')" = "77 1" ]
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
check "gpu.sh says which there are" [ "$(lines 'tests/gpu.sh [a-z]* ')" -ge 4 ]
run sh "$script" what
check "gpu.sh refuses others" [ "$code" -eq 2 ]
run sh "$script" first what
check "gpu.sh refuses words behind first" [ "$code" -eq 2 ]

# The programs of this build, by gpu.sh.
build=$(cd "$build" && pwd)
gpu_sh() { run env BUILD="$build" sh "$script" "$@"; }
gpu_sh first
check "gpu.sh first is skipped with the reason of each" [ "$code $(skips | wc -l)" = "77 28" ]
gpu_sh check channel loop first bench copies
check "gpu.sh runs several commands, each with its words" \
    [ "$code $(skips | wc -l)" = "77 $((2 + 28 + 1))" ]
gpu_sh check nothing first
check "gpu.sh ends at a name that is none" [ "$code $(lines '^SKIP')" = "2 0" ]
run env BUILD="$tmp/none" sh "$script" first
check "gpu.sh says what to do where nothing is built" \
    [ "$code $(lines "run 'sh tests/gpu.sh build' first")" = "1 1" ]

# gpu.sh build with nothing in PATH but what it needs: cmake and ninja that write down how they were called.
mkdir "$tmp/bin"
for tool in sh dirname sed nproc cat; do
    ln -s "$(command -v $tool)" "$tmp/bin/$tool"
done
cat >"$tmp/bin/cmake" <<EOF
#!/bin/sh
echo "cmake \${CMAKE_GENERATOR-none}: \$*" >>"$tmp/cmake"
[ "\$1" != --build ] || exit \$(cat "$tmp/builds")
EOF
printf '#!/bin/sh\n' >"$tmp/bin/ninja"
chmod +x "$tmp/bin/cmake" "$tmp/bin/ninja"
echo 0 >"$tmp/builds"
with_fake_cmake() {
    rm -f "$tmp/cmake"
    run env -u CMAKE_GENERATOR PATH="$tmp/bin" BUILD="$tmp/fake" sh "$script" "$@"
}
cmake_was() { grep -qe "$1" "$tmp/cmake"; }
mkdir -p "$tmp/fake/bin"
with_fake_cmake build -DONE=1 "-DTWO=a b"
check "build needs Ninja alone" [ "$code" -eq 0 ]
check "and says so to CMake" cmake_was '^cmake Ninja: -S . -B .*-DSLUICE_CUDA=ON -DONE=1 -DTWO=a b$'
: >"$tmp/fake/CMakeCache.txt"
with_fake_cmake build
check "a build folder keeps its generator" cmake_was '^cmake none: -S . -B '
rm "$tmp/fake/CMakeCache.txt"
rm "$tmp/bin/ninja"
with_fake_cmake build
check "without Ninja CMake chooses" cmake_was '^cmake none: -S . -B '
ln -s "$build/bin/sluice_gpu_check" "$tmp/fake/bin/sluice_gpu_check"
with_fake_cmake build -DONE=1 first
check "commands behind build are run, and are no words of CMake's" \
    [ "$code $(lines '^SKIP') $(grep -c first "$tmp/cmake")" = "77 28 0" ]
echo 1 >"$tmp/builds"
with_fake_cmake build first
check "a build that fails is the end" [ "$code $(lines '^SKIP')" = "1 0" ]
# program CODE NAME: one that says how it was called.
program() {
    rm -f "$tmp/fake/bin/$2"
    printf '#!/bin/sh\necho "%s: $*"\nexit %s\n' "$2" "$1" >"$tmp/fake/bin/$2"
    chmod +x "$tmp/fake/bin/$2"
}
program 1 sluice_gpu_check
program 0 sluice_gpu_bench
with_fake_cmake first bench copies
check "what fails is the verdict, and the rest runs" \
    [ "$code $(tr '\n' ' ' <"$tmp/out")" = "1 sluice_gpu_check: --first sluice_gpu_bench: copies " ]
program 77 sluice_gpu_check
with_fake_cmake check loop bench copies
check "what passes beside what is skipped is no skip" [ "$code" -eq 0 ]

finish
