#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/guide/tutorial.md: its commands, run in a temporary folder with the installed library and tool, print what
# the page shows (page_kit.sh). test_tutorial.sh BUILD_DIR; a line for each command, and last `tutorial: N passed, ...`.
set -u
build=$(cd "${1:?usage: test_tutorial.sh BUILD_DIR}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
title=tutorial
. "$here/shell_kit.sh"
. "$here/page_kit.sh"

"$build/bin/sluice" --version | grep -q 'archive on' || skip_rest "everything" "it packs, which needs libarchive"
install_build
export PATH="$prefix/bin:$PATH" OMP_WAIT_POLICY=passive LC_ALL=C
unset SLUICE_LOG SLUICE_REPORT

mkdir "$tmp/work"
commands_of "$here/../docs/guide/tutorial.md"
check "the page has commands" [ -s "$tmp/parts/001.sh" ] || finish
cd "$tmp/work" || finish
for script in "$tmp/parts"/*.sh; do
    part=${script%.sh}
    sh "$script" >"$tmp/out" 2>&1 </dev/null
    code=$?
    name=$(head -n 1 "$script")
    : >"$tmp/err"
    check "$name" [ "$code" -eq 0 ] || finish
    if [ -s "$part.kind" ] && [ "$(cat "$part.kind")" = varies ]; then
        check "... prints what the page shows" varies "$part.want" "$tmp/out"
    else
        check "... prints what the page shows" matches "$part.want" "$tmp/out"
    fi
done
finish
