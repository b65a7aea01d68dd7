#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The documentation: Doxygen has nothing to say, links lead somewhere, files that are named exist.
# test_docs.sh; a line for each check, and last `docs: N passed, N failed, N skipped`.
set -u
cd "$(dirname "$0")/.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0
failed=0
skipped=0

# judge NAME FILE: FILE holds what is wrong; empty when nothing is.
judge() {
    if [ -s "$2" ]; then
        failed=$((failed + 1))
        echo "FAIL $1"
        sed 's/^/     /' "$2" | head -n 20
    else
        passed=$((passed + 1))
        echo "ok   $1"
    fi
}

if command -v doxygen >/dev/null; then
    { cat docs/Doxyfile && echo "OUTPUT_DIRECTORY = $tmp/doxygen"; } | doxygen - >"$tmp/doxygen.log" 2>&1
    judge "Doxygen has nothing to say" "$tmp/doxygen.log"
else
    skipped=$((skipped + 1))
    echo "SKIP docs: doxygen is not installed"
fi

find README.md docs examples -name '*.md' >"$tmp/pages"

# [text](target): relative targets are files.
while read -r page; do
    grep -o '](\([^)#:]*\))' "$page" | sed 's/^](//; s/)$//' | while read -r target; do
        [ -e "$(dirname "$page")/$target" ] || echo "$page: no $target"
    done
done <"$tmp/pages" >"$tmp/links"
judge "links lead somewhere" "$tmp/links"

# `folder/file.c`: from the root, or from the page's folder. NAME and noise stand for a new one.
while read -r page; do
    grep -o '`[a-z_]*/[A-Za-z0-9_./-]*\.\(c\|h\|sh\|pml\|txt\|md\)`' "$page" | tr -d '\140' | grep -v 'NAME\|noise' | sort -u |
        while read -r path; do
            [ -e "$path" ] || [ -e "$(dirname "$page")/$path" ] || echo "$page: no $path"
        done
done <"$tmp/pages" >"$tmp/paths"
judge "files that are named exist" "$tmp/paths"

echo "docs: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
