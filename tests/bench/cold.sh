#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How fast a set of images is read from the disk and from the page cache: images per second of wall
# time, all cores, random crops to 224; class folders, a pack at random, and a pack in sequence.
#
#     cold.sh BUILD_DIR FOLDER [ROUNDS] [STAGES]   FOLDER/CLASS/*.jpg; rounds in turn (5), medians
#
# Cold: a run with cache=drop before it has made the system forget the files' bytes (not their
# names and places). The pack is written beside FOLDER's parent, to the same disk. Nothing to see
# where the file system keeps files in memory, or the host caches the disk. A table in Markdown.
set -eu
[ $# -ge 2 ] || { sed -n '3,10s/^# \{0,1\}//p' "$0" >&2; exit 2; }
bin=$1/bin
folder=$2
rounds=${3:-5}
stages=${4:-decode | random_resized_crop 224 | random_horizontal_flip 0.5 | batch 64}
tmp=$(mktemp -d "${TMPDIR:-$(dirname "$folder")}/sluice-cold-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
[ -x "$bin/sluice" ] || { echo "no sluice in $bin" >&2; exit 1; }
"$bin/sluice" pack "$folder" "$tmp/pack" >/dev/null

# rate NAME SOURCE STAGES: images a second of an epoch
rate() {
    "$bin/sluice" bench "$2 | $3 $stages" --epochs 1 --json 2>/dev/null |
        grep -o '"samples_per_s":[0-9.]*' | head -n 1 | cut -d: -f2 >>"$tmp/rates-$1"
}
# both NAME SOURCE STAGES: cold after cold, cold without readahead, warm after warm
both() {
    rate dropped "$2 cache=drop" "$3"
    rate "$1-cold" "$2 cache=drop" "$3"
    SLUICE_READAHEAD=off rate "$1-alone" "$2 cache=drop" "$3"
    rate filled "$2" "$3"
    rate "$1-warm" "$2" "$3"
}
for round in $(seq "$rounds"); do
    both folder "image_folder $folder" "shuffle |"
    both pack "webdataset $tmp/pack" "shuffle |"
    both stream "webdataset $tmp/pack access=stream" ""
    echo "round $round of $rounds" >&2
done

median() { sort -n "$tmp/rates-$1" | awk '{v[NR] = $1} END {printf "%.0f", v[int((NR + 1) / 2)]}'; }
row() { echo "| $2 | $(median "$1-cold") | $(median "$1-alone") | $(median "$1-warm") |"; }
echo "| images a second | cold | cold, no readahead | warm |"
echo "| --- | --- | --- | --- |"
row folder "class folders, shuffled"
row pack "pack, shuffled"
row stream "pack, in sequence"
