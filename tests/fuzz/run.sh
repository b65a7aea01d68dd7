#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzz targets of a build of preset fuzz with libFuzzer, each for SLUICE_FUZZ_SECONDS (15).
# The corpus grows in SLUICE_FUZZ_CORPUS (build/fuzz-corpus) and is kept from run to run; an input that
# fails is written beside it, and shown. Put it into tests/fuzz/corpus/TARGET as found-NAME with the
# fix.
# run.sh BUILD_DIR; a line for each target, and last `fuzz: N passed, N failed, N skipped`.
set -u
build=${1:?usage: run.sh BUILD_DIR}
here=$(cd "$(dirname "$0")" && pwd)
title=fuzz
. "$here/../shell_kit.sh"
seconds=${SLUICE_FUZZ_SECONDS:-15}
kept=${SLUICE_FUZZ_CORPUS:-$here/../../build/fuzz-corpus}

evidence() { grep -v '^#' "$tmp/out" | head -n 60; }

stat_of() { sed -n "s/^stat::$1: *//p" "$tmp/out"; }

files_in() { find "$1" -type f | wc -l; }

# fuzz TARGET CORPUS
fuzz() {
    mkdir -p "$kept/$1"
    if ! "$build/bin/fuzz_$1" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="$kept/$1-" "$kept/$1" "$here/corpus/$2" \
        >"$tmp/out" 2>&1; then
        fail "$1" "see $kept/$1-*"
    elif [ "$(stat_of number_of_executed_units)" -gt "$(files_in "$here/corpus/$2")" ]; then
        pass "$1: $(stat_of number_of_executed_units) inputs, $(files_in "$kept/$1") kept"
    else
        fail "$1" "no more inputs than seeds"
    fi
}

[ "$seconds" -gt 0 ] || skip_rest "SLUICE_FUZZ_SECONDS=$seconds"
for target in coco idx jpeg jpeg_index list npy numbers png pnm tar tokens shard_index pipeline; do
    if [ -e "$build/bin/fuzz_$target" ]; then
        fuzz $target $target
    else
        skip "$target" "this build has none"
    fi
done
fuzz transcode jpeg
finish
