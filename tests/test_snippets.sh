#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The snippets of README.md and docs: C and C++ compile against the public headers, no status is ignored, and
# pipelines can be parsed. test_snippets.sh BUILD_DIR; a line for each check, and last `snippets: N passed, N failed,
# N skipped`.
set -u
build=$(cd "${1:?usage: test_snippets.sh BUILD_DIR}" && pwd)
cd "$(dirname "$0")/.." || exit 1
title=snippets
. tests/shell_kit.sh
cc=$(cached CMAKE_C_COMPILER)
cxx=$(cached CMAKE_CXX_COMPILER)
[ -n "$cxx" ] || cxx=$(command -v c++)
includes="-Itests/snippets -I$build/include"
for module in runtime numa queue dataset sink; do
    [ ! -d $module/include ] || includes="$includes -I$module/include"
done
pages=$(find README.md docs -name '*.md' | sort)

# shellcheck disable=SC2086
awk -v out="$tmp" -f tests/snippets/snippets.awk $pages >"$tmp/list"

# compiles FILE: unused-result is found by the passes behind the parser.
compiles() {
    # shellcheck disable=SC2086
    case $1 in
    *.c) "$cc" -std=gnu11 -Wall -Werror=unused-result $includes -c -o "$tmp/object" "$1" ;;
    *) [ -z "$cxx" ] || "$cxx" -std=c++17 -Wall -Werror=unused-result $includes -c -o "$tmp/object" "$1" ;;
    esac
}
# Where a snippet stands, as PAGE:LINE.
place() { sed -n 's/^#line \([0-9]*\) "\(.*\)"/\2:\1/p' "$1" | head -n 1; }

while read -r kind file; do
    case $kind in
    cuda) skip "$file" "is CUDA C++, which nvcc would compile" ;;
    *) check "the $kind at $(place "$file") compiles" compiles "$file" ;;
    esac
    case $kind:$file in
    program:*.c)
        cp "$file" "${file}pp"
        check "... and as C++" compiles "${file}pp"
        ;;
    esac
done <"$tmp/list"
check "there are programs and fragments" grep -q '^program' "$tmp/list"
check "... of both kinds" grep -q '^fragment' "$tmp/list"

# Snippets that must not pass.
printf '```c\nsluice_dataset_parse("synthetic", &dataset);\n```\n' >"$tmp/ignored.md"
awk -v out="$tmp" -f tests/snippets/snippets.awk "$tmp/ignored.md" >"$tmp/log"
if compiles "$tmp/ignored-1.c" 2>/dev/null; then fail "a status that is ignored is found"; else pass "a status that is ignored is found"; fi

# Pipelines: lines of code that begin with a source, up to an ellipsis, and what commands of the tool are given. The
# tool ends with 2 where a text cannot be parsed, with 1 where its files are missing.
for page in $pages; do
    sed -n 's/^    \(\(image_folder\|webdataset\|cifar10\|cifar100\|mnist\|image_list\|coco\|yolo\|voc\|npy\|tokens\|synthetic\) .*|.*\)/\1/p
        s/.*sluice \(bench\|explain\|classes\) "\([^"]*\)".*/\2/p' "$page" | sed 's/ *| *\.\.\.$//' | grep -v '^\.\.\.$' |
        while read -r pipeline; do echo "$page $pipeline"; done
done >"$tmp/pipelines"
check "there are pipelines" [ "$(wc -l <"$tmp/pipelines")" -gt 5 ]
while read -r page pipeline; do
    run "$build/bin/sluice" explain "$pipeline | batch 1" </dev/null
    grep -q "must come before batch" "$tmp/err" && run "$build/bin/sluice" explain "$pipeline" </dev/null
    if [ "$code" -ne 2 ] || err_has 'no stage `batch`\|is still encoded\|no valid data'; then
        pass "$page: $pipeline"
    else
        fail "$page: $pipeline"
    fi
done <"$tmp/pipelines"

finish
