#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What the stage `device` saves the host: a worker's CPU time for an image of 224 x 224 in us, with
# stages before `device` and after it.
#
#     device_saves.sh BUILD_DIR FOLDER         FOLDER/CLASS/*.jpg, 50 of them
#
# Medians of 7 rounds in which both take turns. Prints a table in Markdown.
set -eu
[ $# -eq 2 ] || { sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
bench=$1/bin/bench_operators
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$1/bin/sluice" show "image_folder $2 | take 50 | decode | resize 224,224 | batch 50" --npy "$tmp" >"$tmp/shown"
tail -c $((50 * 224 * 224 * 3)) "$tmp/image.npy" >"$tmp/images"

# time_of STAGES: us of an image.
time_of() {
    echo "time $1" | "$bench" "$tmp/images" 224
}

median() {
    sort -n "$1" | sed -n 4p
}

printf '| stages | before `device` | after it | saved |\n| --- | --- | --- | --- |\n'
while read -r stages; do
    : >"$tmp/before"
    : >"$tmp/after"
    for _ in 1 2 3 4 5 6 7; do
        time_of "$stages" >>"$tmp/before"
        time_of "device | $stages" >>"$tmp/after"
    done
    echo "$stages;$(median "$tmp/before");$(median "$tmp/after")" |
        awk -F ';' '{gsub(/\|/, "\\|", $1); printf "| `%s` | %.1f | %.1f | %.1f |\n", $1, $2, $3, $2 - $3}'
done <<'END'
normalize imagenet | to_chw
random_horizontal_flip 1
random_vertical_flip 1
color_jitter 0.4
color_jitter 0 0 0.4
color_jitter 0 0 0 0.1
random_grayscale 1
random_invert 1
random_posterize 3 1
random_solarize 128 1
random_rotation 30
random_rotation 30 filter=bilinear
random_affine 30 translate=0.1,0.1
random_affine 30 translate=0.1,0.1 filter=bilinear
random_perspective 0.5 1 filter=nearest
random_perspective 0.5 1
random_erasing 1
random_affine 30 filter=bilinear | color_jitter 0.4 0 0.4 0.1 | random_horizontal_flip | random_erasing 0.5 | normalize imagenet | to_chw
END
