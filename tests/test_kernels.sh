#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What nvcc makes of GetNext's kernels, without a GPU: registers, spills, the instructions that are
# meant, and what the library has become by them. test_kernels.sh BUILD_DIR; a line for each check,
# and last `kernels: N passed, N failed, N skipped`.
set -u
build=${1:?usage: test_kernels.sh BUILD_DIR}
root=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0
failed=0
kernels="begin next gather_copy gather_any gather_planes_f32 gather_planes_f16 gather_planes_bf16"

skip() {
    echo "SKIP kernels: $1"
    echo "kernels: 0 passed, 0 failed, 1 skipped"
    exit 0
}

# check NAME COMMAND...
check() {
    name=$1
    shift
    if "$@" >"$tmp/log" 2>&1; then
        passed=$((passed + 1))
        echo "ok   $name"
    else
        failed=$((failed + 1))
        echo "FAIL $name"
        head -n 10 "$tmp/log" | sed 's/^/     /'
    fi
}

[ -e "$build/queue/getnext.cu.o" ] || skip "the build has none"
nvcc=$(sed -n 's/^CUDAToolkit_NVCC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
archs=$(sed -n 's/^SLUICE_CUDA_ARCHITECTURES:[A-Z]*=//p' "$build/CMakeCache.txt" | tr ';' ' ')
[ -x "$nvcc" ] || skip "nvcc is not where it was"

# compile ARCH OUT FLAG...: the kernels, as the build compiles them.
compile() {
    target=$1
    out=$2
    shift 2
    "$nvcc" --fmad=false -O3 -Werror all-warnings -I"$root/runtime/include" \
        -I"$root/runtime/internal" -I"$root/queue/include" -I"$root/queue/internal" \
        -arch="$target" "$@" -o "$out" "$root/queue/cuda/getnext.cu"
}

# usage KERNEL LOG: what ptxas says of it, on one line.
usage() {
    sed -n "/Compiling entry function 'sli_kernel_$1'/,/Used/p" "$2" | tr '\n' ' '
}

# is_lean LINE: at most 64 registers, no stack and no spills.
is_lean() {
    echo "$1"
    registers=$(echo "$1" | sed -n 's/.*Used \([0-9]*\) registers.*/\1/p')
    [ -n "$registers" ] && [ "$registers" -le 64 ] &&
        echo "$1" | grep -q ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads'
}

for arch in $archs; do
    check "sm_$arch compiles without a warning" compile "sm_$arch" "$tmp/$arch.cubin" -cubin -Xptxas -v
    cp "$tmp/log" "$tmp/usage"
    for kernel in $kernels; do
        line=$(usage "$kernel" "$tmp/usage")
        check "$kernel on sm_$arch: $(echo "$line" | sed 's/.*Used \([0-9]* registers\).*/\1/'), no spills" \
            is_lean "$line"
    done
done

# body KERNEL: its PTX. has KERNEL TEXT, lacks KERNEL TEXT.
body() {
    sed -n "/\.entry sli_kernel_$1(/,/^}/p" "$tmp/ptx"
}
has() {
    body "$1" | grep -qF "$2"
}
lacks() {
    [ -n "$(body "$1")" ] && ! body "$1" | grep -F "$2"
}
compile "compute_${archs##* }" "$tmp/ptx" -ptx 2>&1
for kernel in begin next; do
    check "$kernel loads the ring's word with acquire order" has $kernel ld.acquire.sys.u64
    check "$kernel reads the clock" has $kernel '%globaltimer'
    check "$kernel naps" has $kernel nanosleep
    check "$kernel sets the loop's condition" has $kernel cudaGraphSetConditional
    check "$kernel reads nothing through the cache that is not coherent" lacks $kernel ld.global.nc
done
for kernel in gather_copy gather_any gather_planes_f32 gather_planes_f16 gather_planes_bf16; do
    check "$kernel releases the slot" has $kernel st.release.sys.u64
    check "$kernel votes with a fence" has $kernel membar.gl
    check "$kernel releases behind a fence that the host sees" has $kernel membar.sys
    check "$kernel loads 16 bytes at a time" has $kernel ld.global.nc.v4
    check "$kernel stores 16 bytes at a time" has $kernel st.global.v4
done
check "f16 is rounded by the instruction" has gather_planes_f16 cvt.rn.f16x2.f32
check "bf16 is rounded by the instruction" has gather_planes_bf16 cvt.rn.bf16x2.f32
for kernel in $kernels; do
    check "$kernel has no local memory" lacks "$kernel" .local
done

# needs_neither FILE: the library is C, and cudart is inside it.
needs_neither() {
    ! readelf -d "$1" | grep NEEDED | grep -e libstdc++ -e libcudart
}
exports_nothing() {
    ! nm -D --defined-only "$1" | grep -e sli_kernel -e sli_getnext -e __cuda
}
no_cxx() {
    ! nm -u "$1" | grep -e __cxa -e __gxx -e _ZNS -e _Znw
}
check "the kernels' object needs no C++ library" no_cxx "$build/queue/getnext.cu.o"
if [ -e "$build/lib/libsluice.so" ]; then
    check "the library needs no C++ library and no shared cudart" needs_neither "$build/lib/libsluice.so"
    check "the library exports no kernel" exports_nothing "$build/lib/libsluice.so"
fi

echo "kernels: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
