#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranges for profilers: a tool that counts them is loaded as profilers are. test_ranges.sh BUILD_DIR;
# a line for each check, and last `ranges: N passed, N failed, N skipped`.
set -u
build=${1:?usage: test_ranges.sh BUILD_DIR}
bin=$build/bin
title=ranges
. "$(dirname "$0")/shell_kit.sh"

evidence() { sed 's/^/     /' "$tmp/count" "$tmp/out" "$tmp/err" "$tmp/log"; }

[ -e "$build/lib/libnvtx_count.so" ] || skip_rest "RANGES FOR PROFILERS WERE NEITHER BUILT NOR TESTED" \
    "no nvtx3/nvToolsExt.h, or SLUICE_CUDA=OFF"

# count NAME DEVICE PIPELINE: runs it with the tool; then $code, and its counts in $tmp/count.
count() {
    rm -f "$tmp/count"
    run env NVTX_INJECTION64_PATH="$build/lib/libnvtx_count.so" NVTX_COUNT="$tmp/count" \
        "$bin/ranges_run" "$2" "$3" "$tmp/$1"
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
count made host:0,copy=1 "synthetic samples=12 shape=8,8,3 | random_horizontal_flip | batch 2"
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
check "the checkpoint is there, before the validation and after it" pushed checkpoint 2
check "every range ends in its thread" balanced
check "there are as many ends as beginnings" sums_up

if [ -x "$bin/sluice" ] && "$bin/sluice" synth "$tmp/data" --classes 2 --per-class 10 --size 32 >/dev/null 2>&1; then
    printf 'no picture' >"$tmp/data/train/$(ls "$tmp/data/train" | head -n 1)/bad.jpg"
    files="image_folder $tmp/data/train | take 12 | decode | center_crop 24 | batch 2"
    count files host:0 "$files"
    check "a run over files ends as it would without a tool" [ "$code" -ne 0 ]
    check "a sample that fails ends its range" balanced
    find "$tmp/data" -name bad.jpg -exec rm {} +
    count more host:0 "$files"
    check "a run over files ends well" [ "$code" -eq 0 ]
    check "each sample is decoded" pushed decode 24
    check "every range of it ends in its thread" balanced
else
    skip "files" "sluice synth makes none"
fi

# Without a tool, and with one that is not there.
ends "a tool that cannot be loaded is no harm" 0 env NVTX_INJECTION64_PATH="$tmp/nothing.so" \
    "$bin/ranges_run" host:0 "synthetic samples=12 | batch 2" "$tmp/none"
exports_nothing() { ! nm -D --defined-only "$build/lib/libsluice.so" | grep -i nvtx; }
check "the library exports nothing of NVTX" exports_nothing

finish
