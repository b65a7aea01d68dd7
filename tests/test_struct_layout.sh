#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Layouts of the public structs, as the compiler sees them: no struct has tail padding, in which a
# field could be put without growing struct_size; and every struct with a struct_size can be
# initialized with the caller's size, or is filled in by the library alone.
# test_struct_layout.sh BUILD_DIR
set -u
build=${1:?usage: test_struct_layout.sh BUILD_DIR}
title=struct_layout
tests=$(cd "$(dirname "$0")" && pwd)
. "$tests/shell_kit.sh"
cc=${CC:-cc}
command -v "$cc" >/dev/null || skip_rest "no C compiler $cc"

# table INCLUDE_DIR: lines of struct_fields.awk for all headers in it.
table() {
    awk -f "$tests/struct_fields.awk" "$1"/sluice/*.h >"$tmp/table.c" &&
        "$cc" -std=c11 -I"$1" "$tmp/table.c" -o "$tmp/table" && "$tmp/table"
}

# has_no_tail TABLE: prints structs whose last field ends before the struct does.
has_no_tail() {
    ! awk '$1 == "struct" && $3 != $5' "$1" | grep .
}

# Every struct with a struct_size, which comes first: an exported init function, or the library.
has_inits() {
    bad=0
    for struct in $(sed -n 's/^field \([a-z0-9_]*\)\.struct_size 0 8$/\1/p' "$1"); do
        grep -q "^${struct}_init_size\$" "$tests/api/symbols.txt" ||
            awk -v begin="typedef struct $struct {" '
                index($0, begin) { inside = 1 }
                inside && /struct_size;/ { found = /set by the library/; exit }
                END { exit !found }' "$2"/sluice/*.h ||
            { echo "$struct: no ${struct}_init_size()"; bad=1; }
    done
    return $bad
}

has_struct_sizes_first() {
    ! grep "\.struct_size " "$1" | grep -v "\.struct_size 0 8$"
}

mkdir -p "$tmp/now/sluice"
cp "$tests"/../*/include/sluice/*.h "$build"/include/sluice/version.h "$tmp/now/sluice"
check "a table of all structs is made" test "$(table "$tmp/now" | tee "$tmp/now.txt" | grep -c ^struct)" -ge 25
check "no struct has tail padding" has_no_tail "$tmp/now.txt"
check "struct_size is the first field" has_struct_sizes_first "$tmp/now.txt"
check "structs with a struct_size have init functions" has_inits "$tmp/now.txt" "$tmp/now"

# The checks see what they are for.
cp -R "$tmp/now" "$tmp/padded"
sed 's/^} sluice_ranks;/    char more;\n&/' "$tmp/now/sluice/ranks.h" >"$tmp/padded/sluice/ranks.h"
table "$tmp/padded" >"$tmp/padded.txt"
check "tail padding would be found" sh -c "! awk '\$1 == \"struct\" && \$3 == \$5' '$tmp/padded.txt' | grep -q ' sluice_ranks '"
finish
