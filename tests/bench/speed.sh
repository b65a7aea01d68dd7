#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CPU time of the whole process a picture, against decoding alone (U: bench_decode), one worker on
# one core; rounds in turn, medians. Any folder of JPEGs in class folders will do.
#
#   speed.sh BUILD_DIR FOLDER [ROUNDS]        of photographs: crops of 224 as uint8, and as f32
#   speed.sh BUILD_DIR --small FOLDER [ROUNDS]   of small pictures: decoded, mirrored, normalised
set -eu
bin=${1:?usage: speed.sh BUILD_DIR [--small] FOLDER [ROUNDS]}/bin
shift
small=""
[ "${1-}" != --small ] || { small=1; shift; }
folder=${1:?usage: speed.sh BUILD_DIR [--small] FOLDER [ROUNDS]}
rounds=${2:-5}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# cpu PIPELINE EPOCHS: milliseconds of CPU for 1000 pictures
cpu() {
    taskset -c 0 "$bin/sluice" bench "$1" --epochs "$2" --workers 1 --json 2>/dev/null |
        sed 's/.*"samples":\([0-9]*\).*"cpu_s_per_1000_samples":\([0-9.e-]*\).*/\1 \2/'
}
unit() { taskset -c 0 "$bin/bench_decode" "$folder" "$1" | sed 's/.*out, \([0-9.]*\) .*/\1/'; }
median() { sort -n "$tmp/$1" | awk '{v[NR] = $1} END {printf "%.3f", v[int((NR + 1) / 2)]}'; }

images="image_folder $folder | shuffle seed=7 | decode"
[ -x "$bin/bench_decode" ] && [ -x "$bin/sluice" ] || { echo "no sluice and bench_decode in $bin" >&2; exit 1; }
for round in $(seq "$rounds"); do
    if [ -n "$small" ]; then
        p="$images | random_horizontal_flip 0.5 | normalize imagenet | to_chw | batch 128"
        u=$(unit 1)
        # Passes after the first: what four take less what one takes.
        echo "$(cpu "$p" 1) $(cpu "$p" 4) $u" |
            awk '{print ($3 * $4 - $1 * $2) / ($3 - $1) * 1000 / $5}' >>"$tmp/small"
    else
        u=$(unit 1)
        crop="$images | random_resized_crop 224 | random_horizontal_flip 0.5"
        byte=$(cpu "$crop | batch 64" 5 | cut -d' ' -f2)
        float=$(cpu "$crop | normalize imagenet | to_chw | batch 64" 5 | cut -d' ' -f2)
        echo "$u $byte" | awk '{print $1 / 1000 / $2}' >>"$tmp/byte"
        echo "$u $float" | awk '{print $1 / 1000 / $2}' >>"$tmp/float"
        echo "$float $byte" | awk '{print $1 / $2}' >>"$tmp/ratio"
    fi
    echo "round $round of $rounds" >&2
done
if [ -n "$small" ]; then
    echo "CPU of a picture after the first pass: $(median small) x decoding alone"
else
    echo "uint8 $(median byte) U, f32 $(median float) U, f32 takes $(median ratio) x the CPU of uint8"
fi
