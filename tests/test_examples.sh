#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pictures of `sluice synth`, and the program that trains on them, with tiny sizes.
# test_examples.sh BUILD_DIR; a line for each check, and last `examples: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_examples.sh BUILD_DIR}" && pwd)
bin=$build/bin
title=examples
. "$(dirname "$0")/shell_kit.sh"

files() { find "$1" -type f | wc -l; }
differ() { ! cmp -s "$1" "$2"; }
synth() { "$bin/sluice" synth "$@"; }
train() { "$bin/train_image_folder" "$@" --size 16 --batch 8; }

# ---- sluice synth --------------------------------------------------------------------------------

tiny="--classes 3 --per-class 20 --size 24"
first=000-disc-stripes/00000.jpg
# shellcheck disable=SC2086
{
    ends "synth makes a set" 0 synth "$tmp/a" $tiny
    check "synth says what it made" out_has '3 classes, 48 pictures in train, 12 in test'
    check "no progress without a terminal" [ ! -s "$tmp/err" ]
    check "a class has four fifths in train" [ "$(files "$tmp/a/train")" -eq 48 ]
    check "a class has a fifth in test" [ "$(files "$tmp/a/test")" -eq 12 ]
    mkdir "$tmp/b"
    ends "an empty folder will do" 0 synth "$tmp/b" $tiny
    check "equal options make equal bytes" diff -r "$tmp/a" "$tmp/b"
    synth "$tmp/c" $tiny --seed 2 >"$tmp/out"
    check "another seed makes other pictures" differ "$tmp/a/train/$first" "$tmp/c/train/$first"
    ends "a folder in use is refused" 1 synth "$tmp/a" $tiny
    check "the refusal says what to do" err_has 'not empty; name another'
    check "the refusal touches nothing" diff -r "$tmp/a" "$tmp/b"
    ends "a file is no folder" 1 synth "$tmp/a/train/$first" $tiny
    ends "a folder that cannot be made is an error" 1 synth "$tmp/nowhere/d" $tiny
}
# shellcheck disable=SC2016
ends "a write that fails is an error" 1 \
    sh -c 'trap "" XFSZ; ulimit -f 8; "$0" synth "$1" --size 512 --classes 1' "$bin/sluice" "$tmp/d"
check "a write that fails names the file" err_has "cannot write .*/d/train/$first: File too large"
check "a class too many gets a hue" [ "$(synth "$tmp/e" --classes 21 --per-class 5 --size 8 |
    wc -l) $(find "$tmp/e/test" -name '*-hue1')" = "1 $tmp/e/test/020-disc-stripes-hue1" ]
for wrong in "--classes 0" "--classes 1001" "--per-class 4" "--size 7" "--quality 0" \
    "--quality 101" "--seed x" "--pictures 5" "more words"; do
    # shellcheck disable=SC2086
    ends "synth $wrong is wrong" 2 synth "$tmp/f" $wrong
done
ends "synth wants a folder" 2 synth
check "wrong words make nothing" [ ! -e "$tmp/f" ]

# interrupted PATTERN FILE COMMAND...: interrupts it once the file holds the pattern.
interrupted() {
    pattern=$1
    file=$2
    shift 2
    : >"$tmp/out"
    "$@" >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    until grep -qse "$pattern" "$file" || ! kill -0 $pid 2>/dev/null; do :; done
    kill "-${signal-INT}" $pid
    wait $pid
    code=$?
}

interrupted JFIF "$tmp/g/train/$first" "$bin/sluice" synth "$tmp/g" --per-class 100000
check "SIGINT ends synth with 130" [ "$code" -eq 130 ]
check "an interrupted synth says what there is" err_has 'stopped; .* of 1000000 pictures'

# ---- train_image_folder --------------------------------------------------------------------------

# results NAME: what a run must have in common with others, kept as $tmp/NAME.
results() {
    grep -e '^step .* of' -e '^network digest' -e '^test accuracy' "$tmp/out" >"$tmp/$1"
}

