#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs of the tool and suites of sluice_unit under valgrind: nothing uninitialised decides, nothing
# is read or written beyond its end, nothing is lost.
# valgrind.sh BUILD_DIR; a line for each, and last `valgrind: N passed, N failed, N skipped`.
set -u
bin=${1:?usage: valgrind.sh BUILD_DIR}/bin
title=valgrind
. "$(dirname "$0")/shell_kit.sh"
command -v valgrind >/dev/null || skip_rest "it is not installed"

evidence() { grep -e '==' -e FAIL "$tmp/out" | head -n 30; }

memcheck="valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect --fair-sched=yes"

# ended NAME WANT CODE: did it end as it should, and valgrind find nothing?
ended() { if [ "$3" -eq "$2" ]; then pass "$1"; else fail "$1"; fi; }

# clean NAME EXIT PROGRAM...: does it end with EXIT, and valgrind find nothing?
clean() {
    name=$1
    want=$2
    shift 2
    $memcheck "$@" >"$tmp/out" 2>&1
    ended "$name" "$want" $?
}

"$bin/sluice" synth "$tmp/set" --classes 2 --per-class 10 --size 48 >"$tmp/out" || exit 1
echo "no picture" >"$tmp/set/train/000-disc-stripes/bad.jpg"
images="image_folder $tmp/set/train | shuffle | decode | random_resized_crop 32"
images="$images | random_horizontal_flip 0.5 | normalize imagenet | to_chw | batch 4"
for mode in direct data graph loop; do
    clean "pictures, $mode mode" 0 "$bin/sluice" bench "$images" --epochs 2 --workers 2 \
        --mode $mode --on-error replace --digest --ids "$tmp/ids" --json
done
clean "pictures, copied" 0 "$bin/sluice" bench "$images" --workers 2 --on-error zero \
    --device host:0,copy=1 --digest
on_device=$(echo "$images" | sed 's/imagenet/& offload=device/')
clean "pictures, converted by the device" 0 "$bin/sluice" bench "$on_device" --workers 2 \
    --on-error zero --device host:0,copy=1
clean "a picture that is none" 1 "$bin/sluice" bench "$images" --workers 2
# Widths of photographs: lines of an odd length, no multiple of a vector. Digests that are written
# tell whether an output depends on what was not.
for width in 499 333; do
    "$bin/sluice" synth "$tmp/$width" --classes 1 --per-class 5 --size $width >"$tmp/out" || exit 1
    clean "pictures $width wide" 0 "$bin/sluice" bench \
        "image_folder $tmp/$width/train | take 2 | decode | resize 224,224 | batch 1" --workers 1 \
        --digests "$tmp/digests"
done
mkdir -p "$tmp/widths/class"
for width in 333 499; do # the second one takes more memory
    cp "$tmp/$width"/train/*/00000.jpg "$tmp/widths/class/$width.jpg"
done
clean "pictures of two widths" 0 "$bin/sluice" bench \
    "image_folder $tmp/widths | decode | resize 224,224 | batch 1" --workers 1 --digests "$tmp/digests"
for suite in text queue_batches queue_ends queue_memory queue_stats source_image_folder \
    source_cifar10 source_synthetic tar_reader shard_index file_list source_webdataset pnm \
    pipeline_text pipeline_errors pipeline_calls group_calls png error_samples hooks; do
    echo "$suite"
done | xargs -P "$(nproc)" -I SUITE sh -c "$memcheck '$bin/sluice_unit' -s SUITE >'$tmp/SUITE.out' 2>&1
    echo \$? >'$tmp/SUITE.code'" # valgrind runs one thread at a time, so there are as many as cores
for code in "$tmp"/*.code; do
    suite=$(basename "$code" .code)
    cp "$tmp/$suite.out" "$tmp/out"
    ended "suite $suite" 0 "$(cat "$code")"
done
finish
