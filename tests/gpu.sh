#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# For a machine with a GPU and nvcc, which need not reach a package registry.
#
#     sh tests/gpu.sh build [ARGUMENT...]  release build with CUDA in build/gpu; arguments go to CMake
#     sh tests/gpu.sh first                17 decisive checks, then 11 figures, below 5 minutes
#     sh tests/gpu.sh check [NAME...]      all checks, below 8 minutes, or these
#     sh tests/gpu.sh bench [SECTION...]   limits and rates as CSV, below 8 minutes, or the limits and
#                                          these: memory kernels maps copies cells gaps; with the cells
#                                          torch's, where it is
#
# Several commands run one after another, each with the words up to the next. A session of ten
# minutes on a GPU is well used by
#
#     sh tests/gpu.sh build -DSLUICE_CUDA_ARCHITECTURES=90 first bench copies kernels
#
# or, where build/gpu was built elsewhere for that GPU and is brought along, by `first bench copies
# kernels`. In the order of first, with the most seconds: bits of every kernel, loop, modes and
# conversions (60 each, in practice below 10), orders and starvation (180), streams of callers, two
# processes, memcheck (240), then the figures (30 each). What is not done after 285 s is skipped.
#
# A line for each check, PASS, FAIL or SKIP with a figure or the reason, as soon as it ends. Exit
# code: 1 where something failed, 77 where there is no GPU, else 0. Only build builds.
#
# build takes nvcc, CMake, Ninja or make (Ninja where both are), a C compiler and the libraries of
# tests/deps.sh. Where these lie elsewhere than CMake and pkg-config look, CMAKE_PREFIX_PATH and
# PKG_CONFIG_PATH say so; or set SYSROOT to a folder into which Debian packages of them were unpacked
# (dpkg -x), for all commands: it has pkgconf, too. BUILD is the build folder, without it build/gpu.
#
#     SYSROOT=.sysroot sh tests/gpu.sh build -DCUDAToolkit_ROOT=/opt/cuda first
set -eu
cd "$(dirname "$0")/.."
folder=${BUILD:-build/gpu}

usage() {
    sed -n '3,30s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# What lies in SYSROOT is found by CMake, pkg-config, the compiler and the loader.
use_sysroot() {
    root=$(cd "$1" && pwd)
    triplet=$(uname -m)-linux-gnu
    libraries=$root/usr/lib/$triplet
    export CMAKE_PREFIX_PATH="$root/usr${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
    export PATH="$root/usr/bin:$PATH"
    export PKG_CONFIG_SYSROOT_DIR="$root"
    export PKG_CONFIG_LIBDIR="$libraries/pkgconfig:$root/usr/share/pkgconfig"
    export CPATH="$root/usr/include:$root/usr/include/$triplet${CPATH:+:$CPATH}"
    export LIBRARY_PATH="$libraries:$root/lib/$triplet${LIBRARY_PATH:+:$LIBRARY_PATH}"
    export LD_LIBRARY_PATH="$libraries:$root/lib/$triplet${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

# program NAME WORD...: runs it; its exit code.
program() {
    if [ ! -x "$folder/bin/$1" ]; then
        echo "gpu.sh: there is no $folder/bin/$1: run 'sh tests/gpu.sh build' first" >&2
        exit 1
    fi
    program=$folder/bin/$1
    shift
    "$program" "$@"
}

# Ninja alone is enough; a build folder keeps the generator that it was configured with.
choose_generator() {
    if [ ! -e "$folder/CMakeCache.txt" ] && [ -z "${CMAKE_GENERATOR-}" ] && command -v ninja >/dev/null; then
        export CMAKE_GENERATOR=Ninja
    fi
}

build() {
    choose_generator
    cmake -S . -B "$folder" -DCMAKE_BUILD_TYPE=Release -DSLUICE_CUDA=ON "$@" &&
        cmake --build "$folder" -j "$(nproc)" --target sluice_gpu_check sluice_gpu_bench own_kernels \
            device_warp train_image_folder sluice_tool
}

# The benchmark's cells by torch: rows to compare with, and no part of the verdict.
torch_rows() {
    echo
    if ! command -v python3 >/dev/null; then
        echo "SKIP torch: there is no python3"
        return
    fi
    result=0
    timeout 75 python3 tests/bench/torch_graph.py || result=$?
    case $result in
    0 | 77) ;;
    *) echo "SKIP torch: torch_graph.py ended with $result" ;;
    esac
}

# Has the benchmark cells, with these sections?
has_cells() {
    [ $# -eq 0 ] && return 0
    for section in "$@"; do
        [ "$section" != cells ] || return 0
    done
    return 1
}

bench() {
    rates=0
    program sluice_gpu_bench "$@" || rates=$?
    if [ "$rates" -ne 77 ] && [ "$rates" -ne 2 ] && has_cells "$@"; then
        torch_rows
    fi
    return "$rates"
}

is_command() {
    case $1 in
    build | first | check | bench) ;;
    *) return 1 ;;
    esac
}

# perform COMMAND COUNT WORD...: the command with the first of the words.
perform() {
    name=$1
    left=$2
    shift 2
    all=$#
    for word in "$@"; do
        if [ "$left" -gt 0 ]; then
            set -- "$@" "$word"
            left=$((left - 1))
        fi
    done
    shift "$all"
    case $name in
    build) build "$@" ;;
    first)
        [ $# -eq 0 ] || usage
        program sluice_gpu_check --first
        ;;
    check) program sluice_gpu_check "$@" ;;
    bench) bench "$@" ;;
    esac
}

is_command "${1-}" || usage
[ -z "${SYSROOT-}" ] || use_sysroot "$SYSROOT"
verdict=""
while [ $# -gt 0 ]; do
    command=$1
    shift
    count=0
    for word in "$@"; do
        ! is_command "$word" || break
        count=$((count + 1))
    done
    ended=0
    perform "$command" "$count" "$@" || ended=$?
    shift "$count"
    case $command,$ended in
    build,0) ;;
    build,*) exit 1 ;;
    *,2) exit 2 ;;
    *,77) verdict=${verdict:-77} ;;
    *,0) [ "${verdict:-77}" -ne 77 ] || verdict=0 ;;
    *) verdict=1 ;;
    esac
done
exit "${verdict:-0}"
