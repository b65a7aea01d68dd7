#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# For a machine with a GPU and nvcc, which need not reach a package registry.
#
#     sh tests/gpu.sh build   a release build with CUDA in build/gpu: these programs and the examples
#     sh tests/gpu.sh check   what a GPU must show, below 8 minutes: PASS, FAIL, SKIP for each check
#     sh tests/gpu.sh bench   limits and rates as CSV, below 8 minutes; torch's last, where it is
#
# check and bench build nothing. They exit with 0 when nothing failed, and 77 without a GPU.
#
# What build needs is in tests/deps.sh. Where the libraries lie elsewhere than CMake and pkg-config
# look, say so by CMAKE_PREFIX_PATH and PKG_CONFIG_PATH; or set SYSROOT to a folder in which Debian
# packages of them were unpacked (dpkg -x), for all three commands. Further words are for CMake:
#
#     sh tests/gpu.sh build -DSLUICE_CUDA_ARCHITECTURES=90 -DCUDAToolkit_ROOT=/opt/cuda
set -eu
cd "$(dirname "$0")/.."
folder=build/gpu

usage() {
    sed -n '3,16s/^# \{0,1\}//p' "$0" >&2
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

# program NAME: runs it; its exit code.
program() {
    if [ ! -x "$folder/bin/$1" ]; then
        echo "gpu.sh: there is no $folder/bin/$1: run 'sh tests/gpu.sh build' first" >&2
        exit 1
    fi
    "$folder/bin/$1"
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

[ $# -ge 1 ] || usage
command=$1
shift
[ -z "${SYSROOT-}" ] || use_sysroot "$SYSROOT"
case $command in
build)
    cmake -S . -B "$folder" -DCMAKE_BUILD_TYPE=Release -DSLUICE_CUDA=ON "$@"
    cmake --build "$folder" -j "$(nproc)" --target sluice_gpu_check sluice_gpu_bench own_kernels \
        train_image_folder sluice_tool
    ;;
check) program sluice_gpu_check ;;
bench)
    verdict=0
    program sluice_gpu_bench || verdict=$?
    [ "$verdict" -eq 77 ] || torch_rows
    exit "$verdict"
    ;;
*) usage ;;
esac
