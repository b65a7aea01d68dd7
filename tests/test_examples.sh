#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The pictures of `sluice synth`, and the program that trains on them, with tiny sizes.
# test_examples.sh BUILD_DIR; a line for each check, and last `examples: N passed, N failed, N skipped`.
set -u
build=${1:?usage: test_examples.sh BUILD_DIR}
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
interrupted '^step ' "$tmp/out" "$bin/train_image_folder" "$tmp/a/train" --size 16 --batch 8 \
    --epochs 1000000
check "SIGINT ends the training with 130" [ "$code" -eq 130 ]
check "an interrupted training ends with a report" out_has '^decode '
signal=TERM interrupted '^step ' "$tmp/out" "$bin/train_image_folder" "$tmp/a/train" --size 16 \
    --batch 8 --epochs 1000000
check "SIGTERM ends the training with 143" [ "$code" -eq 143 ]

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

finish
