#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The documentation: Doxygen has no warnings, links and their anchors lead somewhere, files that are named
# exist, lines are not too long, the tables of the reference are complete.
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

# [text](target): relative targets are files. In code a lambda may have the form of a link.
while read -r page; do
    awk '/^```/ {code = !code} !code' "$page" | grep -o '](\([^)#:]*\))' | sed 's/^](//; s/)$//' | while read -r target; do
        [ -e "$(dirname "$page")/$target" ] || echo "$page: no $target"
    done
done <"$tmp/pages" >"$tmp/links"
check "links lead somewhere" empty "$tmp/links"
grep -n '](\.\./' docs/guide/*.md >"$tmp/links"
check "pages of the guide, which is installed alone, link to each other only" empty "$tmp/links"
for page in docs/guide/*.md; do
    page=$(basename "$page")
    [ "$page" = README.md ] || grep -qF "]($page" docs/guide/README.md || echo "no $page: add a line for it"
done >"$tmp/links"
check "the guide's README.md lists every page" empty "$tmp/links"

# anchors PAGE: those of its headings, as GitHub makes them.
anchors() {
    awk '/^```/ {code = !code} !code && /^#+ / {
        sub(/^#+ /, "")
        $0 = tolower($0)
        gsub(/\]\([^)]*\)/, "")
        gsub(/[^a-z0-9_ -]/, "")
        gsub(/ /, "-")
        print
    }' "$1"
}

# [text](page#anchor): the page has the heading.
while read -r page; do
    grep -o '](\([^):]*\)#[^)]*)' "$page" | sed 's/^](//; s/)$//' | while IFS='#' read -r target anchor; do
        [ -n "$target" ] && target=$(dirname "$page")/$target || target=$page
        anchors "$target" | grep -qxF -e "$anchor" || echo "$page: no heading $anchor in $target"
    done
done <"$tmp/pages" >"$tmp/anchors" 2>&1
check "links to headings lead somewhere" empty "$tmp/anchors"

# long_lines PAGE: its lines above 132 bytes; tables and code may be wider.
long_lines() {
    LC_ALL=C awk -v page="$1" '/^ *```/ {code = !code; next} code || /^ *\|/ || (/^    / && !/^ *[-*] /) {next}
        length > 132 {print page ":" NR ": " length " columns"}' "$1"
}
while read -r page; do
    long_lines "$page"
done <"$tmp/pages" >"$tmp/long"
check "lines of prose have at most 132 columns" empty "$tmp/long"
# shellcheck disable=SC2016 # a fence
{ printf '%0133d\n\n- %0131d\n' 0 0 && printf '```sh\n%0133d\n```\n| %0133d |\n    %0133d\n%0132d\n' 0 0 0 0; } >"$tmp/wide.md"
check "... and longer ones would be found" test "$(long_lines "$tmp/wide.md" | grep -c '133 columns')" -eq 2

# Public functions state which threads may call them.
headers="runtime/include/sluice/version.h.in $(find ./*/include/sluice -name '*.h')"
# shellcheck disable=SC2086
awk -f tests/public_docs.awk $headers >"$tmp/threads"
check "public functions are found" sh -c 'sed -n "s/^functions //p" "$1" | grep -qx "[1-9][0-9][0-9]*"' - "$tmp/threads"
sed -i '/^functions /d' "$tmp/threads"
check "comments of public functions state their threads (STYLE.md)" empty "$tmp/threads"
sed 's/^ \* Threads: /& see below. Threads: /' runtime/include/sluice/device.h >"$tmp/device.h"
sed '/^ \* Threads: /d' runtime/include/sluice/device.h >"$tmp/other.h"
check "... and another form, or none, would be found" \
    test "$(awk -f tests/public_docs.awk "$tmp/device.h" "$tmp/other.h" | grep -c sluice_)" -eq 6

# Tables of docs/guide/reference.md are complete: variables that the library reads, statuses, outcomes of a pack.
reference=docs/guide/reference.md
{
    grep -rhoE '(getenv|overrides_value)\("[A-Z_]+"|"SLUICE_[A-Z]+",' runtime numa queue dataset sink examples/cli
    grep -oE '"[A-Z0-9]*_[A-Z0-9_]*"' runtime/ranks.c # of launchers
} | sed 's/^[^"]*"//; s/".*//' | sort -u >"$tmp/variables"
check "variables are found in the sources" grep -qx SLUICE_WORKERS "$tmp/variables"
while read -r name; do
    grep -qF "\`$name\`" "$reference" || echo "no $name"
