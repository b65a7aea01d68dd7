#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/guide/tutorial.md and from-mindspore.md: their commands, run in a temporary folder with the installed library and
# tool, print what the pages show (page_kit.sh). A block ```c that begins with the comment `NAME.c: ...` is that file.
# test_tutorial.sh BUILD_DIR; a line for each command, and last `tutorial: N passed, ...`.
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


# follow PAGE: runs its commands.
follow() {
    rm -rf "$tmp/parts" "$tmp/work"
    mkdir "$tmp/work"
    commands_of "$here/../docs/guide/$1"
    check "$1 has commands" [ -s "$tmp/parts/001.sh" ] || finish
    cd "$tmp/work" || finish
    awk '/^```/ {file = ""; begins = $0 == "```c"; next}
        begins && match($0, /^\/\* [a-z]+\.c:/) {file = substr($0, 4, RLENGTH - 4)}
        {begins = 0}
        file != "" {print >file}' "$here/../docs/guide/$1"
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
}

follow tutorial.md
if "$build/bin/sluice" --version | grep -q 'jansson on.*sqlite on'; then
    follow from-mindspore.md
else
    skip "from-mindspore.md" "its record files need jansson and sqlite"
fi
finish
