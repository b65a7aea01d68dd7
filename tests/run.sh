#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds, and runs the tests: one compiler, a few minutes. With CI=true
# everything: gcc and clang, the sanitizers, the core alone, plain debug builds, the model checker, fuzzing, and in
# the time that is left the README on bare systems (bare.sh), with the compiler of Debian 13. Logs are kept in build/run.
# The last line is `N passed, N failed, N skipped`.
set -u
began=$(date +%s)
bare_ends=2220 # seconds after which bare.sh is cut off, so that all of it ends within 40 minutes
cd "$(dirname "$0")/.."
. tests/progress.sh
ci=""
[ "${CI-}" = true ] && ci=ci
sh tests/deps.sh $ci || exit 1
[ -z "$ci" ] || sh tests/deps.sh more # without these, what wants them is skipped and says so

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

# step NAME COMMAND...: runs it, and prints how far it is; a failure that no test counted counts as one.
step() {
    name=$1
    shift
    start=$(date +%s)
    before=$failed
    if progress "$name" "$logs/$name.log" "$@"; then
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

# build_and_test NAME CONFIGURE...: one build folder, and its tests but those that $left_out names.
build_and_test() {
    folder=build/$1
    label=$1
    shift
    # shellcheck disable=SC2086
    step "$label-build" sh -c 'b=$1; shift; cmake -B "$b" "$@" && cmake --build "$b" -j '"$jobs" \
        build "$folder" "$@" &&
        step "$label" ctest --test-dir "$folder" -V -j "$jobs" $left_out
}

# core_alone: Sluice without all that it takes only where it is there, whose headers are not to be
# found; the unit tests of that.
core_alone() {
    folder=build/core
    mkdir -p $folder/without
    for header in png.h zlib.h archive.h archive_entry.h jansson.h yaml.h expat.h sqlite3.h tiffio.h; do
        echo '#error "this build is to do without it"' >$folder/without/$header
    done
    step core-build sh -c 'cmake -B "$1" --preset dev -DSLUICE_CUDA=OFF -DSLUICE_PNG=OFF \
        -DSLUICE_ZLIB=OFF -DSLUICE_ARCHIVE=OFF -DSLUICE_JANSSON=OFF -DSLUICE_YAML=OFF -DSLUICE_EXPAT=OFF -DSLUICE_SQLITE=OFF \
        -DSLUICE_MODULES= &&
        CPATH="$PWD/$1/without" cmake --build "$1" -j "$2" --target sluice_unit sluice_api sluice_tool &&
        "$1/bin/sluice" --version | grep "cuda off, png off, zlib off, archive off, jansson off, yaml off, expat off, sqlite off, modules none"' core $folder "$jobs" &&
        step core ctest --test-dir $folder -V -j "$jobs" -L unit
}

# plain_debug COMPILER: the library and the tool without a preset or optimisation, for a debugger, and with its format
# modules inside; three tests of them. Some warnings and passes of a compiler run so only.
plain_debug() {
    folder=build/debug-$1
    step "debug-$1-build" sh -c 'CC=$1 cmake -B "$2" -DCMAKE_BUILD_TYPE=Debug -DSLUICE_WERROR=ON -DSLUICE_CUDA=OFF \
        -DSLUICE_LINK_MODULES=ON &&
        cmake --build "$2" -j "$3" --target sluice_tool sluice sluice_static' debug "$1" "$folder" "$jobs" &&
        step "debug-$1" ctest --test-dir "$folder" -V -j "$jobs" -R '^(completion|inspect|static)$'
}

# fuzz_all: the targets of libFuzzer, each for SLUICE_FUZZ_SECONDS (10).
fuzz_all() {
    step fuzz-build sh -c 'cmake --preset fuzz && cmake --build --preset fuzz -j "$1"' fuzz "$jobs" &&
        step fuzz sh tests/fuzz/run.sh build/fuzz
}

# Where there is nvcc: kernels are compiled for all that they are meant for once, else for one kind of
# GPU, and so are the programs that want one.
few="-DSLUICE_CUDA_ARCHITECTURES=80 -DSLUICE_GPU_TESTS=OFF -DSLUICE_PTX_TARGETS="
left_out=""
# shellcheck disable=SC2086
if [ -z "$ci" ]; then
    build_and_test dev --preset dev $few
else
    CC=gcc CXX=g++ build_and_test gcc --preset ci &&
        step valgrind sh tests/valgrind.sh build/gcc &&
        step faults sh tests/faults.sh build/gcc
    # These read the sources, test what is installed, or run the guide's reports: once is enough.
    once="layers|deps|package|static|copied|pack_tool|suspend|mpi|nccl|bare|docs|names|snippets|case_table|struct_layout"
    once="$once|completion|kernels|cudart|gpu_skip|tutorial|numa_guest|reading"
    # The tool's own texts, which asan reads too; and cpp, which compiles with both compilers in each build.
    left_out="-LE model -E ^($once|cli|show|compare|report_page|cpp)$"
    CC=clang CXX=clang++ build_and_test clang --preset ci $few
    left_out="-E ^(layers|deps|pack_tool|bare|docs|names|snippets|case_table|struct_layout|kernels|cudart|tutorial"
    # Late batches that interpreted kernels do not wait for here, and a minute of one long run.
    left_out="$left_out|ptx_cuda_train|ptx_cuda_check)$"
    CC=gcc CXX=g++ build_and_test asan --preset asan ${few}90 # the PTX stays within its memory
    # The unit tests have the threads of the tool; the last ones have one thread.
    one_thread="(conversion|crc32c|resample_[a-z]*|convnet_[a-z]*)(_v3|_portable)?|null_calls|permutation|color_chain|warps"
    one_thread="$one_thread|stage_swaps|image_blur|getnext_gather|jpeg_[a-z]*|png|source_webdataset|source_image_folder|fuzz_[a-z]*"
    one_thread="$one_thread|jp2|tiff|tiff_wide|webp|pnm|bmp|gif|shard_[a-z]*|mindrecord_(files|rows|writer)|checkpoint_damage"
    one_thread="$one_thread|plan_[a-z]*|order_[a-z]*|pipeline_[a-z]*|core_division|recorded_machines|verdict(_machines|_rates)?"
    # copy_streams looks at memory that a copy of the fake writes.
    left_out="-E ^($once|cli|show|pictures|compare|report_page|fake_cuda_copy_streams|$one_thread)$"
    CC=gcc CXX=g++ build_and_test tsan --preset tsan $few
    CC=gcc core_alone
    plain_debug gcc
    plain_debug clang
    fuzz_all
    step bare sh tests/bare.sh --build-tests --budget $((began + bare_ends - $(date +%s))) trixie bookworm
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
