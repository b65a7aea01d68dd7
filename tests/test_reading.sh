#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/guide/report.md: its five reports are what `sluice bench` prints (page_kit.sh). test_reading.sh BUILD_DIR; a line
# for each report, and last `reading: N passed, N failed, N skipped`.
#
# A word after `varies` is what limits the run beside the pipeline: slow_disk, reads that take 20 ms; busy_cores, twice
# as many other processes as cores. Work of others is a reason to repeat a run, then to skip it.
set -u
build=$(cd "${1:?usage: test_reading.sh BUILD_DIR}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
title=reading
. "$here/shell_kit.sh"
. "$here/page_kit.sh"
shim=$build/lib/libfault_calls.so
spinners=""
trap 'kill $spinners 2>/dev/null; rm -rf "$tmp"' EXIT
export PATH="$build/bin:$PATH" LC_ALL=C
unset SLUICE_LOG SLUICE_REPORT

# others_work: other processes leave less than two cores, or less than all; known from /proc/stat while this test sleeps.
busy_ticks() { awk '/^cpu / {print $2 + $3 + $4 + $7 + $8 + $9; exit}' /proc/stat; }
others_work() {
    before=$(busy_ticks)
    sleep 2
    [ $(($(busy_ticks) - before)) -gt 20 ]
}

begin() {
    case $1 in
    *slow_disk*) export FAULT_SLOW=20000:.jpg LD_PRELOAD="$shim" ;;
    *busy_cores*)
        for _ in $(seq $((2 * $(nproc)))); do
            sh -c 'while :; do :; done' &
            spinners="$spinners $!"
        done
        ;;
    esac
}
end() {
    unset FAULT_SLOW LD_PRELOAD
    # shellcheck disable=SC2086
    [ -z "$spinners" ] || kill $spinners
    wait
    spinners=""
}

# prints PART: runs it, and compares.
prints() {
    begin "$(cat "$1.kind")"
    sh "$1.sh" >"$tmp/out" 2>/dev/null </dev/null
    code=$?
    end
    [ "$code" -eq 0 ] && varies "$1.want" "$tmp/out"
}

commands_of "$here/../docs/guide/report.md"
mkdir "$tmp/work"
cd "$tmp/work" || finish
cp "$build/lib/lookup_map.so" .
for script in "$tmp/parts"/*.sh; do
    part=${script%.sh}
    name="$(head -n 1 "$script")$(sed -n 's/^varies \(.\)/ with \1/p' "$part.kind")"
    case $(cat "$part.kind") in
    *slow_disk*) [ -e "$shim" ] || { skip "$name" "no $shim"; continue; } ;;
    varies*) ;;
    *)
        run sh "$script"
        check "$name" [ "$code" -eq 0 ]
        continue
        ;;
    esac
    tries=3
    until prints "$part" >"$tmp/why" 2>&1; do
        tries=$((tries - 1))
        if [ $tries -eq 0 ]; then break; fi
    done
    if [ $tries -gt 0 ]; then
        pass "$name"
    elif others_work; then
        skip "$name" "other processes use the cores"
    else
        cp "$tmp/why" "$tmp/log"
        fail "$name"
    fi
done
[ -e "$tmp/parts/006.sh" ] || fail "the page has a set and five reports"
finish
