#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench_verdict still runs: its options, two cases of short runs, the rows of its CSV file. What the
# reports say is not judged here: below a second they judge nothing, and CI is loud.
# test_bench_verdict.sh BUILD_DIR; a line for each check, and last
# `bench_verdict: N passed, N failed, N skipped`.
set -u
build=${1:?usage: test_bench_verdict.sh BUILD_DIR}
title=bench_verdict
. "$(dirname "$0")/shell_kit.sh"
bench=$build/bin/bench_verdict

ends "--help" 0 "$bench" --help
for option in runs seed seconds csv require-right require-inside; do
    check "... lists --$option" out_has "^  --$option "
done
ends "an option that there is not" 2 "$bench" --frobnicate
ends "a number of runs that is none" 2 "$bench" --runs many
check "... is named" err_has 'many'
ends "an argument that is no option" 2 "$bench" 20
ends "a file that cannot be written" 2 "$bench" --csv "$tmp/no/file.csv"

mkdir "$tmp/scratch"
ends "two cases" 0 env TMPDIR="$tmp/scratch" "$bench" --runs 2 --seed 15 --seconds 0.1 --csv "$tmp/cases.csv"
check "... have a row each" [ "$(grep -c '^ *1[56] [hc]' "$tmp/out")" -eq 2 ]
check "... of the costs of their seeds" out_has '^ *16 checkpoint sleep '
check "... leave no checkpoints" rmdir "$tmp/scratch"
check "... and totals" out_has '^verdicts: [0-2] of [0-2] right$'
check "... and rows in the file" [ "$(wc -l <"$tmp/cases.csv")" -eq 3 ]
check "... each with its seed" [ "$(cut -d, -f1 "$tmp/cases.csv" | tr '\n' ' ')" = "seed 15 16 " ]
if [ -n "$python" ]; then
    check "... each with all columns" "$python" -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], encoding="utf-8")))
assert all(None not in row and None not in row.values() for row in rows), rows
assert all(row["outcome"] in ("counted", "loud", "small") for row in rows), rows' "$tmp/cases.csv"
fi
# No verdict is right after a tenth of a second, and no advice promises anything.
ends "verdicts that are required to be right" 1 "$bench" --runs 1 --seed 15 --seconds 0.1 --require-right 90
check "... and are not" out_has '^verdicts: 0 of [01] are fewer than the required 90 %$'
ends "gains that are required to be inside" 1 "$bench" --runs 1 --seed 15 --seconds 0.1 --require-inside 85
check "... and are not" out_has '^gains: 0 of 0 are fewer than the required 85 %$'
finish