ends "it trains" 0 train "$tmp/a/train" "$tmp/a/test" --epochs 5 --sink-size 6
results loop
check "it prints losses" out_has '^step 6 of 30: loss [0-9.]*, accuracy'
check "it prints the plan" out_has '^plan: '
check "it prints the report" out_has '^decode '
check "it tests every picture once" out_has '^test accuracy: .* % ([0-9]* of 12)$'
for how in "direct 5 6" "data 5 6" "graph 6 5" "loop 30 1" "auto 5 -1"; do
    # shellcheck disable=SC2086
    set -- $how
    ends "mode $1 with $2 sinks of $3 runs" 0 train "$tmp/a/train" "$tmp/a/test" \
        --mode "$1" --epochs "$2" --sink-size "$3" --workers 3
    results other
    check "mode $1 with $2 sinks of $3 gives the same bits" cmp "$tmp/loop" "$tmp/other"
done
run train "$tmp/a/train" "$tmp/a/test" --epochs 5 --sink-size 6 --seed 7
results other
check "another seed gives others" differ "$tmp/loop" "$tmp/other"

ends "it trains on a part of one folder" 0 train "$tmp/a/train" --epochs 1 --sink-size 2
check "it tests on what it held out" out_has '^test accuracy: .* % ([0-9]* of [1-9][0-9]*)$'
for epochs in 6 12; do # the second goes on where the first ended
    ends "it saves and goes on, $epochs epochs" 0 train "$tmp/a/train" "$tmp/a/test" \
        --epochs "$epochs" --sink-size 2 --lr 0 --checkpoints "$tmp/saved"
done
check "it says where it went on" out_has '^began at step 12, wrote 2 checkpoints$'
saving() {
    run train "$tmp/a/train" "$tmp/a/test" --epochs 12 --sink-size 2 --checkpoints "$tmp/$1"
    grep -e digest -e accuracy: "$tmp/out" >"$tmp/$1.result"
}
saving unbroken
cp -r "$tmp/unbroken" "$tmp/broken"
rm -r "$tmp/broken/step-000000000024" # as if killed after step 20
saving broken
check "a resumed training ends with the same network" cmp -s "$tmp/unbroken.result" \
    "$tmp/broken.result"
check "it did go on" out_has '^began at step 20, '
echo "no picture" >"$tmp/c/train/$first"
ends "a bad picture is replaced" 0 train "$tmp/c/train" "$tmp/c/test" --epochs 1 --sink-size -1
check "a bad picture is named" out_has "$first"
mv "$tmp/c/test/000-disc-stripes" "$tmp/c/test/disc"
ends "other classes in the test are refused" 1 train "$tmp/c/train" "$tmp/c/test"
check "the class that is not in both is named" err_has 'class 000-disc-stripes is in .*/train, but not in .*/test'
ends "a folder that is missing is an error" 1 train "$tmp/nowhere"
ends "a device that is none is an error" 1 train "$tmp/a/train" --device nowhere:0
check "the device is named" err_has 'nowhere:0'
for wrong in "--device" "--epochs 0" "--batch x" "--size 20" "--mode fast" "--what 1" "--epochs"; do
    # shellcheck disable=SC2086
    ends "$wrong is wrong" 2 "$bin/train_image_folder" "$tmp/a/train" $wrong
done
ends "three folders are wrong" 2 train my own pictures
check "... with a hint at quotes" err_has 'got 3; quote a path with spaces'
# on_terminal TERM: what a training writes to a terminal of that kind, in $tmp/out.
on_terminal() {
    env TERM="$1" "$python" -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$bin/train_image_folder" \
        "$tmp/a/train" "$tmp/a/test" --size 16 --batch 8 --epochs 1 </dev/null >"$tmp/out" 2>"$tmp/err"
}
escapes() { tr -cd '\033' <"$tmp/out" | wc -c; }
if [ -n "$python" ] && on_terminal xterm && out_has 'test accuracy'; then
    check "it draws a bar on a terminal" [ "$(escapes)" -gt 0 ]
    on_terminal dumb
    check "... and writes no escape sequences with TERM=dumb" [ "$(escapes)" -eq 0 ]
