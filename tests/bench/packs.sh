#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What each way to keep a set of JPEG files costs and gives: bytes, and CPU time for a random crop to
# 224, uint8, of the whole process, one worker on one core, start-up and reading included.
#
#     packs.sh BUILD_DIR FOLDER [ROUNDS]       FOLDER/CLASS/*.jpg; rounds in turn (3), medians
#
# U is the rate of decoding alone (bench_decode) of the same files in the same round. Prints a table
# in Markdown.
set -eu
[ $# -ge 2 ] || { sed -n '3,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
bin=$1/bin
folder=$2
rounds=${3:-3}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
[ -x "$bin/sluice" ] && [ -x "$bin/bench_decode" ] || { echo "no sluice and bench_decode in $bin" >&2; exit 1; }

# pack NAME OPTIONS...: into $tmp/NAME, and what it took
pack() {
    name=$1
    shift
    "$bin/sluice" pack "$folder" "$tmp/$name" "$@" --json >"$tmp/$name.json" 2>/dev/null
    echo "packed $name" >&2
}
pack lossless
pack plain --interval 0
pack small --max-side 400 --quality 90 --subsampling 420
pack small-plain --max-side 400 --quality 90 --subsampling 420 --interval 0
pack raw --raw --max-side 400

crop="shuffle seed=7 | decode | random_resized_crop 224 | random_horizontal_flip 0.5 | batch 64"
# rate NAME SOURCE: its images per CPU second, in U, noted for NAME
rate() {
    taskset -c 0 "$bin/sluice" bench "$2 | $crop" --epochs 5 --workers 1 --json 2>/dev/null |
        sed 's/.*"cpu_s_per_1000_samples":\([0-9.e-]*\).*/\1/' |
        awk -v u="$unit" '{print u / 1000 / $1}' >>"$tmp/rates-$1"
}
for round in $(seq "$rounds"); do
    unit=$(taskset -c 0 "$bin/bench_decode" "$folder" 1 | sed 's/.*out, \([0-9.]*\) .*/\1/')
    rate folder "image_folder $folder"
    [ "$round" -gt 1 ] || "$bin/sluice" bench "image_folder $folder index=$tmp/index | $crop" --epochs 1 \
        --workers 1 >/dev/null 2>&1
    rate index "image_folder $folder index=$tmp/index"
    for name in plain lossless small-plain small raw; do
        rate "$name" "webdataset $tmp/$name/*.tar"
    done
    echo "round $round of $rounds" >&2
done

median() { sort -n "$tmp/rates-$1" | awk '{v[NR] = $1} END {printf "%.2f", v[int((NR + 1) / 2)]}'; }
bytes() { find "$1" -type f -printf '%s\n' | awk '{n += $1} END {print n}'; }
source=$(bytes "$folder")
row() { # row NAME BYTES WORDS
    echo "$2 $source" | awk -v words="$3" -v rate="$(median "$1")" '{printf "| %s | %.2f | %s U |\n", words, $1 / $2, rate}'
}
echo "| kept as | bytes | rate |"
echo "| --- | --- | --- |"
row folder "$source" "class folders"
row index "$((source + $(bytes "$tmp/index")))" "class folders, with index=DIR, from the second pass on"
row plain "$(bytes "$tmp/plain")" "pack --interval 0 (not cut)"
row lossless "$(bytes "$tmp/lossless")" "pack"
row small-plain "$(bytes "$tmp/small-plain")" "pack --max-side 400 --quality 90 --subsampling 420 --interval 0 (not cut)"
row small "$(bytes "$tmp/small")" "pack --max-side 400 --quality 90 --subsampling 420"
row raw "$(bytes "$tmp/raw")" "pack --raw --max-side 400"
