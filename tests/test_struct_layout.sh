#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Layouts of the public structs, as the compiler sees them: no struct has tail padding, in which a
# field could be put without growing struct_size; every struct with a struct_size can be initialized
# with the caller's size, or is filled in by the library alone. The structs and functions of each
# version in tests/frozen are still there: same offsets, types and parameters, new fields at the end.
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

# Every struct with a struct_size, which comes first: an inline init function, or the library.
has_inits() {
    bad=0
    for struct in $(sed -n 's/^field \([a-z0-9_]*\)\.struct_size 0 8 size_t struct_size$/\1/p' "$1"); do
        grep -q "^static inline void ${struct}_init(" "$2"/sluice/*.h ||
            awk -v begin="typedef struct $struct {" '
                index($0, begin) { inside = 1 }
                inside && /struct_size;/ { found = /set by the library/; exit }
                END { exit !found }' "$2"/sluice/*.h ||
            { echo "$struct: no ${struct}_init()"; bad=1; }
    done
    return $bad
}

has_struct_sizes_first() {
    ! grep "\.struct_size " "$1" | grep -v "\.struct_size 0 "
}

mkdir -p "$tmp/now/sluice"
cp "$tests"/../*/include/sluice/*.h "$build"/include/sluice/version.h "$tmp/now/sluice"
check "a table of all structs is made" test "$(table "$tmp/now" | tee "$tmp/now.txt" | grep -c ^struct)" -ge 25
check "no struct has tail padding" has_no_tail "$tmp/now.txt"
check "struct_size is the first field" has_struct_sizes_first "$tmp/now.txt"
check "structs with a struct_size have init functions" has_inits "$tmp/now.txt" "$tmp/now"

# ---- what programs that were compiled before rely on ------------------------------------------------

# keeps TABLE_THEN TABLE_NOW: prints what a program that was compiled then would find changed.
keeps() {
    ! awk '
        function struct_of(field) {
            sub(/\..*/, "", field)
            return field
        }
        { key = $2; value = $0; sub(/^[a-z]+ [^ ]+ /, "", value) }
        NR == FNR && $1 == "struct" { size[key] = $3 }
        NR == FNR && $1 == "field" { was[key] = value; old[key] = 1 }
        NR == FNR { next }
        $1 == "struct" { now[key] = $3 }
        $1 == "field" && key in was {
            if (was[key] != value) {
                print key ": was " was[key] ", is " value
            }
            delete was[key]
            if (key ~ /\.struct_size$/) {
                grows[struct_of(key)] = 1
            }
        }
        $1 == "field" && !(key in old) && struct_of(key) in size && $3 < size[struct_of(key)] {
            print key ": is not at the end"
        }
        END {
            for (key in was) {
                print key " is gone"
            }
            for (key in size) {
                if (!(key in now)) {
                    print key " is gone"
                } else if (now[key] < size[key] || (now[key] > size[key] && !(key in grows))) {
                    print key ": size was " size[key] ", is " now[key]
                }
            }
        }' "$1" "$2" | grep .
}

