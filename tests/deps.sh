#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what building and testing needs, from Debian's packages. Prints nothing and needs no network
# when nothing is missing. Without a network, without root and without apt-get it fails with one line.
#
#   deps.sh          what tests/run.sh needs
#   deps.sh build    what the library, the tool and the examples need
#   deps.sh ci       what CI needs besides
#   deps.sh more     what CI can do without: it then skips the README on bare systems, Debian packages, and
#                    the machine with two NUMA nodes, whose kernel it unpacks into /var/cache/sluice
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

# ---- as root: deps.sh --install PACKAGE... --------------------------------------------------------

# update LOG: fetches the lists of packages. Fails when the first answer of a server takes longer than
# DEPS_PATIENCE seconds (15): offline, or with a dead resolver, apt-get would try for minutes.
update() {
    apt-get -o Acquire::Retries=0 update >"$1" 2>&1 &
    apt=$!
    waited=0
    while kill -0 $apt 2>/dev/null; do
        sleep 1
        waited=$((waited + 1))
        if [ $waited -ge "${DEPS_PATIENCE:-15}" ] && ! grep -qE '^(Get|Hit):' "$1"; then
            kill $apt || true
            break
        elif [ $((waited % 10)) -eq 0 ]; then
            echo "apt-get update: $waited s: $(progress_line "$1")"
        fi
    done
    wait $apt 2>/dev/null || true # a list that cannot be fetched is no reason to stop when others can
    grep -qE '^(Get|Hit):' "$1"
}

# why LOG: the reason that apt-get gives.
why() {
    reason=$(sed -n -e 's/^E: //p' -e 's/^  *\(.*[Tt]emporary failure resolving.*\|Could not .*\)/\1/p' "$1" |
        head -n 1 | tr -cd '[:print:]' | cut -c 1-200)
    echo "${reason:-no answer within ${DEPS_PATIENCE:-15} s}"
}

# fetch_kernel LOG: unpacks the kernel that linux-image-cloud-amd64 depends on into $kernels. Installing
# it would make an initrd, and change how a machine boots.
kernels=/var/cache/sluice
fetch_kernel() {
    package=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' |
        head -n 1)
    folder=$(mktemp -d)
    if ! (cd "$folder" && apt-get -o Acquire::Retries=1 -o Acquire::http::Timeout=15 download "$package" \
        >"$1" 2>&1 && dpkg -x ./*.deb unpacked && mkdir -p $kernels && cp unpacked/boot/vmlinuz-* $kernels/); then
        rm -rf "$folder"
        return 1
    fi
    rm -rf "$folder"
}

install_packages() {
    . "$here/progress.sh"
    export DEBIAN_FRONTEND=noninteractive LC_ALL=C
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    if ! update "$log"; then
        echo "apt-get reaches no package server ($(why "$log")); connect to a network, or install: $*" >&2
        exit 1
    fi
    echo "installing: $*"
    kernel=""
    for package; do
        shift
        if [ "$package" = linux-image-cloud-amd64 ]; then
            kernel=$package
        else
            set -- "$@" "$package"
        fi
    done
    if [ $# -gt 0 ]; then
        install "$@"
    fi
    if [ -n "$kernel" ] && ! fetch_kernel "$log"; then
        echo "apt-get download failed ($(why "$log")): $kernel" >&2
        exit 1
    fi
}

# install PACKAGE...
install() {
    if ! progress "apt-get install" "$log" apt-get install -y --no-install-recommends -o APT::Status-Fd=1 \
        -o Acquire::Retries=1 -o Acquire::http::Timeout=15 -o DPkg::Lock::Timeout=120 "$@"; then
        echo "apt-get install failed ($(why "$log")): $*" >&2
        exit 1
    fi
}

if [ "${1-}" = --install ]; then
    shift
    install_packages "$@"
    exit 0
fi

# ---- what is missing ------------------------------------------------------------------------------

missing=""
want() { # want PROBE PACKAGE...: the packages, unless the probe succeeds
    probe=$1
    shift
    sh -c "$probe" >/dev/null 2>&1 || missing="$missing $*"
}

want_build() {
    want 'command -v cc && command -v make' build-essential
    want 'command -v cmake' cmake
    want 'command -v pkg-config' pkg-config
    want 'pkg-config --exists hwloc' libhwloc-dev
    want 'pkg-config --exists numa' libnuma-dev
    want 'pkg-config --exists libjpeg' libjpeg-dev
    want 'pkg-config --exists libpng' libpng-dev
    want 'pkg-config --exists zlib' zlib1g-dev
    want 'pkg-config --exists libarchive' libarchive-dev
    want 'pkg-config --exists jansson' libjansson-dev
    want 'pkg-config --exists yaml-0.1' libyaml-dev
    want 'pkg-config --exists expat' libexpat1-dev
    want 'pkg-config --exists sqlite3' libsqlite3-dev
    want 'pkg-config --exists libwebpdemux' libwebp-dev
    want 'pkg-config --exists libtiff-4' libtiff-dev
    want 'pkg-config --exists libopenjp2' libopenjp2-7-dev
}

want_tests() {
    want_build
    want 'pkg-config --exists cunit' libcunit1-dev
}

want_ci() {
    want_tests
    want 'command -v gcc' gcc
    want 'command -v g++' g++
    want 'command -v clang' clang
    want 'echo "int main(void){return 0;}" | clang -x c - -fopenmp -o /dev/null' libomp-dev
    want 'echo "int main(void){return 0;}" | clang -x c - -fsanitize=address -o /dev/null' \
        libclang-rt-dev
    want 'echo "int LLVMFuzzerTestOneInput(char *d, long n) {return 0;}" |
        clang -x c - -fsanitize=fuzzer -o /dev/null' libclang-rt-dev
    want 'command -v spin' spin
    want 'command -v doxygen' doxygen
    want 'command -v abidiff' abigail-tools
    want 'command -v valgrind' valgrind
    want 'command -v python3' python3
    want 'command -v mpicc && command -v mpirun' libopenmpi-dev
}

want_more() {
    want 'command -v debootstrap || test -x /usr/sbin/debootstrap' debootstrap
    want 'command -v wget' wget
    want 'command -v unshare' util-linux
    want 'command -v ip || test -x /usr/sbin/ip' iproute2
    want 'command -v file' file
    [ "$(uname -m)" = x86_64 ] || return 0 # for numa_guest.sh:
    want 'command -v qemu-system-x86_64' qemu-system-x86
    want 'command -v busybox' busybox-static
    want "for file in /boot/vmlinuz-* $kernels/vmlinuz-*; do [ ! -r \$file ] || exit 0; done; exit 1" \
        linux-image-cloud-amd64
}

case ${1-} in
build | ci | more) want_"$1" ;;
*) want_tests ;;
esac

[ -n "$missing" ] || exit 0
missing=${missing# }
if ! command -v apt-get >/dev/null; then
    echo "no apt-get here; install by other means: $missing" >&2
    exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
    # shellcheck disable=SC2086
    exec sh "$0" --install $missing
fi
# Without a terminal sudo cannot ask for a password.
if ! command -v sudo >/dev/null || { [ ! -t 0 ] && ! sudo -n true 2>/dev/null; }; then
    echo "run as root: apt-get install $missing" >&2
    exit 1
fi
# shellcheck disable=SC2086
exec sudo sh "$0" --install $missing
