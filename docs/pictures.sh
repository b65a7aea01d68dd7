#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of image operators: docs/guide/operators.md, and a picture for each stage, made by `sluice show`. The texts are those
# of `sluice help stages`, so a new stage appears by itself; one with required arguments needs a line in example().
#
#     sh docs/pictures.sh build/bin/sluice                 writes the page and the pictures
#     sh docs/pictures.sh build/bin/sluice FOLDER          the same in another folder
#     sh docs/pictures.sh --page build/bin/sluice          prints the page
#     sh docs/pictures.sh --stages build/bin/sluice        prints the names of its stages
set -eu

mode=all
case ${1:-} in --page | --stages)
    mode=${1#--}
    shift
    ;;
esac
sluice=${1:?usage: pictures.sh [--page | --stages] SLUICE [FOLDER]}
folder=${2:-$(dirname "$0")/guide}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail() {
    echo "pictures.sh: $*" >&2
    exit 1
}

# ---- stages ---------------------------------------------------------------------------------------

# The help of each stage of images in a file of its own, $tmp/NAME.txt, and a line `HEADING<tab>NAME` for each in $tmp/stages.
# Of the batch stages those that change images count.
"$sluice" help stages | awk -v folder="$tmp" '
function flush() {
    if (text != "" && (heading ~ / of images$/ || (heading == "Batches" && text ~ /\n    gives image/))) {
        printf "%s\t%s\n", heading, name
        file = folder "/" name ".txt"
        printf "%s", text > file
        close(file)
    }
    text = ""
}
/^== / { flush(); sub(/^== /, ""); sub(/ ==$/, ""); heading = $0; next }
/^$/ { flush(); next }
{ if (text == "") name = $1; text = text $0 "\n" }
END { flush() }' >"$tmp/stages"
[ -s "$tmp/stages" ] || fail "no stages of images in $sluice help stages"
if [ "$mode" = stages ]; then
    cut -f 2 "$tmp/stages"
    exit
fi

# example NAME: the stage with arguments that show what it does. $after: stages after it; $rows: pictures, one for each pass, or
# `batch`: four samples of one batch; $boxes: the boxes of the samples are drawn.
example() {
    after=
    rows=4
    boxes=
    case $1 in
    decode) rows="batch" && echo decode ;;
    resize) rows=1 && echo resize 48,128 ;;
    center_crop) rows=1 && echo center_crop 64,80 ;;
    random_crop) echo random_crop 64,80 ;;
    random_resized_crop) echo random_resized_crop 96,128 ;;
    random_resize) after='| center_crop 96,128' && echo random_resize 32,96 ;;
    scale_jitter) after='| center_crop 96,128' && echo scale_jitter 96,128 scale=0.3,1.5 ;;
    random_shortest_size) after='| center_crop 96,128' && echo random_shortest_size 40,60,80 max_size=100 ;;
    letterbox) rows=1 && echo letterbox 128 ;;
    pad_image) rows=1 && echo pad_image 16 fill=255,200,0 ;;
    views) rows=2 after='| random_resized_crop 96,128' && echo views 2 ;;
    five_crop) rows=1 && echo five_crop 64,80 ;;
    ten_crop) rows=1 && echo ten_crop 48,64 ;;
    random_zoom_out) after='| resize 96,128' && echo random_zoom_out p=1 ;;
    random_iou_crop) boxes=yes after='| resize 96,128' && echo random_iou_crop ;;
    mosaic) boxes=yes rows="batch" && echo mosaic 96,128 ;;
    color_jitter) echo color_jitter 0.4 0.4 0.4 0.1 ;;
    color_twist) echo color_twist 0.7,1.3 0.7,1.3 0.5,1.5 -20,20 ;;
    random_posterize) rows=1 && echo random_posterize 2 p=1 ;;
    random_solarize) rows=1 && echo random_solarize 128 p=1 ;;
    random_grayscale | random_invert | random_autocontrast | random_equalize) rows=1 && echo "$1" p=1 ;;
    random_erasing) echo random_erasing p=1 ;;
    random_adjust_sharpness) rows=1 && echo random_adjust_sharpness 3 p=1 ;;
    gaussian_blur) echo gaussian_blur 9 0.5,3 ;;
    random_apply) echo 'random_apply 0.5 (rotate 15 | random_invert 1)' ;;
    random_choice) echo 'random_choice (random_invert 1) (rotate 15) (gaussian_blur 9 2)' ;;
    random_order) echo 'random_order (rotate 15) (perspective top_left=30,20)' ;;
    rotate) rows=1 && echo rotate 15 bilinear ;;
    random_rotation) echo random_rotation 30 ;;
    affine) rows=1 && echo affine 10 translate=10,5 scale=0.8 shear=15,0 ;;
    random_affine) echo random_affine 20 translate=0.1,0.1 scale=0.7,1.2 shear=15 ;;
    warp_affine) rows=1 && echo warp_affine 1,0.3,-14,0,1.2,-9 ;;
    perspective) rows=1 && echo perspective top_left=30,10 bottom_right=110,70 ;;
    random_perspective) echo random_perspective p=1 ;;
    elastic) echo elastic 80 4 ;;
    random_horizontal_flip | random_vertical_flip) rows=1 && echo "$1" 1 ;;
    normalize) rows=1 && echo normalize imagenet ;;
    to_dtype) rows=1 && echo to_dtype f32 scale=true ;;
    to_chw) rows=1 && echo to_chw ;;
    mixup) rows="batch" after="batch" && echo mixup 4 ;;
    cutmix) rows="batch" after="batch" && echo cutmix 4 ;;
    *)
        # The usage has required arguments as bare words.
        awk '/^    [^ ]/ { exit } { for (i = 1; i <= NF; i++) if ((NR > 1 || i > 1) && $i !~ /=/) exit 1 }' "$tmp/$1.txt" ||
            fail "stage $1 has required arguments: add an example to example()"
        echo "$1"
        ;;
    esac
}

