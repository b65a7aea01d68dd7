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
    find runtime numa queue dataset sink examples/cli -name '*.c' -exec sed '/ known\[\]/,/};/d' {} + |
        grep -oE '(getenv|overrides_value)\("[A-Z_]+"|"SLUICE_[A-Z]+",|= "SLUICE_[A-Z_]+";'
    grep -oE '"[A-Z0-9]*_[A-Z0-9_]*"' runtime/ranks.c # of launchers
} | sed 's/^[^"]*"//; s/".*//' | sort -u >"$tmp/variables"
check "variables are found in the sources" grep -qx SLUICE_WORKERS "$tmp/variables"
while read -r name; do
    grep -qF "\`$name\`" "$reference" || echo "no $name"
done <"$tmp/variables" >"$tmp/missing"
check "reference.md has every environment variable that the library reads" empty "$tmp/missing"
sed -n '/ known\[\]/,/};/p' sink/program/overrides.c | grep -o '"SLUICE_[A-Z_]*"' | tr -d '"' | sort >"$tmp/known"
check "overrides.c knows every variable of Sluice" sh -c 'grep "^SLUICE_" "$1" | diff - "$2"' - "$tmp/variables" "$tmp/known"
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

# What coming-from.md says of a name in another library, and what the table of stages says of it.
guide=docs/guide
awk -f tests/other_names.awk $guide/stages.md $guide/coming-from.md >"$tmp/names"
check "names in other libraries are found" sh -c 'sed -n "s/^names //p" "$1" | grep -qx "[1-9][0-9]*"' - "$tmp/names"
sed -i '/^names /d' "$tmp/names"
check "coming-from.md has the stages of these names in the table of stages" empty "$tmp/names"
sed 's/^| `v2.Pad` | `pad_image`/| `v2.Pad` | `pad`/' $guide/coming-from.md >"$tmp/other.md"
check "... and another stage would be found" \
    test "$(awk -f tests/other_names.awk $guide/stages.md "$tmp/other.md" | grep -c '^Pad is pad_image')" -eq 1

# The first table of sources.md has each source, and the table of the names of samples each that has samples of its own.
sed -n '/^## Sources/,/^## Order/s/^### //p' $guide/stages.md >"$tmp/sources"
# missing_sources PAGE
missing_sources() {
    while read -r name; do
        sed -n '/^| source | data |/,/^$/p' "$1" | grep -q "^|[^|]*\`$name[\` ]" || echo "no $name in the table of sources"
        case $name in concat | mix | zip) continue ;; esac
        sed -n '/^| source | name of a sample/,/^$/p' "$1" | grep -q "^|[^|]*\`$name\`" || echo "no $name in the table of names"
    done <"$tmp/sources"
}
missing_sources $guide/sources.md >"$tmp/missing"
check "sources.md has every source of the table of stages" sh -c '[ -s "$1" ] && ! grep "" "$2"' - "$tmp/sources" "$tmp/missing"
# shellcheck disable=SC2016 # the page's backquotes
sed 's/`lmdb`/`other`/; s/`npy`/`other`/' $guide/sources.md >"$tmp/other.md"
check "... and one that is missing would be found" test "$(missing_sources "$tmp/other.md" | grep -c 'no lmdb\|no npy')" -eq 4

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

# ---- docs/ARCHITECTURE.md: short paragraphs, names that are true ------------------------------------

# long_paragraphs PAGE: those of more than 120 words. An item of a list and a row of a table are paragraphs, code is none.
long_paragraphs() {
    awk 'function finish() {
        if (words > 120) print FILENAME ":" line ": a paragraph of " words " words"
        words = 0
    }
    /^```/ {code = !code}
    /^```/ || code || /^    / || /^#/ || NF == 0 {finish(); next}
    /^ *([-*]|[0-9]+\.) / || /^\|/ {finish()}
    {
        if (words == 0) line = FNR
        words += NF
    }
    END {finish()}' "$1"
}

