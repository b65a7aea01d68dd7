#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzz targets of a build of preset fuzz with libFuzzer, each for SLUICE_FUZZ_SECONDS (10),
# as many at once as there are processors.
# The corpus grows in SLUICE_FUZZ_CORPUS (build/fuzz-corpus) and is kept from run to run; an input that
# fails is written beside it, and shown. Put it into tests/fuzz/corpus/TARGET as found-NAME with the
# fix.
# run.sh BUILD_DIR; a line for each target, and last `fuzz: N passed, N failed, N skipped`.
set -u
build=${1:?usage: run.sh BUILD_DIR}
here=$(cd "$(dirname "$0")" && pwd)
title=fuzz
. "$here/../shell_kit.sh"
seconds=${SLUICE_FUZZ_SECONDS:-10}
kept=${SLUICE_FUZZ_CORPUS:-$here/../../build/fuzz-corpus}

evidence() { grep -v '^#' "$tmp/out" | head -n 60; }

stat_of() { sed -n "s/^stat::$1: *//p" "$tmp/out"; }

files_in() { find "$1" -type f | wc -l; }

# fuzz TARGET CORPUS: runs it; its output and its exit status are files. $tmp/seeds/TARGET has seeds that are made.
fuzz() {
    mkdir -p "$kept/$1" "$tmp/seeds/$1"
    "$build/bin/fuzz_$1" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 \
        -print_final_stats=1 -artifact_prefix="$kept/$1-" "$kept/$1" "$here/corpus/$2" "$tmp/seeds/$1" \
        >"$tmp/$1.out" 2>&1
    echo $? >"$tmp/$1.status"
}

# judge TARGET CORPUS: counts its result.
judge() {
    mv "$tmp/$1.out" "$tmp/out"
    if [ "$(cat "$tmp/$1.status")" -ne 0 ]; then
        fail "$1" "see $kept/$1-*"
    elif [ "$(stat_of number_of_executed_units)" -gt \
        $(($(files_in "$here/corpus/$2") + $(files_in "$tmp/seeds/$1"))) ]; then
        pass "$1: $(stat_of number_of_executed_units) inputs, $(files_in "$kept/$1") kept"
    else
        fail "$1" "no more inputs than seeds"
    fi
}

[ "$seconds" -gt 0 ] || skip_rest "SLUICE_FUZZ_SECONDS=$seconds"
# The corpus of a target has its name, but for one.
corpus_of() {
    case $1 in
    transcode) echo jpeg ;;
    *) echo "$1" ;;
    esac
}

# finish_round: waits for the targets that run, and judges them.
finish_round() {
    wait
    for one in $running; do judge "$one" "$(corpus_of "$one")"; done
    running=""
}

mkdir -p "$tmp/seeds/pipeline"
check "the examples of stages are seeds" "$build/bin/make_pipeline_seeds" "$tmp/seeds/pipeline"
running=""
count=0
targets=$(cd "$here/corpus" && echo * transcode)
for path in "$build"/bin/fuzz_*; do
    echo "$targets" | grep -qw "${path##*/fuzz_}" || fail "${path##*/}" "it has no seeds"
done
for target in $targets; do
    if [ -e "$build/bin/fuzz_$target" ]; then
        fuzz "$target" "$(corpus_of "$target")" &
        running="$running $target"
        count=$((count + 1))
        [ $((count % $(nproc))) -ne 0 ] || finish_round
    else
        skip "$target" "this build has none"
    fi
done
finish_round
finish
