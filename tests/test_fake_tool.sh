#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tool on the fake of CUDA: `sluice bench --device cuda:0` gives the batches of host:0 in each
# mode. test_fake_tool.sh BUILD_DIR; a line for each check, and last `fake_tool: N passed, N failed,
# N skipped`.
set -u
build=$(cd "${1:?usage: test_fake_tool.sh BUILD_DIR}" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
title=fake_tool
. "$root/tests/shell_kit.sh"

tool=$build/bin/sluice_fake_tool
[ -x "$tool" ] || skip_rest "THE TOOL WAS NOT TRIED ON THE FAKE OF CUDA" "the build has no CUDA device"

# digest WORD...: of three passes over one pipeline.
digest() {
    "$tool" bench "synthetic 512 shape=32,32,3 | shuffle | random_crop 24 | random_horizontal_flip | batch 32" \
        --epochs 3 --digest --json "$@" 2>"$tmp/err" | sed -n 's/.*"digest":"\([^"]*\)".*/\1/p'
}

host=$(digest --device host:0)
check "host:0 has a digest" [ -n "$host" ]
for mode in auto direct data graph loop; do
    check "cuda:0 in mode $mode gives the same batches" [ "$(digest --device cuda:0 --mode "$mode")" = "$host" ]
done
check "and by pull" [ "$(digest --device cuda:0,transport=pull)" = "$host" ]

finish