done <"$tmp/variables" >"$tmp/missing"
check "reference.md has every environment variable that the library reads" empty "$tmp/missing"
# shellcheck disable=SC2016 # the page's backquotes
sed -n 's/^ *X(\([A-Z_]*\), \(-*[0-9]*\), "\(.*\)") *\\*$/| `SLUICE_\1` | \2 | \3 |/p' runtime/include/sluice/status.h >"$tmp/statuses"
# shellcheck disable=SC2016
grep '^| `SLUICE_[A-Z_]*` | -*[0-9]* |' "$reference" >"$tmp/documented"
check "reference.md has the statuses of status.h" sh -c '[ -s "$1" ] && diff "$1" "$2"' - "$tmp/statuses" "$tmp/documented"
sed -n 's/^ *X([A-Z_]*, [0-9]*, "\([a-z_]*\)", .*/\1/p' dataset/include/sluice/pack.h >"$tmp/outcomes"
while read -r name; do
    grep -qF "\`$name\`" "$reference" || echo "no $name"
done <"$tmp/outcomes" >"$tmp/missing"
check "reference.md has every outcome of pack.h" sh -c '[ -s "$1" ] && ! grep "" "$2"' - "$tmp/outcomes" "$tmp/missing"

# Messages, logs and help texts are in plain technical English.
find runtime numa queue dataset sink examples -name '*.[ch]' -o -name '*.cu' -o -name '*.cpp' -o -name '*.hpp' \
    -o -name '*.h.in' >"$tmp/sources"
xargs awk -f tests/idioms.awk <"$tmp/sources" >"$tmp/idioms"
check "texts are found in the sources" sh -c 'sed -n "s/^texts //p" "$1" | grep -qx "[1-9][0-9][0-9][0-9]*"' - "$tmp/idioms"
sed -i '/^texts /d' "$tmp/idioms"
check "texts of the sources say what must be, in plain English (STYLE.md)" empty "$tmp/idioms"
printf '%s\n' 'f("%u rows; must be 1 to 9"); /* "want 1 to 9" */ // "want"' 'g("wanted", "there is no row", "it is no longer read");' \
    'f("%s=%u: want "' '  "1 to 9"); f("role %d is none "' '"of the roles"); c = '"'\"'"'; f("x.tar is no archive");' \
    'f(a ? "a crop wants a size" : "nobody knows");' >"$tmp/idioms.c"
check "... and idioms would be found" \
    test "$(awk -f tests/idioms.awk "$tmp/idioms.c" | cut -d: -f2 | grep -v texts | tr '\n' ' ')" = "3 4 5 6 6 "

# `folder/file.c`: from the root, or from the page's folder. NAME and noise stand for a new one.
while read -r page; do
    grep -o '`[a-z_]*/[A-Za-z0-9_./-]*\.\(c\|h\|sh\|pml\|txt\|md\)`' "$page" | tr -d '\140' | grep -v 'NAME\|noise' | sort -u |
        while read -r path; do
            [ -e "$path" ] || [ -e "$(dirname "$page")/$path" ] || echo "$page: no $path"
        done
done <"$tmp/pages" >"$tmp/paths"
check "files that are named exist" empty "$tmp/paths"

# The oldest CMake that will do, in the README, for CMake and for its presets.
{
    sed -n 's/.*CMake \([0-9.]*[0-9]\).*/\1/p' README.md
    sed -n 's/^cmake_minimum_required(VERSION \([0-9.]*\)).*/\1/p' CMakeLists.txt
    sed -n 's/.*"major": \([0-9]*\), "minor": \([0-9]*\).*/\1.\2/p' CMakePresets.json
} | sort | uniq -c >"$tmp/cmake"
check "README, CMakeLists.txt and CMakePresets.json want one version of CMake" \
    grep -qx ' *3 3\.[0-9]*' "$tmp/cmake"

finish
