#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What README.md says, line by line, on a bare Debian: the commands of its `sh` blocks, with the
# program and the CMakeLists.txt that it shows, in chroots that debootstrap makes (minbase).
#
#   bare.sh [--no-tests | --build-tests] [--budget SECONDS] [RELEASE...]
#
# of bookworm and trixie. --no-tests leaves out tests/run.sh; --build-tests compiles the tests in its
# place, with warnings as errors. What is not done after SECONDS is cut off, and counts as skipped.
#
# Prints a line for each command with its seconds of CPU, and last `bare: N passed, N failed, N skipped`.
# Needs root, debootstrap, mount namespaces and a mirror, DEBIAN_MIRROR (http://deb.debian.org/debian);
# where these are missing, or the mirror stops answering, the rest is skipped.
# With BARE_DIR the bare systems are kept there for the next time.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
title=bare
. "$here/shell_kit.sh"
. "$here/progress.sh"
PATH=$PATH:/usr/sbin:/sbin
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
kept=${BARE_DIR:-$tmp/kept}
line_s=1500   # seconds that a line of the README may take
silence_s=25  # seconds that our scripts may print nothing; a line is due every 10
offline_s=20  # seconds that they may take to say that there is no network
untried="README.md WAS NOT TRIED"

# ---- time ------------------------------------------------------------------------------------------------

started=$(date +%s)
budget=""

# most SECONDS: as many, or what is left of the budget; at least 1, for `timeout 0` is no limit.
most() {
    [ -n "$budget" ] || { echo "$1" && return; }
    left=$((started + budget - $(date +%s)))
    [ $left -ge 1 ] || left=1
    [ $left -lt "$1" ] || left=$1
    echo $left
}

# in_budget WHAT: ends with a skip if the budget is spent.
in_budget() {
    [ -z "$budget" ] || [ $(($(date +%s) - started)) -lt "$budget" ] ||
        skip_rest "$untried on $release from here on: $1" "the budget of $budget s is spent"
}

# ---- README.md ----------------------------------------------------------------------------------------

# block HEADING LANGUAGE N: the n-th block in that language below the heading, up to the next heading.
block() {
    awk -v heading="$1" -v language="$2" -v n="$3" '
        !inside && /^#/ {text = $0; sub(/^#* /, "", text); here = text == heading}
        /^```/ {
            inside = !inside
            shown = inside && here && $0 == "```" language && ++found == n
            next
        }
        shown' "$root/README.md"
}

# ---- a bare system --------------------------------------------------------------------------------------

# within SECONDS COMMAND...: in $system, with mounts and processes of its own, which end with it. With
# network=none there is no network, with network=deaf only a resolver that does not answer.
network=""
within() {
    seconds=$1
    shift
    # shellcheck disable=SC2016
    timeout -k 10 "$seconds" unshare --mount --pid --fork --kill-child ${network:+--net} sh -c '
        system=$1 network=$2 && shift 2
        mount -t proc proc "$system/proc" && mount --rbind /sys "$system/sys" &&
            mount -t tmpfs tmpfs "$system/dev/shm" &&
            mount -t devpts devpts "$system/dev/pts" -o newinstance,ptmxmode=0666 || exit 1
        if [ "$network" = deaf ]; then
            ip link set lo up || exit 1
            chroot "$system" perl -e "use Socket; socket(S, PF_INET, SOCK_DGRAM, 0);
                bind(S, sockaddr_in(53, INADDR_ANY)) or die; sleep 1000" &
        fi
        cd / && exec chroot "$system" env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
            PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"
        ' - "$system" "$network" "$@" </dev/null
}

bootstrap() {
    mkdir -p "$kept"
    rm -rf "$kept/$release.part"
    progress "$release: debootstrap" "$tmp/debootstrap.log" timeout -k 10 "$(most 600)" \
        debootstrap --variant=minbase "$release" "$kept/$release.part" "$mirror" &&
        mv "$kept/$release.part" "$kept/$release"
}

mirror_answers() { timeout 15 wget -q -t 1 -T 15 -O "$tmp/Release" "$mirror/dists/$release/Release"; }

# make_ready: makes the bare system unless it is kept from an earlier run; skips the release if it cannot.
make_ready() {
    if [ ! -e "$kept/$release" ]; then
        mirror_answers || { skip "$untried on $release" "$mirror does not answer" && return 1; }
        bootstrap || {
            in_budget debootstrap
            skip "$untried on $release" "debootstrap: $(tail -n 1 "$tmp/debootstrap.log")"
            return 1
        }
    fi
    echo force-unsafe-io >"$kept/$release/etc/dpkg/dpkg.cfg.d/unsafe-io" # a test's system need not survive a crash
    system=$kept/$release
    within 20 true >"$tmp/log" 2>&1 ||
        { skip "$untried on $release" "this container may not chroot and mount: $(tail -n 1 "$tmp/log")" && return 1; }
}

