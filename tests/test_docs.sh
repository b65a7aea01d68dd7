#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The documentation: Doxygen has nothing to say, links lead somewhere, files that are named exist.
# test_docs.sh; a line for each check, and last `docs: N passed, N failed, N skipped`.
set -u
cd "$(dirname "$0")/.." || exit 1
title=docs
. tests/shell_kit.sh

if command -v doxygen >/dev/null; then
    { cat docs/Doxyfile && echo "OUTPUT_DIRECTORY = $tmp/doxygen"; } | doxygen - >"$tmp/doxygen.log" 2>&1
    check "Doxygen has nothing to say" empty "$tmp/doxygen.log"
else
    skip "doxygen is not installed"
fi

find README.md docs examples -name '*.md' >"$tmp/pages"

# [text](target): relative targets are files.
while read -r page; do
    grep -o '](\([^)#:]*\))' "$page" | sed 's/^](//; s/)$//' | while read -r target; do
        [ -e "$(dirname "$page")/$target" ] || echo "$page: no $target"
    done
done <"$tmp/pages" >"$tmp/links"
check "links lead somewhere" empty "$tmp/links"

# `folder/file.c`: from the root, or from the page's folder. NAME and noise stand for a new one.
while read -r page; do
    grep -o '`[a-z_]*/[A-Za-z0-9_./-]*\.\(c\|h\|sh\|pml\|txt\|md\)`' "$page" | tr -d '\140' | grep -v 'NAME\|noise' | sort -u |
        while read -r path; do
            [ -e "$path" ] || [ -e "$(dirname "$page")/$path" ] || echo "$page: no $path"
        done
done <"$tmp/pages" >"$tmp/paths"
check "files that are named exist" empty "$tmp/paths"

finish
