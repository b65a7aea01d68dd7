#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fault injection into the tool: limits of descriptors and memory, failing allocations and reads, a
# full disk, files that change, signals, SIGSTOP, kill -9. No trial may crash, hang, or exit with 0
# where data are lost; each error has a text; a resumed pack has the bytes of an unbroken one.
# faults.sh BUILD_DIR [TRIALS]: of each kind so many trials (8). A line for each kind, and last
# `faults: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: faults.sh BUILD_DIR [TRIALS]}" && pwd)
trials=${2:-8}
title=faults
. "$(dirname "$0")/shell_kit.sh"
sluice=$build/bin/sluice
shim=$build/lib/libfault_calls.so
mounted=""
trap 'kill -9 $pid 2>/dev/null; [ -z "$mounted" ] || umount -l "$mounted"; rm -rf "$tmp"' EXIT
pid=""
TIMEOUT=60
unset SLUICE_LOG SLUICE_REPORT

"$sluice" synth "$tmp/set" --classes 2 --per-class 15 --size 40 >/dev/null || exit 1
set=$tmp/set/train
images="image_folder $set | shuffle | decode | random_resized_crop 24 | batch 5"
archive=""
"$sluice" --version | grep -q 'archive on' && archive=on

# ---- trials ----------------------------------------------------------------------------------------

total=0   # trials
begun=0   # of this kind
crashes=0 # of this kind, in libraries that do not survive it

kind() {
    begun=$total
    crashes=0
    problem=""
}

# wrong WHAT: the trial at hand failed; the first of a kind is shown.
wrong() {
    [ -n "$problem" ] || problem="$1: exit $code; $(tail -n 3 "$tmp/err" | cut -c 1-300)"
}

# kind_ends NAME
kind_ends() {
    name="$1 ($((total - begun)) trials$([ $crashes = 0 ] || echo ", $crashes crashes before the plan"))"
    if [ -z "$problem" ] && [ $total -gt $begun ]; then pass "$name"; else fail "$name" "$problem"; fi
}

# try COMMAND...: one trial; then $code, $tmp/out, $tmp/err.
try() {
    total=$((total + 1))
    timeout -s KILL $TIMEOUT "$@" >"$tmp/out" 2>"$tmp/err"
    code=$?
}

digest() { sed -n 's/.*"digest":"\([0-9a-f]*\)".*/\1/p' "$tmp/out"; }

# sound WHAT [DIGEST]: the last trial did all there was to do, or says why not.
sound() {
    if [ "$code" -eq 0 ]; then
        [ -s "$tmp/out" ] || wrong "$1: no output"
        [ -z "${2-}" ] || [ "$(digest)" = "$2" ] || wrong "$1: digest $(digest), want $2"
    elif [ "$code" -eq 1 ] || [ "$code" -eq 2 ]; then
        grep -q '^sluice: ' "$tmp/err" || wrong "$1: an error without a text"
    else
        wrong "$1"
    fi
}

# same FOLDER: is the pack there the unbroken one?
same() { diff -r -x pack.lock "$tmp/whole" "$1" >"$tmp/log"; }

# resumed WHAT FOLDER: a pack goes on without faults, to the same bytes.
resumed() {
    try "$sluice" pack "$set" "$2"
    [ "$code" -eq 0 ] || wrong "$1, resumed"
    same "$2" || wrong "$1, resumed to other bytes: $(head -n 1 "$tmp/log")"
    rm -rf "$2"
}

# run_images OPTIONS...: a run with a digest.
run_images() {
    try "$sluice" bench "$images" --workers 3 --json --digest "$@"
}
run_images || exit 1
want=$(digest)
run_images --on-error zero
want_zero=$(digest)
check "a run without faults" [ "$code" -eq 0 ] && [ -n "$want$want_zero" ] || finish
[ -z "$archive" ] || "$sluice" pack "$set" "$tmp/whole" >/dev/null || exit 1

