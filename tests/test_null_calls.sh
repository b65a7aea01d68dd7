#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# NULL for each pointer argument of each exported function: a required one is E_INVALID, nothing crashes.
# null_calls.awk makes the calls from the public headers. test_null_calls.sh BUILD_DIR
set -u
build=$(cd "${1:?usage: test_null_calls.sh BUILD_DIR}" && pwd)
cd "$(dirname "$0")/.." || exit 1
title=null_calls
. tests/shell_kit.sh
cc=$(cached CMAKE_C_COMPILER)
[ -n "$cc" ] || cc=${CC:-cc}
command -v "$cc" >/dev/null || skip_rest "no C compiler $cc"
sanitize=$(cached SLUICE_SANITIZE)
includes="-I$build/include -I$PWD/tests"
for module in runtime numa queue dataset sink; do
    [ ! -d $module/include ] || includes="$includes -I$module/include"
done

compiles() {
    # shellcheck disable=SC2086
    "$cc" -std=c11 -D_GNU_SOURCE -g ${sanitize:+-fsanitize=$sanitize} $includes -o "$tmp/null_calls" "$tmp/calls.c" \
        tests/null_calls.c -L"$build/lib" -lsluice -Wl,-rpath,"$build/lib"
}

# The functions that are called are those of the list.
has_all() {
    sed -n 's/^    {"\([a-z0-9_]*\)".*/\1/p' "$tmp/calls.c" | sort | diff - "$tmp/symbols"
}

# Each line of the file of arguments names an argument that is a pointer, or has a value.
has_arguments() {
    bad=0
    while read -r function argument how _; do
        if [ "$how" = NULL ]; then
            grep -q "{\"$function\", \"\([a-z_]* \)*${argument}[ \"]" "$tmp/calls.c"
        else
            grep -q "{\"$function\"" "$tmp/calls.c"
        fi || {
            echo "$function has no argument $argument"
            bad=1
        }
    done <tests/api/null_arguments.txt
    return $bad
}

awk -f tests/null_calls.awk tests/api/null_arguments.txt ./*/include/sluice/*.h "$build"/include/sluice/version.h \
    >"$tmp/calls.c"
sort tests/api/symbols.txt >"$tmp/symbols"
check "each exported function is called" has_all
check "the list of arguments that may be NULL is of these functions" has_arguments
check "the calls compile" compiles
[ ! -x "$tmp/null_calls" ] || check "NULL is E_INVALID or allowed, and no crash" \
    sh -c 'cd "$1" && ./null_calls "$2"' - "$tmp" "$PWD/tests/api/null_arguments.txt"
finish