# functions INCLUDE_DIR: their declarations, one a line.
functions() {
    awk -f "$tests/empty_functions.awk" "$1"/sluice/*.h | tr -s ' ' | LC_ALL=C sort
}

declares_all() { # INCLUDE_DIR_THEN INCLUDE_DIR_NOW
    functions "$1" >"$tmp/functions.then"
    functions "$2" >"$tmp/functions.now"
    [ "$(wc -l <"$tmp/functions.then")" -ge 100 ] &&
        ! LC_ALL=C comm -23 "$tmp/functions.then" "$tmp/functions.now" | grep .
}

# ---- the same by abidiff, of Debian's abigail-tools -----------------------------------------------

# empty_library NAME INCLUDE_DIR: a library of functions without a body (empty_functions.awk), $tmp/NAME.so. The
# headers are thus the description of the interface that abidiff compares.
empty_library() {
    awk -f "$tests/empty_functions.awk" "$2"/sluice/*.h >"$tmp/empty.c" &&
        "$cc" -g -O0 -shared -fPIC -w -I"$2" "$tmp/empty.c" -o "$tmp/$1.so"
}

# What abidiff says of functions, fields and numbers that are added at an end. It has no option to accept
# these alone: a line of its report that is not like one of these is an incompatible change.
additions='^$
^Functions changes summary: 0 Removed,
^Variables changes summary: 0 Removed, 0 Changed,
^[0-9]+ functions? with some indirect sub-type change:$
^[0-9]+ Added functions?:$
^ +\[A\] .function 
^ +\[C\] .function .* has some indirect sub-type changes:$
^ +parameter [0-9]+ of type .* has sub-type changes:$
^ +return type changed:$
^ +in (pointed to|unqualified underlying|referenced) type .*:$
^ +underlying type .struct .* changed:$
^ +type size changed from [0-9]+ to [0-9]+ \(in bits\)$
^ +type size hasn.t changed$
^ +[0-9]+ data member insertions?:$
^ +.[^ ].*., at offset [0-9]+ \(in bits\)
^ +no data member changes? \([0-9]+ filtered\);$
^ +underlying type .enum .* changed:$
^ +[0-9]+ enumerator insertions?:$
^ +.sluice_[a-z_]+::SLUICE_[A-Z0-9_]+. value .[-0-9]+.$'
echo "$additions" >"$tmp/additions"


# is_compatible THEN NOW: prints what is not an addition.
is_compatible() {
    abidiff "$tmp/$1.so" "$tmp/$2.so" >"$tmp/report"
    [ $(($? & 11)) -eq 0 ] && ! grep -vE -f "$tmp/additions" "$tmp/report"
}

abidiff=$(command -v abidiff) || skip "abidiff is not installed (abigail-tools)"
if [ -n "$abidiff" ]; then
    check "a library of the current headers, for abidiff" empty_library now "$tmp/now"
fi

fails() {
    ! "$@"
}

# ---- versions that are frozen ---------------------------------------------------------------------

# The release that comes next, as it would be frozen today, is checked as those of before are.
sh "$tests/freeze.sh" "$build" "$tmp/next" || fail "freeze.sh"
check "a version that is frozen stays as it is" fails sh "$tests/freeze.sh" "$build" "$tmp/next"
for frozen in "$tests"/frozen/*/ "$tmp/next"; do
    [ -d "$frozen" ] || continue # no release yet
    version=$(basename "$frozen")
    check "structs of $version are found" test "$(table "$frozen" | tee "$tmp/then.txt" | grep -c ^struct)" -ge 25
    check "structs of $version are as they were, and grow at their end" keeps "$tmp/then.txt" "$tmp/now.txt"
    check "functions of $version are as they were" declares_all "$frozen" "$tmp/now"
    if [ -n "$abidiff" ]; then
        check "a library of the headers of $version" empty_library then "$frozen"
        check "what was compiled for $version runs, says abidiff" is_compatible then now
    fi
done

# ---- the checks see what they are for -------------------------------------------------------------

# changed HEADER SED: the table of the current headers with this change, and the library.
changed() {
    rm -rf "$tmp/changed"
    cp -R "$tmp/now" "$tmp/changed"
    sed "$2" "$tmp/now/sluice/$1" >"$tmp/changed/sluice/$1"
    if cmp -s "$tmp/now/sluice/$1" "$tmp/changed/sluice/$1" || ! table "$tmp/changed" >"$tmp/changed.txt"; then
        fail "the change of $1 cannot be made: $2"
    elif [ -n "$abidiff" ]; then
        empty_library changed "$tmp/changed" || fail "no library with the change of $1: $2"
    fi
}

# found NAME HEADER SED: both checks find the change.
found() {
    changed "$2" "$3"
    check "$1 is found" fails keeps "$tmp/now.txt" "$tmp/changed.txt"
    [ -z "$abidiff" ] || check "$1 is found by abidiff" fails is_compatible now changed
}

changed ranks.h 's/^} sluice_ranks;/    char more;\n&/'
check "tail padding is found" fails has_no_tail "$tmp/changed.txt"
found "a shifted field" ranks.h 's/^    uint32_t rank;/    uint64_t more;\n&/'
found "a swap of two fields" ranks.h 's/^    uint32_t rank;/    uint32_t world;/; t; s/^    uint32_t world;/    uint32_t rank;/'
found "a field of another type" train.h 's/^    double max_seconds;/    uint64_t max_seconds;/'
changed train.h '/uint32_t valid_rows;/ s/$/\n    uint32_t more;/' # abidiff accepts it: nothing moves
check "a field in a hole of a struct is found" fails keeps "$tmp/now.txt" "$tmp/changed.txt"
changed tensor.h 's/^} sluice_column;/    uint64_t more;\n&/' # and this: it does not know of arrays
check "a field at the end of an element of arrays is found" fails keeps "$tmp/now.txt" "$tmp/changed.txt"
changed dataset.h 's/sluice_dataset_class_name(sluice_dataset \*dataset, int32_t label,/sluice_dataset_class_name(sluice_dataset *dataset, int64_t label,/'
check "a parameter of another type is found" fails declares_all "$tmp/now" "$tmp/changed"
[ -z "$abidiff" ] || check "... and by abidiff" fails is_compatible now changed
changed train.h 's/SLUICE_NAN_COUNT = 1/SLUICE_NAN_COUNT = 7/' # also found by tests/api/test_abi.c
[ -z "$abidiff" ] || check "another number of an enum is found by abidiff" fails is_compatible now changed

changed train.h 's/^} sluice_train_config;/    uint64_t more;\n&/; s/SLUICE_MODE_LOOP = 4 /SLUICE_MODE_LOOP = 4, SLUICE_MODE_MORE = 5 /;
    s/^SLUICE_API const char \*sluice_mode_name(/SLUICE_API int sluice_more(void);\n&/'
check "additions are no change" keeps "$tmp/now.txt" "$tmp/changed.txt"
check "... nor is a function more" declares_all "$tmp/now" "$tmp/changed"
[ -z "$abidiff" ] || check "... for abidiff, either" is_compatible now changed
check "... but their removal is" fails keeps "$tmp/changed.txt" "$tmp/now.txt"
check "... of the function, too" fails declares_all "$tmp/changed" "$tmp/now"
[ -z "$abidiff" ] || check "... for abidiff, too" fails is_compatible changed now
finish
