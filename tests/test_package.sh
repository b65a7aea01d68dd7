#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is installed can be used: headers alone, programs in C11 and C++17 against the shared and
# the static library, by pkg-config and by CMake, the README's program; what the library exports
# and needs. test_package.sh BUILD_DIR; a line for each check, and last
# `package: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_package.sh BUILD_DIR}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
title=package
. "$here/shell_kit.sh"

[ -z "$(cached SLUICE_SANITIZE)" ] ||
    skip_rest "everything" "a sanitized library is not what users install"
cc=$(cached CMAKE_C_COMPILER)
case $cc in
*clang*) cxx=$(command -v clang++) || cxx="" ;;
*) cxx=$(command -v g++) || cxx="" ;;
esac
strict="-Wall -Wextra -Wpedantic -Werror"

# ---- presets --------------------------------------------------------------------------------------

# preset NAME VARIABLE: what the preset sets it to.
preset() {
    (cd "$here/.." && cmake --preset "$1" -N) | sed -n "s/^ *$2=\"\(.*\)\"$/\1/p"
}
check "the release preset builds no tests, which need CUnit" [ "$(preset release SLUICE_BUILD_TESTS)" = OFF ]
check "the release preset leaves warnings alone" [ "$(preset release SLUICE_WERROR)" != ON ]
check "the ci preset builds the tests" [ "$(preset ci SLUICE_BUILD_TESTS)" = ON ]
check "the ci preset makes warnings errors" [ "$(preset ci SLUICE_WERROR)" = ON ]
cat >"$tmp/no-cunit" <<'WRAPPER'
#!/bin/sh
case "$*" in *cunit*) exit 1 ;; esac
exec pkg-config "$@"
WRAPPER
chmod +x "$tmp/no-cunit"
ends "without CUnit a build with tests is refused" 1 cmake -S "$here/.." -B "$tmp/no_cunit" \
    -DSLUICE_CUDA=OFF -DPKG_CONFIG_EXECUTABLE="$tmp/no-cunit"
check "the refusal names the package" err_has libcunit1-dev
ends "without CUnit the release preset configures" 0 sh -c 'cd "$1/.." && shift && "$@"' - "$here" \
    cmake --preset release -B "$tmp/no_tests" -DSLUICE_CUDA=OFF \
    -DPKG_CONFIG_EXECUTABLE="$tmp/no-cunit"

install_build
so=$lib/libsluice.so

# ---- what is there --------------------------------------------------------------------------------

for file in bin/sluice bin/train_image_folder share/man/man1/sluice.1 include/sluice/sluice.h include/sluice/version.h \
    share/bash-completion/completions/sluice share/zsh/site-functions/_sluice; do
    check "$file is there" [ -s "$prefix/$file" ]
done
check "no internal header is" sh -c '! find "$1" -name "*_int.h" | grep .' - "$prefix"
version=$(sed -n 's/^#define SLUICE_VERSION  *"\([0-9.]*\)".*/\1/p' "$prefix/include/sluice/version.h")
check "the installed tool runs by itself" sh -c 'unset LD_LIBRARY_PATH; "$1" --version | grep -q "^sluice $2 "' \
    - "$prefix/bin/sluice" "$version"
soversion=${version%%.*}
check "sluice.pc has the version" [ "$(pkg-config --modversion sluice)" = "$version" ]
check "sluice.pc names no private library for shared linking" \
    sh -c '! pkg-config --libs sluice | grep -e hwloc -e numa -e jpeg'
for library in hwloc numa jpeg; do
    check "sluice.pc names $library for static linking" \
        sh -c 'pkg-config --static --libs sluice | grep -q "$1"' - "$library"
done

guide=$prefix/share/doc/sluice/guide
grep -o '](\([^)#: ]*\)[^): ]*)' "$guide"/*.md | sed 's/^[^(]*(//; s/[)#].*//' | sort -u >"$tmp/targets"
check "the guide is installed" [ "$(find "$guide" -name '*.md' | wc -l)" = "$(find "$here/../docs/guide" -name '*.md' | wc -l)" ] &&
    check "... and its links work from there" sh -c 'cd "$1" && [ -s "$2" ] && xargs ls -d <"$2"' - "$guide" "$tmp/targets"

# ---- headers --------------------------------------------------------------------------------------

