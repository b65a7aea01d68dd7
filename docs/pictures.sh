#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The page of image operators: docs/guide/operators.md, and a picture for each stage, made by `sluice show`. The texts are those
# of `sluice help stages` and the examples those of `sluice help STAGE`, so a new stage appears by itself.
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

# example NAME: the example in its help, else the name.
example() {
    "$sluice" help stages "$1" | sed -n 's/^    Example: //p' >"$tmp/example"
    [ -s "$tmp/example" ] || {
        # The usage has required arguments as bare words.
        awk '/^    [^ ]/ { exit } { for (i = 1; i <= NF; i++) if ((NR > 1 || i > 1) && $i !~ /=/) exit 1 }' "$tmp/$1.txt" ||
            fail "stage $1 has required arguments: add an example to its stage_def"
        echo "$1" >"$tmp/example"
    }
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
        example "$name"
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
# picture NAME LIST SEED [--times N]: a picture of four samples, or of N passes of one.
picture() {
    name=$1 list=$2 seed=$3
    shift 3
    [ $# = 0 ] || set -- --sample 0 "$@"
    [ $# -gt 0 ] || set -- --steps 1
    pipeline="image_list $list | decode"
    [ "$name" = decode ] || pipeline="$pipeline | $(cat "$tmp/example")"
    case $pipeline in *"| batch "*) ;; *) pipeline="$pipeline | batch 4" ;; esac
    "$sluice" show "$pipeline" -o "$tmp/pictures/$name.png" --seed "$seed" "$@" >"$tmp/log" 2>&1
}

while IFS="$(printf '\t')" read -r heading name; do
    example "$name"
    list=$tmp/plain.tsv
    grep -qw boxes "$tmp/$name.txt" && list=$tmp/boxes.tsv
    if grep -q '| *batch\|^batch\|^mosaic' "$tmp/example"; then
        picture "$name" "$list" 3
    else
        # One picture where other seeds give the same.
        times=1
        for seed in 4 5 6 7 8 3; do
            picture "$name" "$list" "$seed" --times 1 || break
            [ "$seed" = 4 ] || cmp -s "$tmp/other.png" "$tmp/pictures/$name.png" || times=4
            cp "$tmp/pictures/$name.png" "$tmp/other.png"
        done
        picture "$name" "$list" 3 --times "$times"
    fi || {
        cat "$tmp/log" >&2
        fail "no picture of $name: $pipeline"
    }
done <"$tmp/stages"
page >"$tmp/operators.md"
rm -f "$folder"/operators/*.png
cp "$tmp"/pictures/*.png "$folder/operators/"
cp "$tmp/operators.md" "$folder/operators.md"