else
    skip "a terminal" "no python3, or no pseudo terminal"
fi
interrupted '^step ' "$tmp/out" "$bin/train_image_folder" "$tmp/a/train" --size 16 --batch 8 \
    --epochs 1000000
check "SIGINT ends the training with 130" [ "$code" -eq 130 ]
check "an interrupted training ends with a report" out_has '^decode '
signal=TERM interrupted '^step ' "$tmp/out" "$bin/train_image_folder" "$tmp/a/train" --size 16 \
    --batch 8 --epochs 1000000
check "SIGTERM ends the training with 143" [ "$code" -eq 143 ]
"$bin/train_image_folder" "$tmp/a/train" --size 16 --batch 8 --epochs 1000000 >"$tmp/out" \
    2>"$tmp/err" &
pid=$!
until out_has '^step ' || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
kill -s USR1 $pid
until err_has '^time  *seconds' || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
check "SIGUSR1 prints the report of a training so far" err_has '^bottleneck: '
check "... and it goes on" kill -s INT $pid
wait $pid
code=$?
check "... until it is stopped" [ "$code" -eq 130 ]

# ---- the saved network ---------------------------------------------------------------------------

# after LINE: the command that stands below that line in the output, without its indent.
after() { sed -n "/$1/{n;s/^ *//p;}" "$tmp/out"; }

mkdir "$tmp/a net" # a name that a shell needs quotes for
run train "$tmp/a/train" "$tmp/a/test" --epochs 30 --sink-size 6 --checkpoints "$tmp/a net/it's"
check "it says where the network is" out_has "^the network is saved in $tmp/a net/it's: "
classify=$(after '^to classify a picture:')
resume=$(after '^to train on')
right=$(sed -n 's/^test accuracy: .*(\([0-9]*\) of 12)$/\1/p' "$tmp/out")
ends "the printed command classifies pictures" 0 sh -c 'cd "$1" && eval "$2"' - "$tmp/a/test" \
    "$(echo "$classify" | sed 's,PICTURE,*/*.jpg,')"
check "each picture has a line with three classes" [ "$(grep -cE \
    '^[^ ]+\.jpg: [^ ]+ [0-9.]+ %, [^ ]+ [0-9.]+ %, [^ ]+ [0-9.]+ %$' "$tmp/out")" -eq 12 ]
check "as many answers are right as in the test of the training" [ "$(awk -F '[/ ]' \
    '$1 == $3' "$tmp/out" | wc -l)" = "$right" ]
ends "the printed command trains on" 0 sh -c "$resume"
check "it trains on to twice the epochs" out_has '^step 360 of 360: '
check "it trains on from the checkpoint" out_has '^began at step 180, '

echo "no picture" >"$tmp/text.jpg"
printf '....ftypavif' >"$tmp/photo.avif"
mkdir "$tmp/links"
classify() { TMPDIR="$tmp/links" "$bin/train_image_folder" --classify --checkpoints "$tmp/a net/it's" "$@"; }
ends "a picture that cannot be read ends it with 1" 1 classify "$tmp/text.jpg" "$tmp/photo.avif" \
    "$tmp/nowhere.jpg" "$tmp/a" "$tmp/a/train/$first"
check "the others are classified" out_has "^$tmp/a/train/$first: "
check "a text is no picture" err_has "^$tmp/text.jpg: not an image of a supported format"
check "an unsupported format is named" err_has "^$tmp/photo.avif: unsupported format: an AVIF file"
check "a picture that is missing is named" err_has "^$tmp/nowhere.jpg: cannot open it: No such file"
check "a folder is no picture" err_has "^$tmp/a: not a file"
check "nothing is left of the links" sh -c '! ls -A "$1" | grep .' - "$tmp/links"
# an escape sequence, CSI in UTF-8 and in one byte, a letter, half a letter
nasty=$(printf 'b\033[31m\302\233\233\304\233\304.jpg')
cp "$tmp/a/train/$first" "$tmp/$nasty"
run classify "$tmp/$nasty"
check "control characters of names are not printed" out_has "/b?\[31m???$(printf '\304\233')?.jpg: "
ends "a folder without checkpoints is an error" 1 "$bin/train_image_folder" --classify "$tmp/text.jpg" \
    --checkpoints "$tmp/a"