for header in "$prefix"/include/sluice/*.h; do
    own=$(basename "$header")
    printf '#include <sluice/%s>\n#include <sluice/%s>\nextern int nothing;\n' "$own" "$own" >"$tmp/alone.c"
    # shellcheck disable=SC2086
    check "$own compiles alone as C11" "$cc" -std=c11 $strict -fsyntax-only -I"$prefix/include" "$tmp/alone.c"
    [ -n "$cxx" ] || continue
    # shellcheck disable=SC2086
    check "$own compiles alone as C++17" "$cxx" -std=c++17 $strict -fsyntax-only -I"$prefix/include" -x c++ "$tmp/alone.c"
    [ "$own" = sluice.h ] && continue
    [ "$own" = llmc_dataloader.h ] && continue # its names are llm.c's: for programs that want them
    check "sluice.h includes $own, or a header that it includes does" \
        grep -rqx "#include <sluice/$own>" "$prefix/include/sluice"
done
if [ -n "$cxx" ]; then
    printf '#include <sluice/sluice.hpp>\nint main() { return sluice::dataset() ? 1 : 0; }\n' >"$tmp/wrapper.cpp"
    # shellcheck disable=SC2086,SC2046
    check "sluice.hpp compiles and links with sluice.pc" "$cxx" -std=c++17 $strict -o "$tmp/wrapper" "$tmp/wrapper.cpp" \
        $(pkg-config --cflags --libs sluice)
else
    skip "C++17" "no C++ compiler beside $cc"
fi

# ---- what it exports and needs --------------------------------------------------------------------

nm -D --defined-only "$so" | awk '{print $NF}' | sed 's/@.*//' | LC_ALL=C sort >"$tmp/symbols"
check "it exports what tests/api/symbols.txt lists (nm -D --defined-only)" diff "$here/api/symbols.txt" "$tmp/symbols"
check "every exported name is ours" sh -c '! grep -v "^sluice_" "$1"' - "$tmp/symbols"
nm "$so" 2>/dev/null | awk '$2 ~ /[BCDGRSTVW]/ {print $3}' | grep '^sli_' >"$tmp/leaked"
check "internal names are not visible" empty "$tmp/leaked"
nm -g --defined-only "$lib/libsluice.a" | awk 'NF == 3 {print $3}' | LC_ALL=C sort >"$tmp/static_symbols"
check "the static library exports the same" diff "$here/api/symbols.txt" "$tmp/static_symbols"
for symbol in $(cat "$here/api/symbols.txt"); do
    grep -qw "$symbol" "$here"/api/test_*.c || echo "$symbol"
done >"$tmp/unused"
check "tests/api calls every exported function" empty "$tmp/unused"
readelf -d "$so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$tmp/needed"
for library in $(cat "$tmp/needed"); do
    case $library in
    libc.so.* | libm.so.* | libpthread.so.* | libdl.so.* | librt.so.* | ld-linux*.so.* | libhwloc.so.* | libnuma.so.* | libjpeg.so.* | libpng*.so.* | libz.so.* | libjansson.so.*)
        check "it needs $library" true ;;
    *) check "it needs $library, which is not on the list" false ;;
    esac
done
ldd "$so" | grep -E 'libstdc|libarchive|libcuda' >"$tmp/brought"
check "nothing brings a C++ runtime along, or CUDA" empty "$tmp/brought"
check "its name is libsluice.so.$soversion" \
    sh -c 'readelf -d "$1" | grep -q "SONAME.*\[libsluice.so.$2\]"' - "$so" "$soversion"

# ---- programs -------------------------------------------------------------------------------------

cat >"$tmp/consumer.c" <<'PROGRAM'
#include <sluice/sluice.h>

#include <stdio.h>
#include <string.h>

static sluice_status step(const sluice_step *s, void *user)
{
    *(unsigned *)user += *s->valid_rows;
    s->outputs[0] = 1;
    return SLUICE_OK;
}