# fresh NAME: $system is a copy of the bare system, with the checkout in /root/sluice.
fresh() {
    system=$tmp/$1
    cp -a "$kept/$release" "$system"
    mkdir -p "$system/root/sluice" "$system/root/program"
    (cd "$root" && git ls-files -z | xargs -0 ls -d 2>/dev/null | tar -c -T -) | tar -C "$system/root/sluice" -x
    cp "$here/silence.pl" "$system/root"
    echo 'APT::Get::Assume-Yes "true";' >"$system/etc/apt/apt.conf.d/90yes" # what a person answers
}

# ---- lines ----------------------------------------------------------------------------------------------

# run_line FOLDER: runs $system/root/line in the folder; its output is in $out, what `time` says of it in
# $system/root/time, the seconds of its longest silence in $system/root/silence.
run_line() {
    # shellcheck disable=SC2016
    within "$(most $line_s)" bash -o pipefail -c 'cd "$1" && TIMEFORMAT="%U %S %R" &&
        { time { bash /root/line 2>&1 | perl /root/silence.pl /root/silence; }; } 2>/root/time' - "$1"
}

# warns LOG: shows what a compiler warned of.
warns() { grep -E '^[^ ]*:[0-9]+:[0-9]+: warning:' "$1"; }

# line FOLDER COMMAND: checks that it ends well, and that no compiler warns.
line() {
    command=$(echo "$2" | sed 's/  *#.*//')
    out=$system/root/out
    rm -f "$out" "$system/root/time"
    printf '%s\n' "$2" >"$system/root/line"
    in_budget "$command"
    code=0
    progress "$release" "$out" run_line "$1" || code=$?
    if [ $code -ne 0 ]; then
        in_budget "$command"
        case $command in
        *apt-get* | *.sh*)
            mirror_answers ||
                skip_rest "$untried on $release from here on: $command" "$mirror no longer answers"
            ;;
        esac
    fi
    if [ $code -ne 0 ] || warns "$out"; then
        { grep -E -A 2 'FAIL |[Ee]rror: |warning: ' "$out" | head -n 60; tail -n 20 "$out"; } | cut -c 1-300 >"$tmp/tail"
        failed=$((failed + 1))
        echo "FAIL $release: $command: exit $code"
        sed 's/^/     /' "$tmp/tail"
        return 1
    fi
    read -r user kernel wall <"$system/root/time"
    pass "$release: $(echo "$user $kernel" | awk '{printf "%.1f", $1 + $2}') s of CPU, $wall s: $command"
}

# lines FOLDER HEADING N: those of the n-th block of commands below the heading.
lines() {
    block "$2" sh "$3" >"$tmp/lines"
    check "README.md has commands below $2, block $3" [ -s "$tmp/lines" ] || return
    while read -r one; do
        line "$1" "$one" || return
    done <"$tmp/lines"
}

printed() { grep -qe "$1" "$out"; }
silent_for() { [ "$(cat "$system/root/silence")" -le "$1" ]; }

# ---- the sections of README.md ------------------------------------------------------------------------

