#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The order of modules is enforced: with the include paths of a module no internal header of a
# module to its right can be included, those of its own and to its left can, and no file includes
# upwards. Inside a module neither files nor folders need each other in a circle, and folders need
# only those above them in the tables of docs/ARCHITECTURE.md.
# test_layers.sh BUILD_DIR; a line for each check, and last `layers: N passed, N failed, N skipped`.
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
        "$build/compile_commands.json" | sed 's/-isystem /-isystem/g' | tr ' ' '\n' |
        grep -e '^-I' -e '^-D' -e '^-std' -e '^-isystem' | sed 's/",*$//'
}

# compiles MODULE HEADER...: one file that includes them.
compiles() {
    flags=$(flags_of "$1")
    shift
    printf '#include "%s"\n' "$@" >"$tmp/try.c"
    echo 'extern int nothing;' >>"$tmp/try.c"
    # shellcheck disable=SC2086
    "$cc" $flags -w -fsyntax-only "$tmp/try.c"
}

# finds MODULE HEADER...: prints the headers that its include paths have.
finds() {
    flags=$(flags_of "$1")
    shift
    for header in "$@"; do
        printf '#if __has_include("%s")\nfound "%s"\n#endif\n' "$header" "$header"
    done >"$tmp/try.c"
    # shellcheck disable=SC2086
    "$cc" $flags -E -P "$tmp/try.c" | sed -n 's/^found "\(.*\)"$/\1/p'
}
finds_none() { finds "$@" >"$tmp/found" && empty "$tmp/found"; }
finds_all() {
    finds "$@" >"$tmp/found"
    shift
    printf '%s\n' "$@" | diff - "$tmp/found"
}