check "the folder is named" err_has "no checkpoint in $tmp/a; "
for folder in "$tmp/a net/it's"/step-*; do printf 'size 32\na\0b/\nc/\n' >"$folder/classes.txt"; done
ends "a class whose name has a zero byte is an error" 1 classify "$tmp/a/train/$first"
check "the file is named" err_has 'classes.txt does not list classes'
for folder in "$tmp/a net/it's"/step-*; do rm "$folder/classes.txt"; done
ends "a checkpoint of an older version cannot classify" 1 classify "$tmp/a/train/$first"
check "the error says what to try" err_has 'classes.txt: No such file.*train on, with more --epochs'
ends "--classify without a network is wrong" 2 "$bin/train_image_folder" --classify "$tmp/text.jpg"
ends "--help prints the help" 0 "$bin/train_image_folder" --help
check "the help is on stdout" out_has '^usage: train_image_folder TRAIN_DIR'

# few COUNT: a folder of 2 classes of so many pictures; which of them are held out follows from names.
few() {
    rm -rf "$tmp/few"
    for class in x y; do
        mkdir -p "$tmp/few/$class"
        find "$tmp/a/train/000-disc-stripes" -name '*.jpg' | sort | head -n "$1" | xargs -I {} cp {} "$tmp/few/$class"
    done
}
few 1
ends "a split that leaves no test pictures is an error" 1 "$bin/train_image_folder" "$tmp/few" --size 16 --batch 1
check "the error counts pictures" \
    err_has "^of the 2 pictures in $tmp/few, 2 are left to train on and 0 held out .* of test pictures:$"
check "... and shows the command with TEST_DIR" err_has "^    $bin/train_image_folder $tmp/few TEST_DIR$"
few 8
ends "a batch of more pictures than there are is an error" 1 "$bin/train_image_folder" "$tmp/few" --size 16
check "the error says which --batch would do" err_has "pictures of $tmp/few to train on .*; use --batch [0-9]"
rm -r "$tmp/few/y"
run "$bin/train_image_folder" "$tmp/few" --size 16 --batch 2 --epochs 1 --sink-size 1
check "one class only is questioned" err_has '^only one class, .*CLASS/FILE'

# ---- double_buffer -------------------------------------------------------------------------------

ends "a loop that holds two batches" 0 "$bin/double_buffer"
cut -d ' ' -f 1 "$tmp/out" | sort -n >"$tmp/labels"
i=0
while [ $i -lt 60 ]; do
    echo $i
    i=$((i + 1))
done >"$tmp/expected"
check "reads each label once" cmp -s "$tmp/labels" "$tmp/expected"
check "reads pixels of each" [ "$(grep -cE '^[0-9]+ 0\.[0-9]{3}$' "$tmp/out")" -eq 60 ]

# ---- custom_source -------------------------------------------------------------------------------

# 60 records of a class and 24 * 32 * 3 bytes of one value: the number of the record, and 100 more.
i=0
while [ $i -lt 60 ]; do
    # shellcheck disable=SC2059
    printf "\\$(printf %03o $i)"
    dd if=/dev/zero bs=2304 count=1 2>/dev/null | tr '\0' "\\$(printf %03o $((i + 100)))"
    i=$((i + 1))
