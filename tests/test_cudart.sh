#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libsluice beside the shared CUDA runtime in one program: each has its own, the static one stays
# inside the library, and both say the same of the driver. test_cudart.sh BUILD_DIR; a line for each
# check, and last `cudart: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_cudart.sh BUILD_DIR}" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
title=cudart
. "$root/tests/shell_kit.sh"

# untested WHY: the rest of it.
untested() {
    skip_rest "NOT TESTED BESIDE THE SHARED CUDA RUNTIME" "$1"
}

so=$build/lib/libsluice.so
"$build/bin/sluice" --version | grep -q 'cuda on' || untested "the build has no CUDA device"

# ---- what the library shows ------------------------------------------------------------------------

nm -D --defined-only "$so" >"$tmp/defined"
nm -D --undefined-only "$so" >"$tmp/undefined"
readelf -d "$so" | grep NEEDED >"$tmp/needed"
check "it is a library with names" grep -q ' sluice_device_open' "$tmp/defined"
check "no name of CUDA's is exported" sh -c '! grep -E " (__)?cu(da)?[A-Z]" "$1"' - "$tmp/defined"
check "and none is wanted from outside" sh -c '! grep -E " (__)?cu(da)?[A-Z]" "$1"' - "$tmp/undefined"
check "it does not need libcudart or libcuda" sh -c '! grep -e libcudart -e "libcuda\." "$1"' - "$tmp/needed"

# ---- a program with both ---------------------------------------------------------------------------

[ -z "$(cached SLUICE_SANITIZE)" ] || untested "a sanitized library wants a sanitized program"
nvcc=$(cached CUDAToolkit_NVCC_EXECUTABLE)
[ -x "$nvcc" ] || untested "nvcc is not where it was"
toolkit=$(cd "$(dirname "$nvcc")/.." && pwd)
cudart=
for folder in lib64 lib targets/*/lib; do
    for file in "$toolkit"/$folder/libcudart.so; do
        [ -n "$cudart" ] || [ ! -e "$file" ] || cudart=$file
    done
done
[ -n "$cudart" ] || untested "the toolkit in $toolkit has no libcudart.so"
soname=$(readelf -d "$cudart" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')

# beside ORDER: `cudart` or `sluice` first. It prints `cudart CODE NAME VERSION LIBRARY` and
# `sluice STATUS TEXT`, in that order, twice: each must bear what the other has done.
cat >"$tmp/beside.c" <<'PROGRAM'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>
#include <sluice/sluice.h>

static void ask_cudart(void)
{
    cudaError_t (*const function)(int *) = cudaGetDeviceCount;
    Dl_info info = {0};
    void *address;
    int count = -1;
    int version = -1;
    const cudaError_t error = cudaGetDeviceCount(&count);

    cudaRuntimeGetVersion(&version);
    memcpy(&address, &function, sizeof(address));
    dladdr(address, &info);
    printf("cudart %d %s %d %s\n", (int)error, cudaGetErrorName(error), version, info.dli_fname);
}

static void ask_sluice(void)
{
    sluice_device *device = NULL;
    const sluice_status st = sluice_device_open("cuda:0", &device);

    printf("sluice %s %s\n", sluice_status_name(st),
           st < 0 ? sluice_last_error() : sluice_device_name(device));
    sluice_device_close(device);
}

int main(int argc, char **argv)
{
    const int cudart_first = argc > 1 && strcmp(argv[1], "cudart") == 0;

    for (int i = 0; i < 2; i++) {
        if (cudart_first) {
            ask_cudart();
        }
        ask_sluice();
        if (!cudart_first) {
            ask_cudart();
        }
    }
    return 0;
}
PROGRAM
includes="-I$build/include -isystem $toolkit/include"
for module in runtime numa queue dataset sink; do
    includes="$includes -I$root/$module/include"
done
# The library in front of the runtime: were one of CUDA's names exported by it, it would be taken.
# shellcheck disable=SC2086
check "a program with both builds" "$(cached CMAKE_C_COMPILER)" -std=c11 -Wall -Wextra -Werror $includes \
    -o "$tmp/beside" "$tmp/beside.c" "$so" "$cudart" -ldl
LD_LIBRARY_PATH=$build/lib:$(dirname "$cudart")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
check "it needs the shared runtime" sh -c 'readelf -d "$1" | grep -qF "[$2]"' - "$tmp/beside" "$soname"

# What both have to say, with a GPU or without.
lines() { grep -cE "$1" "$tmp/out"; }
twice() { [ "$(lines "$1")" -eq 2 ]; }

for first in cudart sluice; do
    check "$first first: it ends well" sh -c '"$1" "$2" >"$3"' - "$tmp/beside" $first "$tmp/out" || continue
    check "$first first: it said all" [ "$(sed 's/ .*//' "$tmp/out" | tr '\n' ' ')" = \
        "$([ $first = cudart ] && echo 'cudart sluice cudart sluice ' || echo 'sluice cudart sluice cudart ')" ]
    check "$first first: cudaGetDeviceCount is $soname's" twice "^cudart .* [0-9]+ .*/libcudart[.]so"
    check "$first first: the runtime tells its version" twice '^cudart [0-9]+ [A-Za-z]+ 1[2-9][0-9]{3} '
    if [ "$(lines '^cudart 0 cudaSuccess ')" -eq 2 ]; then
        check "$first first: the library opens the GPU, too" twice '^sluice OK cuda:0'
    else
        check "$first first: the runtime misses a driver" \
            twice '^cudart [0-9]+ (cudaErrorInsufficientDriver|cudaErrorNoDevice) '
        check "$first first: the library misses it, too" \
            twice '^sluice E_NO_DEVICE device cuda:0: .*(cudaErrorInsufficientDriver|cudaErrorNoDevice).*use host:0'
    fi
done
LD_DEBUG=bindings LD_BIND_NOW=1 "$tmp/beside" cudart 2>&1 >"$tmp/out" | grep cudaGetDeviceCount >"$tmp/bindings"
check "the loader binds it to $soname, and only there" sh -c 'grep -q "beside .* to .*/libcudart[.]so" "$1" &&
    ! grep -q "libsluice" "$1"' - "$tmp/bindings"

finish