# spread COUNT: numbers from 1 to COUNT, `trials` at most.
spread() { awk -v n="$1" -v t="$trials" 'BEGIN {d = n > t ? n / t : 1; for (k = 1; k <= n; k += d) print int(k)}'; }

# ---- limits ----------------------------------------------------------------------------------------

# limited OPTION LIMIT ARGUMENTS...: the tool under ulimit.
limited() {
    which=$1
    most=$2
    shift 2
    try sh -c 'ulimit "$0" "$1" && shift && exec "$@"' "$which" "$most" "$sluice" "$@"
}

kind
for limit in 5 6 9; do
    limited -n $limit bench "$images" --workers 3 --json --digest --on-error zero
    sound "ulimit -n $limit" "$want_zero"
    grep -q '"zeroed":0' "$tmp/out" || [ "$code" -ne 0 ] || wrong "ulimit -n $limit: zero rows"
done
limited -n 4 explain "$images"
sound "ulimit -n 4"
kind_ends "few descriptors"

if [ -n "$archive" ]; then
    kind
    limited -n 8 pack "$set" "$tmp/few" --workers 3
    sound "ulimit -n 8, a pack"
    resumed "ulimit -n 8, a pack" "$tmp/few"
    kind_ends "a pack with few descriptors"
fi

if [ -n "$(cached SLUICE_SANITIZE)" ]; then
    skip "ulimit -v" "a sanitized build maps more"
else
    kind
    for limit in $(spread 300); do
        limited -v $((limit * 1024)) bench "$images" --workers 3 --json --digest
        case $code in
        127) ;; # the loader itself
        134 | 139) # libraries that do not survive it (docs/guide/troubleshooting.md) run before the plan
            if grep -q plan: "$tmp/err"; then wrong "ulimit -v $limit MB"; else crashes=$((crashes + 1)); fi ;;
        *) sound "ulimit -v $limit MB" "$want" ;;
        esac
        [ "$code" -ne 1 ] || grep -q -e memory "$tmp/err" || wrong "ulimit -v $limit MB: memory is not named"
    done
    kind_ends "little memory"
fi

# ---- calls that fail -------------------------------------------------------------------------------

# Libraries that do not survive failing allocations are left out (docs/guide/troubleshooting.md); what libarchive
# brings along is loaded within ld-linux.
EXCEPT=libhwloc,libarchive,ld-linux

# faulty SETTING=VALUE ARGUMENTS...: the tool with the shim.
faulty() {
    setting=$1
    shift
    try env LD_PRELOAD="$shim" FAULT_EXCEPT=$EXCEPT "$setting" "$sluice" "$@"
}

# allocations NAME DIGEST ARGUMENTS...: each of some allocations fails, alone and with all after it.
allocations() {
    name=$1
    digest=$2
    shift 2
    kind
    faulty FAULT_COUNT="$tmp/count" "$@"
    [ "$code" -eq 0 ] || wrong "no allocation fails"
    for k in $(spread "$(head -n 1 "$tmp/count")"); do
        for how in "$k:1" "$k"; do
            rm -rf "$tmp/made"
            faulty FAULT_ALLOC=$how "$@"
            sound "allocation $how fails" "$digest"
            [ "$1" != pack ] || [ "$code" -ne 0 ] || same "$tmp/made" || wrong "allocation $how fails: other bytes"
            [ "$code" -ne 1 ] || grep -q memory "$tmp/err" || wrong "allocation $how fails: memory is not named"
            [ "$1" != pack ] || [ $((k % 3)) -ne 1 ] || resumed "allocation $how fails" "$tmp/made"
        done
    done
    kind_ends "allocations of $name fail"
}

if [ -n "$(cached SLUICE_SANITIZE)" ] || [ ! -f "$shim" ]; then
    skip "calls that fail" "a sanitized build, or one without the shim"
