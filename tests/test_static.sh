#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Programs with the static library decode WebP, TIFF and JPEG 2000 files: by format modules, which they find wherever the
# program was started from; of a build with SLUICE_LINK_MODULES=ON, by modules that are a part of the library.
# test_static.sh BUILD_DIR; a line for each check, and last `static: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_static.sh BUILD_DIR}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
title=static
. "$here/shell_kit.sh"
[ -z "$(cached SLUICE_SANITIZE)" ] ||
    skip_rest "everything" "a sanitized library is not what users install"
[ -n "$(cached WEBP_LIBRARIES)" ] && [ -n "$(cached TIFF_LIBRARIES)" ] ||
    skip_rest "everything" "there is no libwebp or no libtiff"
cc=$(cached CMAKE_C_COMPILER)

mkdir "$tmp/data"
cp "$here/data/formats/lossy.webp" "$tmp/data/a.webp"
cp "$here/fuzz/corpus/tiff/seed-00" "$tmp/data/b.tif"
printf 'image\na.webp\nb.tif\n' >"$tmp/data/list.tsv"
modules="webp;tiff"
if [ -n "$(cached JP2_LIBRARIES)" ]; then
    modules="$modules;jp2"
    cp "$here/data/formats/jp2-rgb.jp2" "$tmp/data/c.jp2"
    echo c.jp2 >>"$tmp/data/list.tsv"
else
    skip "JPEG 2000" "there is no libopenjp2"
fi
cat >"$tmp/decode.c" <<'PROGRAM'
#include <sluice/sluice.h>

#include <stdio.h>

static void print_problem(const char *name, const char *why, void *user)
{
    (void)user;
    fprintf(stderr, "%s: %s\n", name, why);
}

int main(int argc, char **argv)
{
    sluice_verify_config config;
    sluice_status st;

    sluice_verify_config_init(&config);
    config.path = argc > 1 ? argv[1] : "";
    config.problem = print_problem;
    st = sluice_pack_verify(&config, NULL);
    if (st < 0) {
        fprintf(stderr, "%s\n", sluice_last_error());
    }
    return st < 0;
}
PROGRAM

# by_pkg_config FOLDER_OF_LIBRARIES PROGRAM [SED_EXPRESSION]: links libsluice.a; the expression changes the flags.
by_pkg_config() {
    # shellcheck disable=SC2046
    "$cc" -std=c11 -o "$2" "$tmp/decode.c" \
        $(PKG_CONFIG_PATH=$1/pkgconfig pkg-config --static --cflags --libs sluice | sed "s/-lsluice/-l:libsluice.a/${3:+;$3}")
}

# ---- modules of their own -----------------------------------------------------------------------------

if [ "$(cached SLUICE_LINK_MODULES)" != ON ]; then
    install_build
    unset LD_LIBRARY_PATH # else the library that is beside the modules would be found
    check "a program with the static library builds" by_pkg_config "$lib" "$prefix/bin/decode_static"
    check "... needs no shared library of ours" sh -c '! readelf -d "$1" | grep "NEEDED.*libsluice"' - "$prefix/bin/decode_static"
    cd "$tmp/data" || exit 1
    ends "... finds modules beside its folder" 0 "$prefix/bin/decode_static" "image_list list.tsv"
    ends "... through PATH" 0 env PATH="$prefix/bin:$PATH" decode_static "image_list list.tsv"
    ln -s "$prefix/bin/decode_static" "$tmp/link"
    ends "... and by a symbolic link" 0 "$tmp/link" "image_list list.tsv"
    cp "$prefix/bin/decode_static" "$tmp/alone"
    ends "... elsewhere SLUICE_MODULE_DIR names them" 0 env SLUICE_MODULE_DIR="$lib/sluice/0" "$tmp/alone" "image_list list.tsv"
    finish
fi

# ---- modules that are linked ---------------------------------------------------------------------------

for component in lib dev; do
    check "$component is installed" cmake --install "$build" --prefix "$tmp/whole" --component $component || finish
done
lib=$(dirname "$(find "$tmp/whole" -name libsluice.a)")
check "... without modules of their own" [ ! -e "$lib/sluice" ]
cd "$tmp/data" || exit 1

check "a program by sluice.pc builds" by_pkg_config "$lib" "$tmp/by_pc"
ends "... and decodes $modules" 0 "$tmp/by_pc" "image_list list.tsv"
archives=""
for library in webpdemux webp tiff openjp2 png16 jpeg z; do
    if [ "$("$cc" -print-file-name="lib$library.a")" != "lib$library.a" ]; then
        archives="$archives;s/-l$library\\b/-l:lib$library.a/g"
    fi
done
check "sluice.pc has libraries in the order that archives need" by_pkg_config "$lib" "$tmp/by_archives" "${archives#;}"
ends "... and that program decodes them" 0 "$tmp/by_archives" "image_list list.tsv"
check "... without their shared libraries" sh -c '[ -z "$2" ] || ! readelf -d "$1" | grep "NEEDED.*lib\(tiff\|webp\|openjp2\)"' - \
    "$tmp/by_archives" "$archives"

mkdir "$tmp/project"
cat >"$tmp/project/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.22)
project(decode LANGUAGES C)
find_package(Sluice REQUIRED COMPONENTS static)
add_executable(decode ../decode.c)
target_link_libraries(decode PRIVATE sluice::sluice_static)
PROJECT
check "find_package(Sluice COMPONENTS static) finds its libraries" cmake -S "$tmp/project" -B "$tmp/by_cmake" \
    -DCMAKE_PREFIX_PATH="$tmp/whole" -DCMAKE_C_COMPILER="$cc"
check "... a program builds" cmake --build "$tmp/by_cmake"
ends "... and decodes $modules" 0 "$tmp/by_cmake/decode" "image_list list.tsv"
finish