# ---- the page -------------------------------------------------------------------------------------

page() {
    cat <<'TEXT'
# Image operators

The stages that change images, in the groups of `sluice help stages`, with a picture of each. Their arguments, defaults, bounds and
formulas are in [Stages](stages.md), what they do together and their order in [Transforms of images](transforms.md). This page and
its pictures are made by `docs/pictures.sh` from the help and `sluice show`. Where a stage is random, four passes of one sample are
shown.
TEXT
    last=
    while IFS="$(printf '\t')" read -r heading name; do
        if [ "$heading" != "$last" ]; then
            printf '\n## %s\n' "$heading"
            last=$heading
        fi
        example "$name" >"$tmp/example"
        awk '/^    [^ ]/ && !done { sub(/^ +/, ""); text = $0; done = 1; next }
             done == 1 && /^    [^ ]/ && text !~ /[.]$/ { sub(/^ +/, ""); text = text " " $0; next }
             done { done = 2 }
             END { print text }' "$tmp/$name.txt" >"$tmp/summary"
        printf '\n### %s\n\n%s\n\n![%s](operators/%s.png)\n\n' "$name" "$(cat "$tmp/summary")" "$(cat "$tmp/example")" "$name"
        # shellcheck disable=SC2016 # the page's backquotes
        printf '`%s` ([arguments](stages.md#%s))\n' "$(cat "$tmp/example")" "$name"
    done <"$tmp/stages"
}
if [ "$mode" = page ]; then
    page
    exit
fi

# ---- the pictures that the stages work on ---------------------------------------------------------

# scene NUMBER: a house under the sun, 128 x 96 pixels, as PPM. Numbers change places and colours.
scene() {
    printf 'P6 128 96 255\n'
    awk -v n="$1" '
    function put(r, g, b) { line = line sprintf("\\%03o\\%03o\\%03o", r, g, b) }
    BEGIN {
        left = 20 + 14 * n; top = 44 - 4 * n; sun = 104 - 24 * n
        for (y = 0; y < 96; y++) {
            line = ""
            for (x = 0; x < 128; x++) {
                roof = top - (x < left + 22 ? left + 22 - x : x - left - 22) * -0.7 - 16
                if (x >= left && x < left + 44 && y >= top && y < 78) {
                    if (x >= left + 18 && x < left + 28 && y >= 60) put(96, 56, 40)
                    else if (y >= top + 6 && y < top + 15 && (x - left) % 26 >= 6 && (x - left) % 26 < 15) put(250, 230, 140)
                    else put(200 - 30 * n, 70 + 30 * n, 60 + 20 * n)
                } else if (x >= left - 4 && x < left + 48 && y >= roof && y < top) put(120, 50 + 10 * n, 50)
                else if ((x - sun) ^ 2 + (y - 18) ^ 2 < 100) put(255, 220, 60)
                else if (y >= 72) put(70 + 10 * n, 140 - (y - 72) - (y - 72) % 2, 60)
                else { sky = int(y / 4) * 4; put(90 + sky, 150 + sky, 225 - 10 * n) }
            }
            print line
        }
    }' | while read -r line; do
        # shellcheck disable=SC2059 # the line is octal numbers
        printf "$line"
    done
}
export LC_ALL=C
printf 'image\tlabel\n' >"$tmp/plain.tsv"
printf 'image\tlabel\tboxes:boxes[16]\n' >"$tmp/boxes.tsv"
for n in 0 1 2 3; do
    scene $n >"$tmp/house$n.ppm"
    printf 'house%d.ppm\t%d\n' $n $n >>"$tmp/plain.tsv"
    printf 'house%d.ppm\t%d\t%d,%d,%d,78;%d,8,%d,28\n' $n $n $((16 + 14 * n)) $((28 - 4 * n)) $((68 + 14 * n)) $((94 - 24 * n)) \
        $((114 - 24 * n)) >>"$tmp/boxes.tsv"
done

# ---- a picture for each stage ---------------------------------------------------------------------

mkdir -p "$folder/operators" "$tmp/pictures"
while IFS="$(printf '\t')" read -r heading name; do
    example "$name" >"$tmp/example" # not in a subshell, for its variables
    stage=$(cat "$tmp/example")
    list=$tmp/${boxes:+boxes}.tsv
    [ -n "$boxes" ] || list=$tmp/plain.tsv
    pipeline="image_list $list"
    [ "$name" = decode ] || pipeline="$pipeline | decode"
    if [ "$after" = batch ]; then
        pipeline="$pipeline | batch 4 | $stage"
    else
        pipeline="$pipeline | $stage $after | batch 4"
    fi
    if [ "$rows" = batch ]; then
        set -- --steps 1
    else
        set -- --sample 0 --times "$rows"
    fi
    "$sluice" show "$pipeline" -o "$tmp/pictures/$name.png" --seed 3 "$@" >"$tmp/log" 2>&1 || {
        cat "$tmp/log" >&2
        fail "no picture of $name: $pipeline"
    }
done <"$tmp/stages"
page >"$tmp/operators.md"
rm -f "$folder"/operators/*.png
cp "$tmp"/pictures/*.png "$folder/operators/"
cp "$tmp/operators.md" "$folder/operators.md"
