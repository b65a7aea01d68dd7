#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares this Sluice with an older one: random pipelines must give the same digests, or the same status. The older
# one is built from git into build/baseline-COMMIT, once, and makes the data, so that what it wrote is read, too.
#
#     compare.sh BUILD_DIR COMMIT [COUNT]        COUNT pipelines (2500), a third as many of JPEG files, and a third
#                                                that resume from checkpoints of the older one
#
# Prints which differ, and the counts. Exit 1: some differ, or are refused that ran. BUILD_DIR is a build of this tree.
set -eu
usage="usage: compare.sh BUILD_DIR COMMIT [COUNT]"
build=$(cd "${1:?$usage}" && pwd)
commit=${2:?$usage}
count=${3:-2500}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/tests/baseline.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

build_baseline "$commit"
compile_for_baseline "$tmp/old" "$here"/*.c

data=$tmp/data
mkdir "$data"
"$tmp/old" data "$data"
mkdir "$data/index"
"$old/build/bin/sluice" synth "$data/made" --classes 3 --per-class 5 --size 40 >"$tmp/log" 2>&1
mv "$data/made/train" "$data/jpeg"
"$old/build/bin/sluice" pack "$data/jpeg" "$data/pack" >"$tmp/log" 2>&1
"$old/build/bin/sluice" pack "$data/jpeg" "$data/rawpack" --raw >"$tmp/log" 2>&1
third=$((count / 3))
mkdir "$tmp/states"
"$tmp/old" run "$data" pipeline "$count" $third "$tmp/states" >"$tmp/log"
cp -r "$tmp/states" "$tmp/states-now"
# all PROGRAM STATES
all() {
    "$1" run "$data" pipeline 0 "$count"
    "$1" run "$data" jpeg 0 $third
    "$1" run "$data" pipeline "$count" $third "$2" # resumes
}
all "$tmp/old" "$tmp/states" >"$tmp/before"
all "$build/bin/pipeline_digests" "$tmp/states-now" >"$tmp/now"
paste "$tmp/before" "$tmp/now" | awk -F '\t' '
    function runs(result) {return length(result) == 16 && result ~ /^[0-9a-f]*$/}
    {
        split($1, before, " ")
        split($2, now, " ")
    }
    before[2] == now[2] && runs(now[2]) {equal++; next}
    before[2] == now[2] {refused++; next}
    runs(before[2]) && runs(now[2]) {differ++; print "DIFFERS (" now[2] " now): " $1; next}
    runs(before[2]) {lost++; print "REFUSED (" now[2] " now): " $1; next}
    runs(now[2]) {gained++; next}
    {other++; print "ANOTHER STATUS (" now[2] " now): " $1}
    END {
        printf "%d equal, %d differ, %d refused now, ", equal, differ, lost
        printf "%d run now that were refused, %d refused by both, %d with another status\n", gained, refused, other
        exit differ + lost > 0
    }'
