#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranges for profilers: a tool that counts them is loaded as profilers are. test_ranges.sh BUILD_DIR;
# a line for each check, and last `ranges: N passed, N failed, N skipped`.
set -u
build=${1:?usage: test_ranges.sh BUILD_DIR}
bin=$build/bin
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0
failed=0
skipped=0

# check NAME COMMAND...
check() {
    name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "ok   $name"
    else
        failed=$((failed + 1))
        echo "FAIL $name"
        sed 's/^/     /' "$tmp/count" "$tmp/log"
    fi
}

if [ ! -e "$build/lib/libnvtx_count.so" ]; then
    echo "SKIP ranges: RANGES FOR PROFILERS WERE NEITHER BUILT NOR TESTED: no nvtx3/nvToolsExt.h, or SLUICE_CUDA=OFF"
    echo "ranges: 0 passed, 0 failed, 1 skipped"
    exit 0
fi

# run NAME DEVICE PIPELINE: then $tmp/count and $tmp/log.
run() {
    rm -f "$tmp/count"
    NVTX_INJECTION64_PATH="$build/lib/libnvtx_count.so" NVTX_COUNT="$tmp/count" \
        "$bin/ranges_run" "$2" "$3" "$tmp/$1" >"$tmp/log" 2>&1
    code=$?
    [ -e "$tmp/count" ] || echo "no tool was loaded" >"$tmp/count"
}

# pushed NAME COUNT; there NAME: at least one.
pushed() { grep -qx "push $1 $2" "$tmp/count"; }
there() { grep -q "^push $1 [1-9]" "$tmp/count"; }
balanced() { grep -qx "open 0" "$tmp/count" && grep -qx "strays 0" "$tmp/count"; }
sums_up() {
    [ "$(sed -n 's/^push .* \([0-9]*\)$/\1/p' "$tmp/count" | awk '{sum += $1} END {print sum}')" = \
        "$(sed -n 's/^pops //p' "$tmp/count")" ]
}

# 6 batches of 2 are trained on, and as many validated on.
run made host:0,copy=1 "synthetic samples=12 shape=8,8,3 | random_horizontal_flip | batch 2"
check "a run with a tool ends well" [ "$code" -eq 0 ]
check "the domain is sluice" grep -qx "domain sluice" "$tmp/count"
check "each sample is read" pushed read 24
check "each sample is converted" pushed convert 24
check "each batch is handed over" pushed batch 12
check "each batch is copied" pushed copy 12
check "each batch is taken" pushed get_next 12
check "each step is there" pushed step 12
check "each sink is there, the validation's too" pushed sink 3
check "sinks are launched" there launch
check "the device is waited for" there "wait for the device"
check "the validation is there" pushed validation 1
check "the checkpoint is there" pushed checkpoint 1
check "every range ends in its thread" balanced
check "there are as many ends as beginnings" sums_up

if [ -x "$bin/sluice" ] && "$bin/sluice" synth "$tmp/data" --classes 2 --per-class 10 --size 32 >/dev/null 2>&1; then
    printf 'no picture' >"$tmp/data/train/$(ls "$tmp/data/train" | head -n 1)/bad.jpg"
    files="image_folder $tmp/data/train | take 12 | decode | center_crop 24 | batch 2"
    run files host:0 "$files"
    check "a run over files ends as it would without a tool" [ "$code" -ne 0 ]
    check "a sample that fails ends its range" balanced
    find "$tmp/data" -name bad.jpg -exec rm {} +
    run more host:0 "$files"
    check "a run over files ends well" [ "$code" -eq 0 ]
    check "each sample is decoded" pushed decode 24
    check "every range of it ends in its thread" balanced
else
    echo "SKIP ranges of files: sluice synth makes none"
    skipped=1
fi

# Without a tool, and with one that is not there.
rm -f "$tmp/count"
NVTX_INJECTION64_PATH="$tmp/nothing.so" "$bin/ranges_run" host:0 "synthetic samples=12 | batch 2" "$tmp/none" \
    >"$tmp/log" 2>&1
check "a tool that cannot be loaded is no harm" [ $? -eq 0 ]
exports_nothing() { ! nm -D --defined-only "$build/lib/libsluice.so" | grep -i nvtx; }
check "the library exports nothing of NVTX" exports_nothing

echo "ranges: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
