#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random pipelines give the digests of tests/pipelines/digests_RULE.txt, on every machine and with every compiler.
# Line n is the digest of pipeline n - 1 of the grammar, or the status that it ends with. Where a change is
# meant to change some of them, look at which, and write them again:
#
#     pipeline_digests data DIR && pipeline_digests run DIR RULE 0 2500 | awk '{print $2}' >tests/pipelines/digests_RULE.txt
#
# test_pipelines.sh BUILD_DIR [COUNT]; last line `pipelines: N passed, N failed, N skipped`.
set -u
program=${1:?usage: test_pipelines.sh BUILD_DIR [COUNT]}/bin/pipeline_digests
count=${2:-2500}
title=pipelines
here=$(cd "$(dirname "$0")" && pwd)
. "$here/shell_kit.sh"

export HWLOC_PLUGINS_PATH=/nonexistent # each run opens a topology, for which hwloc loads its plugins again

mkdir "$tmp/data"
check "the data are written" "$program" data "$tmp/data"

# check_rule RULE COUNT: pipelines of that rule of the grammar.
check_rule() {
    digests=pipelines/digests_$1.txt
    "$program" run "$tmp/data" "$1" 0 "$2" >"$tmp/got" || exit 1
    check "$1: $2 pipelines run" [ "$(wc -l <"$tmp/got")" -eq "$2" ]
    head -n "$2" "$here/$digests" | paste -d ' ' - "$tmp/got" |
        awk '$1 != $3 {sub(" ", " must be, is pipeline "); print}' >"$tmp/log"
    name="$1: they give the digests of tests/$digests"
    if [ -s "$tmp/log" ]; then
        fail "$name" "$(wc -l <"$tmp/log") do not"
    else
        pass "$name"
    fi
}
check_rule pipeline "$count"
check_rule free $((count / 3))
check_rule drawn $((count / 3))
finish