done >"$tmp/records"
ends "a source of one's own" 0 "$bin/custom_source" "$tmp/records"
sort -n "$tmp/out" >"$tmp/labels"
awk 'BEGIN {for (i = 0; i < 60; i++) print i, i + 100}' >"$tmp/expected"
check "gives each record once" cmp -s "$tmp/labels" "$tmp/expected"
check "... shuffled" differ "$tmp/out" "$tmp/expected"
head -c 100 "$tmp/records" >"$tmp/short"
ends "a file without a record is an error" 1 "$bin/custom_source" "$tmp/short"
check "... with its text" err_has '^E_INVALID: no valid data in the dataset: records: count is 0'

# ---- custom_stream -------------------------------------------------------------------------------

printf 'a b\n\nmany words of one line\nlast' >"$tmp/lines"
ends "a stream of one's own" 0 "$bin/custom_stream" "$tmp/lines" 6
printf '3 a b\n0 \n22 many words of one line\n4 last\n3 a b\n0 \n' >"$tmp/expected"
check "gives each line, and goes on in the next pass" cmp -s "$tmp/out" "$tmp/expected"
ends "a file that is not there is an error" 1 "$bin/custom_stream" "$tmp/none" 1
check "... with its text" err_has '^E_IO: .*cannot open FILE'

# ---- custom_map ----------------------------------------------------------------------------------

ends "an augmentation of one's own" 0 "$bin/custom_map"
check "each image is there once" [ "$(cut -d' ' -f1 "$tmp/out" | sort -nu | wc -l)" -eq 64 ]
check "... with a hole of 8 x 8" [ "$(awk '$2 >= 64 && $2 < 128' "$tmp/out" | wc -l)" -eq 64 ]
cp "$tmp/out" "$tmp/first"
ends "once more" 0 "$bin/custom_map"
check "... with the same holes" cmp -s "$tmp/first" "$tmp/out"

# ---- custom_geometry -----------------------------------------------------------------------------

ends "geometry of one's own" 0 "$bin/custom_geometry"
check "gives each sample" [ "$(grep -c '^box ' "$tmp/out")" -eq 40 ]
check "... with boxes around what they were around" [ "$(awk '{
    for (i = 2; i <= 5; i++) {
        if ($i - $(i + 5) > 1 || $(i + 5) - $i > 1) n++
    }
} END { print n + 0 }' "$tmp/out")" -eq 0 ]
check "... that have moved" [ "$(cut -d' ' -f2-5 "$tmp/out" | sort -u | wc -l)" -gt 35 ]

# ---- custom_filter -------------------------------------------------------------------------------

ends "a choice of samples of one's own" 0 "$bin/custom_filter"
check "keeps some samples, each once" [ "$(cut -d' ' -f1 "$tmp/out" | sort -n | uniq -u | wc -l)" -eq "$(wc -l <"$tmp/out")" ]
check "... but not all" [ "$(wc -l <"$tmp/out")" -gt 20 -a "$(wc -l <"$tmp/out")" -lt 280 ]
check "... those that are bright" [ "$(awk '$2 <= 128' "$tmp/out" | wc -l)" -eq 0 ]

# ---- custom_batch --------------------------------------------------------------------------------

ends "mixup of one's own" 0 "$bin/custom_batch"
check "gives each row" [ "$(wc -l <"$tmp/out")" -eq 64 ]
check "... with shares of labels that add up to 1" \
    [ "$(awk '{s = $1 + $2 + $3 + $4} s < 0.99999 || s > 1.00001' "$tmp/out" | wc -l)" -eq 0 ]
check "... some of them mixed" grep -q '0\.[0-9].* 0\.[0-9]' "$tmp/out"

# ---- memory_arrays -------------------------------------------------------------------------------

ends "arrays of a program" 0 "$bin/memory_arrays"
check "... are those of the regression" out_has '^1\.000 -2\.000 0\.500$'

# ---- device_warp, where nvcc built it -------------------------------------------------------------

if [ -x "$bin/device_warp" ]; then
    ends "device_warp runs on the host" 0 "$bin/device_warp" host:0
    check "... its map and the stage agree" out_has '^[0-9]* of 1572864 values differ, by at most 1$'
    run "$bin/device_warp" cuda:0
    if [ "$code" -eq 77 ]; then
        check "device_warp says why it does nothing on cuda:0" err_has '^device cuda:0: .*; use host:0'
    else
        check "device_warp agrees on cuda:0" [ "$code" -eq 0 ]
    fi
