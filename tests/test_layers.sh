#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The order of modules is enforced: with the include paths of a module no internal header of a
# module to its right can be included, those of its own and to its left can, and no file includes
# upwards. test_layers.sh BUILD_DIR; a line for each check, and last
# `layers: N passed, N failed, N skipped`.
set -u
build=${1:?usage: test_layers.sh BUILD_DIR}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/.." && pwd)
title=layers
. "$here/shell_kit.sh"
modules="runtime numa queue dataset sink"
cc=$(cached CMAKE_C_COMPILER)

# What a file of a module is compiled with, from the build's own list of commands.
flags_of() {
    awk -v file="$root/$1/" '/"command":/ {command = $0} /"file":/ && index($0, file) {print command; exit}' \
        "$build/compile_commands.json" | tr ' ' '\n' | grep -e '^-I' -e '^-D' -e '^-std' | sed 's/",*$//'
}

# compiles MODULE HEADER
compiles() {
    printf '#include "%s"\nextern int nothing;\n' "$2" >"$tmp/try.c"
    # shellcheck disable=SC2046
    "$cc" $(flags_of "$1") -w -fsyntax-only "$tmp/try.c"
}
does_not_find() {
    ! compiles "$1" "$2" && grep -q "$2: No such file\|'$2' file not found" "$tmp/log"
}

left=""
for module in $modules; do
    check "$module is compiled" [ -n "$(flags_of "$module")" ]
    for other in $modules; do
        headers=$(cd "$root/$other" && ls internal/*_int.h include/sluice/*.h 2>/dev/null)
        for path in $headers; do
            case $path in
            internal/*) header=${path#internal/} ;;
            *) header=${path#include/} ;;
            esac
            case " $left $module " in
            *" $other "*) check "$module may include $header" compiles "$module" "$header" ;;
            *) check "$module cannot include $header" does_not_find "$module" "$header" ;;
            esac
        done
    done
    # Beside the include paths: by a path of its own, or a header that lies beside a .c elsewhere.
    for other in $modules; do
        case " $left $module " in *" $other "*) continue ;; esac
        grep -rnE "^ *# *include +[\"<](\.\./)*$other/" "$root/$module" >"$tmp/paths" 2>/dev/null
        for header in $(cd "$root/$other" && find . -name '*.h' -exec basename {} \;); do
            grep -rnE "^ *# *include +[\"<](.*/)?$header[\">]" --include='*.[ch]' --include='*.cu' "$root/$module"
        done >>"$tmp/paths"
        check "no file of $module includes anything of $other" empty "$tmp/paths"
    done
    left="$left $module"
done

# Header names are unique, so an include means one file whatever the paths are.
find $(for module in $modules; do echo "$root/$module"; done) "$root/examples" "$root/tests" -name '*.h' \
    -exec basename {} \; | sort | uniq -d >"$tmp/twice"
check "every header's name is there once" empty "$tmp/twice"
grep -rlE '^ *# *include +"[a-z0-9_]+_int\.h"' "$root/examples" "$root"/*/include >"$tmp/inside" 2>/dev/null
check "neither examples nor public headers include an internal one" empty "$tmp/inside"

finish