int main(void)
{
    unsigned samples = 0;
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_report *report = NULL;
    sluice_model model;
    sluice_train_config config;
    sluice_report_stats stats;

    sluice_model_init(&model);
    model.step = step;
    model.user = &samples;
    sluice_train_config_init(&config);
    config.epochs = 2;
    config.dataset_sink_mode = true;
    if (sluice_device_open(NULL, &device) < 0 ||
        sluice_dataset_parse("synthetic samples=50 shape=8,8,3 | shuffle | batch 5", &dataset) < 0 ||
        sluice_train(device, &model, dataset, &config, &report) < 0) {
        fprintf(stderr, "%s\n", sluice_last_error());
        return 1;
    }
    stats.struct_size = sizeof(stats);
    if (sluice_report_stats_get(report, &stats) < 0 || strcmp(sluice_version(), SLUICE_VERSION) != 0) {
        return 2;
    }
    printf("%s: %u samples, %d steps\n", sluice_version(), samples, (int)stats.steps);
    sluice_report_destroy(report);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return 0;
}
PROGRAM
cp "$tmp/consumer.c" "$tmp/consumer.cc"
wanted="$version: 100 samples, 20 steps"

runs() { [ "$("$1")" = "$wanted" ]; }
uses_shared() { readelf -d "$1" | grep -q 'NEEDED.*libsluice'; }

# Only the static library is in this folder, so -lsluice finds it.
mkdir "$tmp/static"
cp "$lib/libsluice.a" "$tmp/static"

# build_and_run NAME KIND COMPILER FLAGS SOURCE
build_and_run() {
    program=$tmp/$(echo "$1" | tr -c 'a-z0-9\n' _)
    case $2 in
    shared) libraries=$(pkg-config --cflags --libs sluice) ;;
    static) libraries="-L$tmp/static $(pkg-config --static --cflags --libs sluice)" ;;
    esac
    # shellcheck disable=SC2086
    check "$1: builds" "$3" $4 $strict -o "$program" "$5" $libraries || return
    check "$1: runs" runs "$program"
    if [ "$2" = shared ]; then
        check "$1: uses the shared library" uses_shared "$program"
    else
        check "$1: needs no shared library of ours" sh -c '! readelf -d "$1" | grep -q "NEEDED.*libsluice"' - "$program"
    fi
}

for kind in shared static; do
    build_and_run "c11 by pkg-config, $kind" $kind "$cc" -std=c11 "$tmp/consumer.c"
    [ -n "$cxx" ] && build_and_run "c++17 by pkg-config, $kind" $kind "$cxx" -std=c++17 "$tmp/consumer.cc"
done

# With libpng's archive instead of its shared library, so that what that needs in turn is missed.
png=$(pkg-config --static --libs sluice | tr ' ' '\n' | sed -n 's/^-l\(png[0-9]*\)$/\1/p')
if [ -z "$png" ] || [ "$("$cc" -print-file-name="lib$png.a")" = "lib$png.a" ]; then
    skip "archives of other libraries" "there is no archive of libpng"
else
    # shellcheck disable=SC2046
    check "sluice.pc names what libpng.a needs in turn" "$cc" -std=c11 -o "$tmp/archives" "$tmp/consumer.c" \
        $(pkg-config --static --cflags --libs sluice | sed "s/-lsluice/-l:libsluice.a/; s/-l$png/-l:lib$png.a/") &&
        check "... and the program runs" runs "$tmp/archives"
    check "... and needs no shared libpng" sh -c '! readelf -d "$1" | grep -q "NEEDED.*libpng"' - "$tmp/archives"
fi

