#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs the tests: one compiler, a few minutes. With CI=true
# everything: gcc and clang, the sanitizers, the core alone, the model checker. Logs are kept in
# build/run.
# The last line is `N passed, N failed, N skipped`.
set -u
cd "$(dirname "$0")/.."
ci=""
[ "${CI-}" = true ] && ci=ci
sh tests/deps.sh $ci || exit 1

logs=build/run
mkdir -p "$logs"
rm -f "$logs"/*.log
passed=0
failed=0
skipped=0
jobs=$(nproc)

# count LOG: adds up the lines `NAME: N passed, N failed, N skipped` of a log.
count() {
    # shellcheck disable=SC2046
    set -- $(sed -n 's/.*: \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped.*/\1 \2 \3/p' \
        "$1" | awk '{p += $1; f += $2; s += $3} END {print p + 0, f + 0, s + 0}')
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + $3))
}

# step NAME COMMAND...: runs it; a failure that no test counted counts as one.
step() {
    name=$1
    shift
    start=$(date +%s)
    before=$failed
    if "$@" >"$logs/$name.log" 2>&1; then
        result=ok
    else
        result=FAILED
    fi
    count "$logs/$name.log"
    grep -h 'SKIP ' "$logs/$name.log" | sed 's/^[0-9]*: //' | sort -u
    if [ $result = FAILED ]; then
        [ "$failed" -gt "$before" ] || failed=$((failed + 1))
        grep -E -A 3 'FAIL |time limit reached|Sanitizer:|error: ' "$logs/$name.log" | head -n 60
        tail -n 30 "$logs/$name.log"
    fi
    echo "$name: $result ($(($(date +%s) - start)) s)"
    [ $result = ok ]
}

# build_and_test NAME CONFIGURE...: one build folder, all its tests.
build_and_test() {
    folder=build/$1
    label=$1
    shift
    step "$label-build" sh -c 'b=$1; shift; cmake -B "$b" "$@" && cmake --build "$b" -j '"$jobs" \
        build "$folder" "$@" &&
        step "$label" ctest --test-dir "$folder" -V -j "$jobs"
}

# core_alone: Sluice without all that it takes only where it is there, whose headers are not to be
# found; the unit tests of that.
core_alone() {
    folder=build/core
    mkdir -p $folder/without
    for header in png.h archive.h archive_entry.h; do
        echo '#error "this build is to do without it"' >$folder/without/$header
    done
    step core-build sh -c 'cmake -B "$1" --preset dev -DSLUICE_CUDA=OFF -DSLUICE_PNG=OFF \
        -DSLUICE_ARCHIVE=OFF &&
        CPATH="$PWD/$1/without" cmake --build "$1" -j "$2" --target sluice_unit sluice_api sluice_tool &&
        "$1/bin/sluice" --version | grep "cuda off, png off, archive off"' core $folder "$jobs" &&
        step core ctest --test-dir $folder -V -j "$jobs" -L unit
}

# Where there is nvcc: kernels are compiled for all that they are meant for once, else for one kind of
# GPU, and so are the programs that want one.
few="-DSLUICE_CUDA_ARCHITECTURES=80 -DSLUICE_GPU_TESTS=OFF"
# shellcheck disable=SC2086
if [ -z "$ci" ]; then
    build_and_test dev --preset dev $few
else
    CC=gcc CXX=g++ build_and_test gcc --preset release &&
        step valgrind sh tests/valgrind.sh build/gcc
    CC=clang CXX=clang++ build_and_test clang --preset release $few
    CC=gcc CXX=g++ build_and_test asan --preset asan $few
    CC=gcc CXX=g++ build_and_test tsan --preset tsan $few
    CC=gcc core_alone
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
