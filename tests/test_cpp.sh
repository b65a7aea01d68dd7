#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The C++ wrapper: its tests compile without warnings with every C++ compiler that is here, with and without
# exceptions and RTTI, and pass, also with AddressSanitizer in the program. test_cpp.sh BUILD_DIR; a line for each
# check, and last `cpp: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_cpp.sh BUILD_DIR}" && pwd)
cd "$(dirname "$0")/.." || exit 1
title=cpp
. tests/shell_kit.sh
includes="-I$build/include"
for module in runtime numa queue dataset sink; do
    [ ! -d $module/include ] || includes="$includes -I$module/include"
done
strict="-std=c++17 -O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wold-style-cast
    -Wnon-virtual-dtor -Werror"
sanitize=$(cached SLUICE_SANITIZE)
sources="cpp_wrapper cpp_stages"

# builds COMPILER OPTION...: each source into $tmp.
builds() {
    compiler=$1
    shift
    for source in $sources; do
        # shellcheck disable=SC2086
        "$compiler" $strict $includes "$@" -o "$tmp/$source" "$PWD/tests/api/$source.cpp" -L"$build/lib" -lsluice \
            -Wl,-rpath,"$build/lib" || return
    done
}

# passes NAME COMPILER OPTION...
passes() {
    how=$1
    shift
    check "$how: it compiles" builds "$@" || return
    run_sources "$how"
}

# run_sources NAME: what builds() made.
run_sources() {
    for source in $sources; do
        rm -rf "$tmp/run" && mkdir "$tmp/run"
        check "$1: $source passes" sh -c 'cd "$1" && "../$2"' - "$tmp/run" "$source"
    done
}

if [ -n "$sanitize" ]; then # the library's compiler knows its sanitizer
    set -- "$(cached CMAKE_CXX_COMPILER)"
    [ -n "$1" ] || set -- c++
    command -v "$1" >/dev/null || skip_rest "no C++ compiler"
    passes "$1 -fsanitize=$sanitize" "$1" -g "-fsanitize=$sanitize"
    finish
fi
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || {
        skip "$compiler" "not installed"
        continue
    }
    passes "$compiler" $compiler
    passes "$compiler without exceptions and RTTI" $compiler -fno-exceptions -fno-rtti
done
for compiler in g++ clang++; do
    if builds $compiler -g -fsanitize=address,undefined >"$tmp/log" 2>&1; then
        run_sources "$compiler -fsanitize=address,undefined"
        break
    fi
done

# What must not compile.
for wrong in 'sluice::dataset().parse("synthetic");' 'sluice::text a; sluice::text b(a);' \
    'sluice::step_ref f = [](const sluice_step &) {};'; do
    printf '#include <sluice/sluice.hpp>\nvoid f() { %s }\n' "$wrong" >"$tmp/wrong.cpp"
    # shellcheck disable=SC2086
    if c++ -std=c++17 -Wall -Werror $includes -fsyntax-only "$tmp/wrong.cpp" >"$tmp/log" 2>&1; then
        fail "it does not compile: $wrong"
    else
        pass "it does not compile: $wrong"
    fi
done
finish