else
    skip "device_warp" "there is no nvcc"
fi

# ---- own_kernels, where nvcc built it -------------------------------------------------------------

if [ -x "$bin/own_kernels" ]; then
    run "$bin/own_kernels"
    if [ "$code" -eq 77 ]; then
        check "own_kernels says why it does nothing" err_has '^device cuda:0: .*; use host:0'
    else
        check "own_kernels ends well" [ "$code" -eq 0 ]
        check "own_kernels learns" out_has '^epoch: 10 step: 1000, loss is 0\.0'
        cuda() { train "$tmp/a/train" "$tmp/a/test" --device cuda:0 "$@"; }
        ends "it trains on cuda:0" 0 cuda --epochs 5 --sink-size 6
        results cuda
        run cuda --epochs 10 --sink-size 3 --mode direct
        results other
        check "mode direct on cuda:0 gives the same bits" cmp "$tmp/cuda" "$tmp/other"
        for epochs in 10 20; do
            run cuda --epochs $epochs --sink-size 2 --lr 0 --checkpoints "$tmp/cuda-saved"
        done
        check "it goes on from a checkpoint on cuda:0" out_has '^began at step 20, '
        grep '^network digest' "$tmp/out" >"$tmp/cuda.digest"
        run train "$tmp/a/train" "$tmp/a/test" --epochs 20 --sink-size 2 --lr 0
        grep '^network digest' "$tmp/out" >"$tmp/host.digest"
        check "an untrained network is the same on both" cmp "$tmp/cuda.digest" "$tmp/host.digest"
    fi
fi

# ---- quickstart.sh: what it answers before it builds ---------------------------------------------

quickstart=$(dirname "$0")/../examples/quickstart.sh
ends "quickstart.sh tells what it does" 0 sh "$quickstart" --help
check "the help of quickstart.sh names its argument" out_has 'quickstart.sh DIR *on your own'
ends "quickstart.sh wants a folder that is there" 2 sh "$quickstart" "$tmp/nowhere"
ends "quickstart.sh wants one folder" 2 sh "$quickstart" "$tmp/a" "$tmp/b"

# pictures FILE...: a folder $tmp/own of such files, each the same picture.
pictures() {
    rm -rf "$tmp/own"
    for file; do
        mkdir -p "$(dirname "$tmp/own/$file")"
        cp "$tmp/a/train/$first" "$tmp/own/$file"
    done
}
refused() { [ "$code" -eq 1 ] && ! grep packages "$tmp/out"; }
quick() { run sh "$quickstart" "$tmp/own"; }
pictures a/1.heic a/2.HEIC a/3.webp a/4.txt 5.jpg
quick
check "quickstart.sh refuses a folder without pictures before it builds" refused
check "it counts what it skips" out_has 'skipped: 2 .heic, 1 .txt, 1 .webp; they must be .jpg, .jpeg or .png$'
check "it says what to do with HEIC" out_has 'HEIC, .* convert these files to JPEG'
check "it counts pictures in no class folder" out_has 'skipped: 1 picture outside of class folders'
pictures a/1.jpg a/2.PNG
quick
check "quickstart.sh refuses one class" refused
check "it names the class" err_has 'are of one class, a, so there is nothing to learn'
check "it counts one class" out_has ': 2 pictures in 1 class$'
pictures a/1.jpg b/1.jpg c/1.jpg
quick
check "quickstart.sh refuses one picture per class" refused
check "it says why" err_has 'every class in .* has one picture. Is it the right folder?'
pictures train/a/1.jpg train/a/2.jpg train/b/1.jpg train/b/2.jpg
quick
check "quickstart.sh refuses class folders that are one deeper" refused
check "it says which folder to name" err_has "try $tmp/own/train$"

finish
