#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGSTOP while a run waits for data, for longer than its time-out for stalls, and SIGCONT: it goes
# on. test_suspend.sh BUILD_DIR; last line `suspend: N passed, N failed, N skipped`.
set -u
build=${1:?usage: test_suspend.sh BUILD_DIR}
title=suspend
. "$(dirname "$0")/shell_kit.sh"
command -v mkfifo >/dev/null || skip_rest "no mkfifo"
program=$build/bin/suspend_run
trap 'kill -9 $pid 2>/dev/null; rm -rf "$tmp"' EXIT
pid=""

"$build/bin/sluice" synth "$tmp/set" --classes 2 --per-class 20 --size 24 >/dev/null || exit 1
if ! "$build/bin/sluice" --version | grep -q 'archive on'; then
    skip_rest "the build cannot pack"
fi
"$build/bin/sluice" pack "$tmp/set/train" "$tmp/pack" >/dev/null || exit 1
shard=$tmp/pack/shard-000000.tar
size=$(wc -c <"$shard")
half=$((size / 1024 * 512))

# begin MODE: a run that has trained on what came of the first half of the shard, and waits.
begin() {
    rm -f "$tmp/fifo"
    mkfifo "$tmp/fifo"
    "$program" "$tmp/fifo" "$1" 1500 >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    exec 3<>"$tmp/fifo" # also where the program has ended
    head -c $half "$shard" >&3
    while [ "$(wc -l <"$tmp/out")" -lt 5 ] && kill -0 $pid 2>/dev/null; do
        sleep 0.02
    done
}

for mode in direct data graph loop; do
    begin $mode
    kill -STOP $pid || { cat "$tmp/err" && exit 1; }
    sleep 2
    kill -CONT $pid
    sleep 0.1
    tail -c +$((half + 1)) "$shard" >&3
    exec 3>&-
    wait $pid
    code=$?
    check "$mode: a run that was suspended goes on" [ "$code" -eq 0 ]
    check "... with every step" [ "$(wc -l <"$tmp/out")" -eq 16 ]
done

begin loop
wait $pid
code=$?
exec 3>&-
check "without a suspension the time-out is in force" [ "$code" -eq 1 ]
check "... and names who waits" err_has 'no step ended for 1.5 s: step [0-9]* waits for data'
finish