# fails_at_once SCRIPT: with one line, within 20 s, and without having begun to install.
fails_at_once() {
    code=0
    within $offline_s sh -c 'cd /root/sluice && sh "$1"' - "$1" >"$tmp/out" 2>"$tmp/err" || code=$?
    cat "$tmp/out" "$tmp/err"
    [ $code -ne 0 ] && [ $code -ne 124 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && ! grep -q installing "$tmp/out"
}

offline() {
    cp "$system/etc/resolv.conf" "$tmp/resolv.conf"
    echo 'nameserver 127.0.0.1' >"$system/etc/resolv.conf"
    for network in none deaf; do
        if [ $network = deaf ] && ! unshare --net ip link set lo up 2>/dev/null; then
            skip "$release: a resolver that does not answer" "there is no ip (iproute2)"
            continue
        fi
        for script in examples/quickstart.sh tests/run.sh; do
            check "$release: $script fails with one line within $offline_s s, network: $network" \
                fails_at_once $script
        done
    done
    network=""
    cp "$tmp/resolv.conf" "$system/etc/resolv.conf"
}

# The pictures that a person would have.
own_pictures() {
    for class in 000-disc-stripes 001-square-checks 003-cross-plain; do
        mkdir -p "$system/root/pictures/$class"
        cp "$system/root/sluice/build/quickstart/pictures/train/$class/"0000*.jpg "$system/root/pictures/$class"
        cp "$system/root/sluice/build/quickstart/pictures/train/$class/"0001*.jpg "$system/root/pictures/$class"
    done
}

quickstart() {
    fresh quickstart
    offline
    block Quickstart sh 1 >"$tmp/first"
    while read -r one; do
        case $one in
        *tests/run.sh*)
            if [ -n "$no_tests" ]; then
                skip "$release: tests/run.sh" "$no_tests"
                continue
            fi
            ;;
        esac
        line /root/sluice "$one" || continue
        check "$release: it was not silent for more than $silence_s s" silent_for $silence_s
        case $one in
        *quickstart*)
            check "$release: it prints the accuracy" printed '^test accuracy: '
            check "$release: it prints the stage table" printed '^decode '
            ;;
        *) check "$release: tests passed" printed '^[1-9][0-9]* passed, 0 failed, ' ;;
        esac
    done <"$tmp/first"
    own_pictures
    lines /root/sluice Quickstart 2 || return
    check "$release: it saves the network" printed '^the network is saved in /root/sluice/pictures.network: '
    classify=$(sed -n '/^to classify/{n;s/^ *//;s,PICTURE,/root/pictures/*/00001.jpg,p}' "$out")
    line /root/sluice "$classify"
    check "$release: the network classifies a picture" printed '^/root/pictures/000-disc-stripes/00001.jpg: .* %'
}

# The program of the README, in all the ways that the README builds it.
program() {
    rm -rf "$system/root/program"
    mkdir "$system/root/program"
    block "A program" c 1 >"$system/root/program/program.c"
    block "A program" cmake 1 >"$system/root/program/CMakeLists.txt"
    for n in 1 2 3; do
        lines /root/program "A program" $n || return
        check "$release: the program prints its loss" printed '^epoch: 5 step: 100, loss is '
    done
    check "$release: the static program needs no libsluice.so" \
        sh -c '! readelf -d "$1" | grep libsluice' - "$system/root/program/program-static"
}

# Files of Sluice that are installed.
nothing_installed() {
    ! find "$system/usr" "$system/etc" "$system/opt" \( -type f -o -type l \) \
        \( -ipath '*sluice*' -o -name train_image_folder \) | grep .
}

install() {
    fresh install
    lines /root/sluice "Build and install" 1 || return
    program || return
    in_budget "man sluice"
    within "$(most 600)" apt-get install --no-install-recommends man-db >"$tmp/log" 2>&1 # for `man`
    lines /root/program "The tool" 1 || return
    check "$release: the man page is shown" printed '^SLUICE(1)'
    lines /root/program "The tool" 2 || return
    lines /root/sluice "Build and install" 2 || return
    check "$release: nothing is left of the installation" nothing_installed

    lines /root/sluice "Debian packages" 1 || return
    program || return
    line /root/program "train_image_folder --help"
    lines /root/sluice "Debian packages" 2 || return
    check "$release: nothing is left of the packages" nothing_installed
    check "$release: the loader has forgotten the library" sh -c '! chroot "$1" ldconfig -p | grep sluice' - "$system"
}

# The tests with the release's compiler, where the packages are that the installation needs.
build_tests() {
    line /root/sluice "apt-get install --no-install-recommends libcunit1-dev" &&
        line /root/sluice "cmake --preset dev" &&
        line /root/sluice "cmake --build --preset dev -j $(nproc)"
}

# ---- what this machine can do ---------------------------------------------------------------------------

no_tests=""
while :; do
    case ${1-} in
    --no-tests | --build-tests) no_tests=$1 ;;
    --budget) budget=${2:?--budget needs SECONDS} && shift ;;
    *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || set -- bookworm trixie
[ "$(id -u)" -eq 0 ] || skip_rest "$untried on a bare Debian" "chroot needs root"
for program in debootstrap unshare wget; do
    command -v $program >/dev/null || skip_rest "$untried on a bare Debian" "$program is not installed"
done
unshare --mount --pid --fork mount -t tmpfs tmpfs "$tmp" 2>/dev/null ||
    skip_rest "$untried on a bare Debian" "this container may not mount"
for release; do
    in_budget "all of it"
    make_ready || continue
    install
    [ "$no_tests" != --build-tests ] || build_tests
    rm -rf "$tmp/install"
    in_budget quickstart
    quickstart
    rm -rf "$tmp/quickstart"
done
finish