languages="C"
[ -n "$cxx" ] && languages="C CXX"
mkdir "$tmp/project"
cat >"$tmp/project/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.22)
project(consumer LANGUAGES $languages)
find_package(Sluice ${version%.*} REQUIRED COMPONENTS \${COMPONENTS})
foreach(library \${LIBRARIES})
    add_executable(\${library}_c11 $tmp/consumer.c)
    set_target_properties(\${library}_c11 PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
    target_link_libraries(\${library}_c11 PRIVATE sluice::\${library})
    if(CMAKE_CXX_COMPILER)
        add_executable(\${library}_cxx17 $tmp/consumer.cc)
        set_target_properties(\${library}_cxx17 PROPERTIES CXX_STANDARD 17 CXX_EXTENSIONS OFF)
        target_link_libraries(\${library}_cxx17 PRIVATE sluice::\${library})
    endif()
endforeach()
PROJECT
by_cmake() { # by_cmake BUILD_DIR ARGUMENTS...
    folder=$1
    shift
    cmake -S "$tmp/project" -B "$folder" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
        ${cxx:+-DCMAKE_CXX_COMPILER="$cxx"} "$@" && cmake --build "$folder"
}
check "find_package(Sluice) builds with both libraries" by_cmake "$tmp/both" -DCOMPONENTS= \
    "-DLIBRARIES=sluice;sluice_static"
for program in sluice_c11 sluice_static_c11 ${cxx:+sluice_cxx17 sluice_static_cxx17}; do
    check "$program by CMake runs" runs "$tmp/both/$program"
done
check "find_package(Sluice COMPONENTS shared static)" by_cmake "$tmp/components" \
    "-DCOMPONENTS=shared;static" "-DLIBRARIES=sluice;sluice_static"
check "without pkg-config the shared library is found all the same" by_cmake "$tmp/shared" \
    -DCOMPONENTS=shared -DLIBRARIES=sluice -DPKG_CONFIG_EXECUTABLE=/nonexistent -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
check "... and the static one is refused" sh -c '! "$@"' - cmake -S "$tmp/project" -B "$tmp/refused" \
    -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENTS=static -DLIBRARIES=sluice_static \
    -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
if "$prefix/bin/sluice" --version | grep -q 'cuda on'; then
    check "sluice.pc names cudart_static for static linking" \
        sh -c 'pkg-config --static --libs sluice | grep -q -e -lcudart_static'
    check "without a CUDA toolkit the shared library is found all the same" by_cmake "$tmp/no_toolkit" \
        -DCOMPONENTS=shared -DLIBRARIES=sluice -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON
    check "... and the static one is refused" sh -c '! "$@" && "$@" 2>&1 | grep -q CUDAToolkit_ROOT' - \
        cmake -S "$tmp/project" -B "$tmp/no_cudart" -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENTS=static \
        -DLIBRARIES=sluice_static -DCMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON
fi
sed "s/Sluice ${version%.*}/Sluice 99.0/" "$tmp/project/CMakeLists.txt" >"$tmp/project/new"
mv "$tmp/project/new" "$tmp/project/CMakeLists.txt"
check "a version that is not there is refused" sh -c '! "$@"' - cmake -S "$tmp/project" -B "$tmp/newer" \
    -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENTS= -DLIBRARIES=sluice
sed "s/Sluice 99.0/Sluice 0.1/" "$tmp/project/CMakeLists.txt" >"$tmp/project/new"
mv "$tmp/project/new" "$tmp/project/CMakeLists.txt"
check "0.1, whose programs do not build with it, is refused" sh -c '! "$@"' - cmake -S "$tmp/project" \
    -B "$tmp/older" -DCMAKE_PREFIX_PATH="$prefix" -DCOMPONENTS= -DLIBRARIES=sluice

# ---- format modules -----------------------------------------------------------------------------------

if [ -e "$lib/sluice/0/webp.so" ]; then
    printf 'image\n%s/data/formats/lossy.webp\n' "$here" >"$tmp/webp.tsv"
    check "the installed tool finds the module for WebP files" "$prefix/bin/sluice" show \
        "image_list $tmp/webp.tsv | decode | batch 1" --npy "$tmp/pixels"
else
    skip "installed format modules" "this build has no module webp, or it is linked"
fi

# ---- Debian packages --------------------------------------------------------------------------------

# field NAME PACKAGE: of the one package of that name that cpack made.
field() { dpkg-deb -f "$tmp/debs/$2"_[0-9]*.deb "$1"; }

if ! command -v dpkg-shlibdeps >/dev/null || ! command -v file >/dev/null; then
    skip "Debian packages" "cpack needs dpkg-shlibdeps (dpkg-dev) and file"
else
    check "cpack makes Debian packages" cpack --config "$build/CPackConfig.cmake" -B "$tmp/debs"
    formats=libsluice$soversion-formats
    [ -d "$lib/sluice/0" ] || formats=""
    check "they are the library's, its modules', its headers' and the tool's" \
        [ "$(cd "$tmp/debs" && echo ./*.deb | sed 's/_[^ ]*//g')" = \
        "./libsluice-dev ${formats:+./$formats }./libsluice$soversion ./sluice" ]
    if [ -n "$formats" ]; then
        check "the library's package recommends the modules'" sh -c 'echo "$1" | grep -q "$2"' - \
            "$(field Recommends "libsluice$soversion")" "$formats (= $version)"
        check "... which depends on the library of the same version" sh -c 'echo "$1" | grep -q "$2"' - \
            "$(field Depends "$formats")" "libsluice$soversion (= $version)"
        dpkg-deb -c "$tmp/debs/$formats"_[0-9]*.deb >"$tmp/listed"
        check "... and has them where the library looks" grep -q "/lib.*/sluice/0/[a-z]*.so$" "$tmp/listed"
    else
        skip "the package of format modules" "this build has none, or they are linked"
    fi
    for library in libhwloc15 libjpeg libnuma1; do
        check "the library's package depends on $library" sh -c 'echo "$1" | grep -q "$2"' - \
            "$(field Depends "libsluice$soversion")" "$library"
    done
    for package in sluice libsluice-dev; do
        check "$package depends on the library's package" sh -c 'echo "$1" | grep -q "$2"' - \
            "$(field Depends $package)" "libsluice$soversion (= $version)"
    done
    dpkg-deb -e "$tmp/debs/libsluice$soversion"_[0-9]*.deb "$tmp/control"
    check "the library's package triggers ldconfig" grep -qx 'activate-noawait ldconfig' "$tmp/control/triggers"
    check "packages of programs find the library's package" \
        grep -qx "libsluice $soversion libsluice$soversion (>= $version)" "$tmp/control/shlibs"
    dpkg-deb -c "$tmp/debs/libsluice-dev"_[0-9]*.deb >"$tmp/listed"
    check "the guide is in libsluice-dev" grep -q '/share/doc/sluice/guide/README.md$' "$tmp/listed"
    for deb in "$tmp/debs"/*.deb; do
        dpkg-deb -c "$deb" | awk '$1 ~ /^-/ {print $6}'
    done | sort | uniq -d >"$tmp/twice"
    check "no file is in two packages" empty "$tmp/twice"
    for file in bash-completion/completions/sluice zsh/vendor-completions/_sluice man/man1/sluice.1; do
        dpkg-deb -c "$tmp/debs"/sluice_[0-9]*.deb >"$tmp/out"
        check "the tool's package has $file" out_has "/usr/share/$file"
    done
fi

# ---- the programs of the pages -------------------------------------------------------------------

# program_of PAGE FILE: the first fenced block of C that has a main().
program_of() {
    awk '/^```c$/ {inside = 1; text = ""; next}
        /^```/ {if (inside && text ~ /int main/) {printf "%s", text; exit}; inside = 0}
        inside {text = text $0 "\n"}' "$here/../$1" >"$2" 2>/dev/null
}

# build_page PAGE NAME: builds the page's program and runs it in the folder of pictures.
build_page() {
    program_of "$1" "$tmp/$2.c"
    if [ ! -s "$tmp/$2.c" ]; then
        skip "the program of $1" "there is none"
        return
    fi
    cp "$tmp/$2.c" "$tmp/$2.cc"
    # shellcheck disable=SC2046
    check "the program of $1 builds as C11" "$cc" -std=c11 $strict -o "$tmp/$2" "$tmp/$2.c" \
        $(pkg-config --cflags --libs sluice) &&
        check "... and runs" sh -c 'cd "$1" && "$2"' - "$tmp/data" "$tmp/$2"
    check "... and says what is wrong where there are no pictures" \
        sh -c 'cd "$1" && ! "$2" 2>said && grep -q train said' - "$tmp/nowhere" "$tmp/$2"
    [ -n "$cxx" ] || return
    # shellcheck disable=SC2046
    check "the program of $1 builds as C++17" "$cxx" -std=c++17 $strict -o "$tmp/$2++" "$tmp/$2.cc" \
        $(pkg-config --cflags --libs sluice) &&
        check "... and runs" sh -c 'cd "$1" && "$2"' - "$tmp/data" "$tmp/$2++"
}

# loss_falls PROGRAM: it prints 10 losses, and the last is below the first.
loss_falls() {
    (cd "$tmp/data" && "$1") | tee "$tmp/losses"
    awk '/^epoch: .* loss is / {n++; last = $NF; if (n == 1) first = last}
        END {exit !(n == 10 && last < first)}' "$tmp/losses"
}

mkdir "$tmp/nowhere"
if ! "$prefix/bin/sluice" synth "$tmp/data" --classes 2 --per-class 100 --size 48 >"$tmp/log" 2>&1; then
    skip "the programs of the pages" "sluice synth makes no pictures for them"
else
    ln -s . "$tmp/data/pictures" # the README's program reads pictures/train, the other one train
    build_page README.md readme
    check "the program of README.md prints its loss, which falls" loss_falls "$tmp/readme"
    build_page docs/guide/your-loop.md your_loop
fi
finish