# The functions that files define, `FILE NAME` each, and those that are pointers in a struct.
modules="runtime numa queue dataset sink"
# shellcheck disable=SC2086
find $modules -name '*.c' -o -name '*.h' -o -name '*.cu' >"$tmp/sources"
# shellcheck disable=SC2016 # of awk
xargs awk '
    FNR == 1 {file = FILENAME; sub(/.*\//, "", file)}
    /^[A-Za-z_]/ && !/;$/ && match($0, /[a-z_0-9]+\(/) {print file, substr($0, RSTART, RLENGTH - 1)}
    /^ +.*\(\*[a-z_]+\)\(/ {match($0, /\(\*[a-z_]+\)/); print "*", substr($0, RSTART + 2, RLENGTH - 3)}' \
    <"$tmp/sources" >"$tmp/functions"
# shellcheck disable=SC2086
find $modules tests docs examples README.md -type f | sed 's/.*\///' | sort -u >"$tmp/files"

# code_of PAGE PATTERN: what stands in backquotes and matches.
code_of() { grep -o "\`$2\`" "$1" | tr -d '\140' | sort -u; }

# wrong_names PAGE: files, folders and functions that are not there. NAME in a file stands for a new one.
wrong_names() {
    code_of "$1" '[A-Za-z0-9_./-]*\.\(c\|h\|cu\|hpp\|def\|sh\|pml\|md\)' | while read -r path; do
        case $path in
        *NAME*/* | NAME*) ;;
        */*NAME*) [ -d "$(dirname "$path")" ] || echo "no folder of $path" ;;
        */*) [ -e "$path" ] || [ -e "docs/$path" ] || echo "no file $path" ;;
        *) grep -qxF "$path" "$tmp/files" || echo "no file $path" ;;
        esac
    done
    code_of "$1" '[a-z_]*/[a-z_/]*' | while read -r path; do
        [ -d "$path" ] || echo "no folder $path"
    done
    code_of "$1" '[a-z_0-9]*()' | sed 's/()//' | while read -r name; do
        grep -q " $name\$" "$tmp/functions" || echo "no function $name()"
    done
    # | `FILE` | `FUNCTION()`, `FUNCTION()` | ...: it is in that file.
    awk -F ' \\| ' '$1 ~ /^\| `[a-z_0-9]*\.[ch]`$/ && $2 ~ /^`.*\(\)`$/ {print $1, $2}' "$1" | tr -d '|\140,()' |
        while read -r file names; do
            for name in $names; do
                grep -qxF "$file $name" "$tmp/functions" || echo "no function $name() in $file"
            done
        done
}

page=docs/ARCHITECTURE.md
long_paragraphs $page >"$tmp/paragraphs"
check "paragraphs of ARCHITECTURE.md have at most 120 words" empty "$tmp/paragraphs"
wrong_names $page >"$tmp/names"
check "files, folders and functions that it names exist, and the functions in these files" empty "$tmp/names"
for folder in dataset/*/ sink/*/; do
    folder=$(basename "$folder")
    case $folder in include | internal | CMakeFiles) continue ;; esac
    grep -q "^| \`$folder\` | " $page || echo "no $folder"
done >"$tmp/folders"
check "its tables have every folder of dataset and sink" empty "$tmp/folders"
{
    awk 'BEGIN {for (i = 0; i < 121; i++) printf "%s\n", "word"; print "\n- item"; for (i = 0; i < 120; i++) print "  word"}'
    # shellcheck disable=SC2016
    printf '\n%s\n' '`no_such.c` `dataset/no_such.c` `dataset/no_such` `no_such()` `sluice_train()` `stage.h` `next()`' \
        '| `train.c` | `sluice_train()`, `feed_open()` | |' '| `feed.c` | `feed_open()` | `sluice_train()` |'
} >"$tmp/wrong.md"
check "... and long paragraphs and wrong names would be found" \
    test "$(long_paragraphs "$tmp/wrong.md" | wc -l) $(wrong_names "$tmp/wrong.md" | wc -l)" = "2 5"

# The oldest CMake that will do, in the README, for CMake and for its presets.
{
    sed -n 's/.*CMake \([0-9.]*[0-9]\).*/\1/p' README.md
    sed -n 's/^cmake_minimum_required(VERSION \([0-9.]*\)).*/\1/p' CMakeLists.txt
    sed -n 's/.*"major": \([0-9]*\), "minor": \([0-9]*\).*/\1.\2/p' CMakePresets.json
} | sort | uniq -c >"$tmp/cmake"
check "README, CMakeLists.txt and CMakePresets.json want one version of CMake" \
    grep -qx ' *3 3\.[0-9]*' "$tmp/cmake"

finish