else
    allocations bench "$want" bench "$images" --workers 2 --json --digest
    mkdir "$tmp/index"
    indexed=$(echo "$images" | sed "s|train|& index=$tmp/index|")
    allocations "bench with an index" "$want_zero" bench "$indexed" --workers 2 --json --digest --on-error zero
    allocations explain "" explain "$images"
    allocations classes "" classes "$set"
    allocations show "" show "$images" --npy "$tmp/arrays" -o "$tmp/sheet.png"
    allocations topo "" topo
    head -c 20000 /dev/zero >"$tmp/tokens.u16"
    allocations tokens "" bench "tokens $tmp/tokens.u16 64 dtype=u16 order=llmc | batch 8" --workers 2 --json
    if [ -n "$archive" ]; then
        allocations pack "" pack "$set" "$tmp/made" --workers 2
        allocations verify "" verify "$tmp/whole"
        gzip -c "$tmp/whole/shard-000000.tar" >"$tmp/set.tar.gz"
        allocations "a compressed stream" "" bench \
            "webdataset $tmp/set.tar.gz | decode | resize 8,8 | batch 4" --workers 2 --json
        kind
        for share in 200 500; do # of 1000 reads of images
            FAULT_COUNT=$tmp/count faulty FAULT_READ=5:$share:.jpg pack "$set" "$tmp/eio" --workers 3
            [ "$(tail -n 1 "$tmp/count")" -gt 0 ] || wrong "no read fails"
            sound "EIO of $share reads of 1000"
            [ "$code" -ne 0 ] || same "$tmp/eio" || wrong "EIO of $share reads of 1000: other bytes"
            resumed "EIO of $share reads of 1000" "$tmp/eio"
        done
        kind_ends "reads of a pack fail"
    fi
fi

# ---- a full disk -----------------------------------------------------------------------------------

# full SIZE: a file system of so many KB at $tmp/disk.
full() {
    [ -z "$mounted" ] || umount "$mounted"
    mounted=""
    mkdir -p "$tmp/disk"
    mount -t tmpfs -o "size=$1k" sluice "$tmp/disk" 2>"$tmp/err" && mounted=$tmp/disk
}

if [ "$(id -u)" -ne 0 ]; then
    skip "NO FULL DISK" "only root can mount a tmpfs"
elif ! full 4; then
    skip "NO FULL DISK" "$(head -c 200 "$tmp/err")"
else
    kind
    head -c 4096 /dev/zero >"$tmp/disk/file"
    try "$sluice" bench "$(echo "$images" | sed "s|train|& index=$tmp/disk/index|")" --workers 2 --json --digest
    sound "an index" "$want"
    grep -q 'index=.*No space left' "$tmp/err" || wrong "an index: the reason is not named"
    [ -z "$(find "$tmp/disk" -name '*.sluice')" ] || wrong "an index: files are left"
    run_images --digests "$tmp/disk/digests"
    [ "$code" -eq 1 ] && grep -q 'No space left' "$tmp/err" || wrong "digests on a full disk"
    try "$sluice" synth "$tmp/disk/set" --classes 1 --per-class 5
    [ "$code" -eq 1 ] && grep -q 'No space left' "$tmp/err" || wrong "synth on a full disk"
    full 40
    try "$sluice" show "$images" --npy "$tmp/disk/arrays" --steps 9
    [ "$code" -eq 1 ] && grep -q 'image.npy: No space left' "$tmp/err" || wrong "arrays on a full disk"
    [ ! -e "$tmp/disk/arrays" ] || wrong "arrays on a full disk: files are left"
    if [ -n "$archive" ]; then
        for size in 4 12 24; do
            full $size
            try "$sluice" pack "$set" "$tmp/disk/pack"
            [ "$code" -eq 1 ] && grep -q 'No space left' "$tmp/err" || wrong "a pack on $size KB"
            mount -o remount,size=4096k "$tmp/disk"
            resumed "a pack on $size KB" "$tmp/disk/pack"
        done
    fi
    kind_ends "a full disk"
    umount "$mounted" && mounted=""
fi

