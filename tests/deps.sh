#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what building and testing needs, from Debian's packages. Says what is missing before it
# asks apt; says nothing and needs no network when nothing is. deps.sh ci: what CI needs besides.
set -eu

missing=""
want() { # want PROBE PACKAGE...: the packages, unless the probe succeeds
    probe=$1
    shift
    sh -c "$probe" >/dev/null 2>&1 || missing="$missing $*"
}

want 'command -v cc && command -v make' build-essential
want 'command -v cmake' cmake
want 'command -v pkg-config' pkg-config
want 'pkg-config --exists hwloc' libhwloc-dev
want 'pkg-config --exists numa' libnuma-dev
want 'pkg-config --exists libjpeg' libjpeg-dev
want 'pkg-config --exists libpng' libpng-dev
want 'pkg-config --exists libarchive' libarchive-dev
want 'pkg-config --exists cunit' libcunit1-dev
if [ "${1-}" = ci ]; then
    want 'command -v gcc' gcc
    want 'command -v g++' g++
    want 'command -v clang' clang
    want 'echo "int main(void){return 0;}" | clang -x c - -fopenmp -o /dev/null' libomp-dev
    want 'echo "int main(void){return 0;}" | clang -x c - -fsanitize=address -o /dev/null' \
        libclang-rt-dev
    want 'command -v spin' spin
    want 'command -v doxygen' doxygen
    want 'command -v valgrind' valgrind
    want 'command -v python3' python3
fi

[ -n "$missing" ] || exit 0
echo "installing:$missing"
as_root=""
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "run as root: apt-get install$missing" >&2; exit 1; }
    as_root=sudo
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
{ $as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends $missing; } \
    >/dev/null || { echo "apt could not install:$missing" >&2; exit 1; }
