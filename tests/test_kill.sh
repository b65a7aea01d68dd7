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

"$program" "$tmp/unbroken" "$tmp/want" 0 || exit 1
check "an unbroken run has 1998 steps" [ "$(wc -l <"$tmp/want")" -eq 1998 ]

# Steps of 0.5 ms, so a checkpoint about every 60 ms; killed within the first 100 ms.
moments=$(awk -v n="$kills" -v seed="$$" 'BEGIN {srand(seed); for (; n > 0; n--) print rand() / 10}')
alive=0
for moment in $moments; do
    "$program" "$tmp/broken" "$tmp/got" 500 &
    victim=$!
    sleep "$moment"
    kill -9 $victim 2>/dev/null && alive=$((alive + 1))
    wait $victim 2>/dev/null
    # A line that the kill cut in two is none.
    [ ! -f "$tmp/got" ] || [ -z "$(tail -c 1 "$tmp/got")" ] || echo >>"$tmp/got"
done
check "the last part ends the run" "$program" "$tmp/broken" "$tmp/got" 0
awk 'NF == 3 && length($2) == 16' "$tmp/got" | sort -n -u >"$tmp/got.sorted"
check "every step of every part is the unbroken run's" cmp -s "$tmp/want" "$tmp/got.sorted"
check "the weights at the end are the same" \
    cmp -s "$tmp/unbroken/step-000000001998/weight" "$tmp/broken/step-000000001998/weight"
check "three checkpoints are left, and nothing else" \
    [ "$(ls -A "$tmp/broken" | tr '\n' ' ')" = \
    "step-000000001800 step-000000001900 step-000000001998 " ]
echo "$alive of $kills kills hit, $(wc -l <"$tmp/got") steps run for 1998"
finish