# ---- files that change -----------------------------------------------------------------------------

# disturb: cuts, replaces, removes and restores files, until the run ends.
disturb() {
    for turn in 1 2 3 4 5 6 7 8 9; do
        for file in "$tmp"/moving/*/*; do
            case $((turn % 4)) in
            0) head -c 300 "$set/${file#"$tmp/moving/"}" >"$file" ;;
            1) mv "$file" "$file.away" && mv "$file.away" "$file" ;;
            2) echo none >"$file" ;;
            3) cp "$set/${file#"$tmp/moving/"}" "$file" ;;
            esac 2>/dev/null
        done
        kill -0 $pid 2>/dev/null || break
    done
}

kind
cp -r "$set" "$tmp/moving"
moving=$(echo "$images" | sed "s|$set|$tmp/moving|")
for policy in zero replace fail; do
    for index in "" " index=$tmp/moving-index"; do
        total=$((total + 1))
        timeout -s KILL $TIMEOUT "$sluice" bench "$(echo "$moving" | sed "s|moving|&$index|")" --workers 2 \
            --seconds 0.7 --on-error $policy --json >"$tmp/out" 2>"$tmp/err" &
        pid=$!
        disturb
        wait $pid
        code=$?
        sound "files change, policy $policy"
    done
done
cp -r "$set/." "$tmp/moving"
try "$sluice" bench "$moving" --workers 2 --json --digest
sound "files are what they were" "$want"
kind_ends "files change"

# ---- signals ---------------------------------------------------------------------------------------

# sent SIGNAL ARGUMENTS...: the tool, which gets a signal after some milliseconds.
sent() {
    signal=$1
    shift
    total=$((total + 1))
    rm -f "$tmp/pid"
    timeout -s KILL $TIMEOUT sh -c 'echo $$ >"$0" && exec "$@"' "$tmp/pid" "$sluice" "$@" >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    while [ ! -s "$tmp/pid" ] && kill -0 $pid; do sleep 0.01; done
    sleep "0.0$((total % 10))$((total % 7))"
    kill -"$signal" "$(cat "$tmp/pid")" 2>/dev/null
    if [ "$signal" = STOP ]; then
        sleep 0.2
        kill -CONT "$(cat "$tmp/pid")" 2>/dev/null
    fi
    { wait $pid; } 2>/dev/null
    code=$?
}

kind
for trial in $(spread "$trials"); do
    for signal in INT TERM; do
        sent $signal bench "$images" --workers 2 --json --epochs 30
        case $code in
        0 | 130 | 143) ;; # the shell ignores SIGINT up to the handler
        *) wrong "SIG$signal" ;;
        esac
    done
done
kind_ends "SIGINT and SIGTERM end runs"
kind
for trial in $(spread "$trials"); do
    sent STOP bench "$images" --workers 2 --json --digest
    sound "SIGSTOP and SIGCONT" "$want"
    [ "$code" -eq 0 ] || wrong "SIGSTOP and SIGCONT"
done
kind_ends "SIGSTOP and SIGCONT"
if [ -n "$archive" ]; then
    kind
    for trial in $(spread "$trials"); do
        for signal in KILL TERM; do
            sent $signal pack "$set" "$tmp/killed" --workers 2 --shard-size 16K
        done
        try "$sluice" pack "$set" "$tmp/killed" --workers 2 --shard-size 16K
        [ "$code" -eq 0 ] || wrong "kill -9 of a pack, resumed"
        [ -d "$tmp/unbroken" ] || "$sluice" pack "$set" "$tmp/unbroken" --workers 2 --shard-size 16K >/dev/null
        diff -r -x pack.lock "$tmp/unbroken" "$tmp/killed" >"$tmp/log" || wrong "kill -9: $(head -n 1 "$tmp/log")"
        rm -rf "$tmp/killed"
    done
    kind_ends "kill -9 of a pack, and a resume"
else
    skip "packs" "the build cannot pack"
fi
echo "$total trials"
finish