# headers_of OTHER MODULE: those for other files; those that need CUDA's only where MODULE is compiled with them.
headers_of() {
    (cd "$root/$1" && ls internal/*_int.h include/sluice/*.h 2>/dev/null) | sed 's,^internal/,,; s,^include/,,' |
        if [ -n "$(finds "$2" cuda_runtime_api.h)" ]; then cat; else grep -v '^cuda_'; fi
}

# A header compiles alone in its own module. In a module to the right, where the include paths find it too, one file
# includes all that are there.
left=""
for module in $modules; do
    check "$module is compiled" [ -n "$(flags_of "$module")" ]
    for header in $(headers_of "$module" "$module"); do
        check "$module may include $header" compiles "$module" "$header"
    done
    for other in $modules; do
        [ "$other" != "$module" ] || continue
        headers=$(headers_of "$other" "$module")
        # shellcheck disable=SC2086
        case " $left " in
        *" $other "*)
            check "$module finds all headers of $other" finds_all "$module" $headers
            check "$module may include all headers of $other" compiles "$module" $headers
            ;;
        *) check "$module finds no header of $other" finds_none "$module" $headers ;;
        esac
    done
    # Beside the include paths: by a path of its own, or a header that lies beside a .c elsewhere.
    for other in $modules; do
        case " $left $module " in *" $other "*) continue ;; esac
        grep -rnE "^ *# *include +[\"<](\.\./)*$other/" "$root/$module" >"$tmp/paths" 2>/dev/null
        find "$root/$other" -name '*.h' | sed 's,.*/,,' >"$tmp/headers"
        grep -rnE '^ *# *include +["<]' --include='*.[ch]' --include='*.cu' "$root/$module" |
            awk 'NR == FNR {theirs[$0]; next}
                {
                    header = $0
                    sub(/^[^"<]*["<]/, "", header)
                    sub(/[">].*/, "", header)
                    sub(/.*\//, "", header)
                    if (header in theirs) print
                }' "$tmp/headers" - >>"$tmp/paths"
        check "no file of $module includes anything of $other" empty "$tmp/paths"
    done
    left="$left $module"
done

# Header names are unique, so an include means one file whatever the paths are. Headers of earlier versions are
# for programs that see no others.
find $(for module in $modules; do echo "$root/$module"; done) "$root/examples" "$root/tests" -name '*.h' \
    -not -path '*/tests/frozen/*' \
    -exec basename {} \; | sort | uniq -d >"$tmp/twice"
check "every header's name is there once" empty "$tmp/twice"
grep -rlE '^ *# *include +"[a-z0-9_]+_int\.h"' "$root/examples" "$root"/*/include >"$tmp/inside" 2>/dev/null
check "neither examples nor public headers include an internal one" empty "$tmp/inside"

# ---- circles, from the objects of the build ------------------------------------------------------
# A file needs another when its object refers to a symbol that the other one defines. In no module may
# files need each other in a circle, nor folders. Objects that an older build left are not looked at.

# objects_of MODULE: `OBJECT SOURCE` for each of its files that the library has, and for each kernel.
objects_of() {
    awk -v root="$root/" -v module="$root/$1/" -v library="/$1/CMakeFiles/sluice_" '
        $1 == "\"directory\":" { folder = substr($2, 2, length($2) - 3) }
        $1 == "\"command\":" {
            for (i = 2; i < NF; i++) if ($i == "-o") object = $(i + 1)
        }
        $1 == "\"file\":" && index($2, module) {
            source = substr($2, 2)
            sub(/",?$/, "", source)
            object = object ~ /^\// ? object : folder "/" object
            if (index(object, library)) print object, substr(source, length(root) + 1)
        }' "$build/compile_commands.json"
    (cd "$root" && find "$1" -name '*.cu') | while read -r source; do
        object=$build/$1/$(basename "$source").o
        [ ! -f "$object" ] || echo "$object $source"
    done
}

# folders_of EDGES: edges between folders, for each the files that make it.
folders_of() {
    awk '{
        from = $1
        to = $2
        sub("/[^/]*$", "", from)
        sub("/[^/]*$", "", to)
        print from, to, $1 "->" $2
    }' "$1" | sort -u
}

# circles_in EDGES: leaves the circles of its files in $tmp/files, of its folders in $tmp/folders.
circles_in() {
    awk -f "$here/circles.awk" "$1" >"$tmp/files"
    folders_of "$1" | awk -f "$here/circles.awk" >"$tmp/folders"
}

# in_circles FILE: how many nodes the circles in it have.
in_circles() { awk '$1 == "circle:" {n += NF - 1} END {print n + 0}' "$1"; }

printf '%s\n' 'm/a.c m/b.c one' 'm/b.c m/x/c.c two' 'm/x/c.c m/a.c three' 'm/a.c m/d.c four' >"$tmp/needs"
circles_in "$tmp/needs"
check "a circle of files is found" [ "$(in_circles "$tmp/files")" -eq 3 ]
check "folders that need each other are found" [ "$(in_circles "$tmp/folders")" -eq 2 ]

# against_table EDGES < PAGE: those to a folder that is below in the page's table of the module.
against_table() {
    awk '
        NR == FNR && /^\| `[a-z]+\/` \| holds \|$/ { module = $2; gsub(/`/, "", module) }
        NR == FNR { if (/^$/) module = ""
            name = $2
            if (module != "" && gsub(/`/, "", name)) place[module name] = NR
            next }
        {
            split($1, from, "/")
            split($2, to, "/")
            above = place[from[1] "/" from[2]]
            if (above && above < place[to[1] "/" to[2]]) print
        }' - "$1"
}
# shellcheck disable=SC2016 # the page's backquotes
printf '%s\n' '| `m/` | holds |' '| --- | --- |' '| `x` | |' '| `y` | |' '' '| `z` | |' >"$tmp/page"
printf '%s\n' 'm/x/a.c m/y/b.c one' 'm/y/b.c m/x/z/c.c two' 'm/x/a.c m/z/c.c three' >"$tmp/needs"
against_table "$tmp/needs" <"$tmp/page" >"$tmp/upward"
check "a folder that needs one below it in the table is found" [ "$(cat "$tmp/upward")" = 'm/x/a.c m/y/b.c one' ]

nm=$(cached CMAKE_NM)
[ -x "$nm" ] || skip_rest "circles" "CMake found no nm"
for module in $modules; do
    objects_of "$module" >"$tmp/objects"
    awk '{print $1}' "$tmp/objects" | xargs "$nm" -A -P -g >"$tmp/symbols" 2>"$tmp/log" || {
        skip "circles of $module" "its objects are not in $build, or nm cannot read them"
        continue
    }
    awk -v sources="$tmp/objects" -f "$here/object_needs.awk" "$tmp/symbols" >"$tmp/needs"
    [ -s "$tmp/needs" ] || {
        skip "circles of $module" "nm finds no symbols in its objects (optimised at link time?)"
        continue
    }
    circles_in "$tmp/needs"
    check "no circle of files in $module" empty "$tmp/files"
    check "no circle of folders in $module" empty "$tmp/folders"
    case $module in dataset | sink) ;; *) continue ;; esac # the others have files outside of folders
    check "ARCHITECTURE.md has the table of $module" grep -qF "| \`$module/\` | holds |" "$root/docs/ARCHITECTURE.md"
    against_table "$tmp/needs" <"$root/docs/ARCHITECTURE.md" >"$tmp/upward"
    check "folders of $module need only those above them in the table" empty "$tmp/upward"
done

finish
