#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill -9 at random moments of a run with checkpoints, and again; what all the parts together did is
# what one unbroken run does, step by step and bit by bit.
# test_kill.sh BUILD_DIR [KILLS]; last line `kill: N passed, N failed, N skipped`.
set -u
program=${1:?usage: test_kill.sh BUILD_DIR [KILLS]}/bin/checkpoint_run
kills=${2:-5}
[ "${CI-}" != true ] || kills=${2:-50}
title="kill"
. "$(dirname "$0")/shell_kit.sh"

# survives NAME PIPELINE...: a run of that pipeline (none: the program's own) that is killed.
survives() {
    run=$1
    shift
    "$program" "$tmp/$run-unbroken" "$tmp/$run-want" 0 "$@" || exit 1
    check "$run: an unbroken run has 1998 steps" [ "$(wc -l <"$tmp/$run-want")" -eq 1998 ]

    # Steps of 0.5 ms, so a checkpoint about every 60 ms; killed within the first 100 ms.
    moments=$(awk -v n="$kills" -v seed="$$" 'BEGIN {srand(seed); for (; n > 0; n--) print rand() / 10}')
    alive=0
    for moment in $moments; do
        "$program" "$tmp/$run-broken" "$tmp/$run-got" 500 "$@" &
        victim=$!
        sleep "$moment"
        kill -9 $victim 2>/dev/null && alive=$((alive + 1))
        wait $victim 2>/dev/null
        # A line that the kill cut in two is none.
        [ ! -f "$tmp/$run-got" ] || [ -z "$(tail -c 1 "$tmp/$run-got")" ] || echo >>"$tmp/$run-got"
    done
    check "$run: the last part ends the run" "$program" "$tmp/$run-broken" "$tmp/$run-got" 0 "$@"
    awk 'NF == 3 && length($2) == 16' "$tmp/$run-got" | sort -n -u >"$tmp/$run-got.sorted"
    check "$run: every step of every part is the unbroken run's" cmp -s "$tmp/$run-want" "$tmp/$run-got.sorted"
    check "$run: the weights at the end are the same" \
        cmp -s "$tmp/$run-unbroken/step-000000001998/weight" "$tmp/$run-broken/step-000000001998/weight"
    check "$run: three checkpoints are left, and nothing else" \
        [ "$(ls -A "$tmp/$run-broken" | tr '\n' ' ')" = \
        "step-000000001800 step-000000001900 step-000000001998 " ]
    echo "$run: $alive of $kills kills hit, $(wc -l <"$tmp/$run-got") steps run for 1998"
}

survives images
# Two files of 20000 tokens: 624 batches in a pass, in the order of llm.c's generator.
seq 1 100000 | head -c 80000 >"$tmp/tokens"
head -c 40000 "$tmp/tokens" >"$tmp/a.bin"
tail -c 40000 "$tmp/tokens" >"$tmp/b.bin"
survives tokens "tokens $tmp/a.bin,$tmp/b.bin 16 dtype=u16 order=llmc | batch 4"
finish
