# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Older versions to compare with. Sourced, with the repository's root in $root.

# build_baseline COMMIT: builds that version into build/baseline-COMMIT, once; its folder is then in $old.
build_baseline() {
    old=$root/build/baseline-$1
    if [ ! -x "$old/build/bin/sluice" ]; then
        mkdir -p "$old/source"
        git -C "$root" archive "$1" | tar -x -C "$old/source"
        cmake -S "$old/source" -B "$old/build" -DCMAKE_BUILD_TYPE=Release -DSLUICE_CUDA=OFF -DBUILD_SHARED_LIBS=ON >&2
        cmake --build "$old/build" -j "$(nproc)" --target sluice sluice_tool >&2
    fi
}

# compile_for_baseline OUT SOURCE...: links a program with it.
compile_for_baseline() {
    out=$1
    shift
    includes=""
    for module in runtime numa queue dataset sink; do
        includes="$includes -I$old/source/$module/include"
    done
    # shellcheck disable=SC2086
    "${CC:-cc}" -std=c11 -D_GNU_SOURCE -O1 $includes -I"$old/build/include" -I"$root/tests/kits" "$@" \
        -L"$old/build/lib" -lsluice -Wl,-rpath,"$old/build/lib" -lpthread -o "$out"
}
