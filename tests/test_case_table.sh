#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The case table of sinks, by the tool: for each row and mode the steps' samples (--ids) and what
# they saw of them (--digests) are those of mode direct, and the loop launches once a sink.
# test_case_table.sh BUILD_DIR; a line for each row and mode, and last
# `case-table: N passed, N failed, N skipped`.
set -u
build=${1:?usage: test_case_table.sh BUILD_DIR}
sluice=$build/bin/sluice
title=case-table
. "$(dirname "$0")/shell_kit.sh"

# 100 batches a pass.
pipeline="synthetic samples=200 shape=4,4,3 | shuffle | random_horizontal_flip | batch 2"

# All of 5 passes, one by one: what every row is a part of.
run "$sluice" bench "$pipeline" --mode direct --steps 500 --ids "$tmp/all"
if [ "$code" -ne 0 ]; then
    fail "the reference does not run"
    finish
fi

# wanted FIRST STEPS MICRO: the ids of these steps, of so many batches each.
wanted() {
    awk -v first="$1" -v steps="$2" -v micro="$3" '
        { step = int($1 / micro); $1 = ""; line[step] = line[step] $0 }
        END { for (i = first; i < first + steps; i++) print i line[i] }' "$tmp/all"
}

number() {
    sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$tmp/out" | head -1
}

# row NAME FIRST STEPS SINKS MICRO PASSES OPTIONS...
row() {
    name=$1 first=$2 steps=$3 sinks=$4 micro=$5 passes=$6
    shift 6
    wanted "$first" "$steps" "$micro" >"$tmp/want"
    for mode in direct data graph loop; do
        why=""
        run "$sluice" bench "$pipeline" --mode $mode --micro-batches "$micro" "$@" --json \
            --ids "$tmp/ids" --digests "$tmp/digests"
        [ "$code" -eq 0 ] || why="exit $code"
        cmp -s "$tmp/ids" "$tmp/want" || why="$why; other samples"
        [ $mode = direct ] && cp "$tmp/digests" "$tmp/direct"
        cmp -s "$tmp/digests" "$tmp/direct" || why="$why; other digests than in direct"
        [ "$(number steps)" = "$steps" ] || why="$why; $(number steps) steps"
        [ $mode != loop ] || [ "$(number launches)" = "$sinks" ] || why="$why; $(number launches) launches"
        [ "$(number yields)" = 0 ] || why="$why; $(number yields) yields"
        tr -s '\n ' ' ' <"$tmp/err" | grep -q "($passes touched)" || why="$why; other passes touched"
        if [ -z "$why" ]; then pass "$name, $mode"; else fail "$name, $mode" "$why"; fi
    done
}

#   name                          first steps sinks micro passes
row "sink_size -1, 3 epochs"          0   300     3     1      3 --sink-size -1 --epochs 3
row "sink_size 20, 3 epochs"          0    60     3     1      1 --sink-size 20 --epochs 3
row "sink_size 30, 10 epochs"         0   300    10     1      3 --sink-size 30 --epochs 10
row "sink_size 250, 2 epochs"         0   500     2     1      5 --sink-size 250 --epochs 2
row "sink_size 70, 3 epochs"          0   210     3     1      3 --sink-size 70 --epochs 3
row "sink_size 70, from epoch 1"     70   140     2     1      3 --sink-size 70 --epochs 3 --start-step 70
row "sink_size 1, 5 epochs"           0     5     5     1      1 --sink-size 1 --epochs 5
row "sink_size 10, 4 micro-batches"   0    30     3     4      2 --sink-size 10 --epochs 3
row "a pass of 7 micro-batches"       0    14     1     7      1 --sink-size -1 --epochs 1

finish
