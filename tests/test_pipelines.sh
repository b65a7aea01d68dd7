#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Random pipelines give the digests of tests/pipelines/digests.txt, on every machine and with every compiler.
# Line n is the digest of pipeline n - 1 of the grammar, or the status that it ends with. Where a change is
# meant to change some of them, look at which, and write them again:
#
#     pipeline_digests data DIR && pipeline_digests run DIR pipeline 0 2500 | awk '{print $2}' >tests/pipelines/digests.txt
#
# test_pipelines.sh BUILD_DIR [COUNT]; last line `pipelines: N passed, N failed, N skipped`.
set -u
program=${1:?usage: test_pipelines.sh BUILD_DIR [COUNT]}/bin/pipeline_digests
count=${2:-2500}
title=pipelines
here=$(cd "$(dirname "$0")" && pwd)
. "$here/shell_kit.sh"

mkdir "$tmp/data"
check "the data are written" "$program" data "$tmp/data"
"$program" run "$tmp/data" pipeline 0 "$count" >"$tmp/got" || exit 1
check "$count pipelines run" [ "$(wc -l <"$tmp/got")" -eq "$count" ]
head -n "$count" "$here/pipelines/digests.txt" | paste -d ' ' - "$tmp/got" |
    awk '$1 != $3 {sub(" ", " must be, is pipeline "); print}' >"$tmp/log"
name="they give the digests of tests/pipelines/digests.txt"
if [ -s "$tmp/log" ]; then
    fail "$name" "$(wc -l <"$tmp/log") do not"
else
    pass "$name"
fi
finish
