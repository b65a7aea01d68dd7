#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What nvcc makes of the kernels of GetNext and of the sink program, without a GPU: registers, spills, the instructions that are
# meant, and what the library has become by them. test_kernels.sh BUILD_DIR; a line for each check,
# and last `kernels: N passed, N failed, N skipped`.
set -u
build=${1:?usage: test_kernels.sh BUILD_DIR}
root=$(cd "$(dirname "$0")/.." && pwd)
title=kernels
. "$root/tests/shell_kit.sh"
planes="sli_kernel_gather_planes_f32 sli_kernel_gather_planes_f16 sli_kernel_gather_planes_bf16"
packed="sli_kernel_gather_packed_f32 sli_kernel_gather_packed_f16 sli_kernel_gather_packed_bf16"
programs="sli_kernel_gather_program_planes_f32 sli_kernel_gather_program_planes_f16
sli_kernel_gather_program_planes_bf16 sli_kernel_gather_program_packed_f32
sli_kernel_gather_program_packed_f16 sli_kernel_gather_program_packed_bf16"
mixes="sli_kernel_gather_mix_planes_f32 sli_kernel_gather_mix_planes_f16 sli_kernel_gather_mix_planes_bf16
sli_kernel_gather_mix_packed_f32 sli_kernel_gather_mix_packed_f16 sli_kernel_gather_mix_packed_bf16"
gathers="sli_kernel_gather_copy sli_kernel_gather_any sli_kernel_gather_windows sli_kernel_gather_ragged $planes $packed
sli_kernel_gather_program $programs sli_kernel_gather_mix $mixes"
controls="sli_kernel_begin sli_kernel_next step_kernel_begin step_kernel_next"

# Where they lie, and which there are.
units="queue/cuda/getnext.cu sink/cuda/step_kernels.cu"
kernels_of() {
    case $1 in
    queue/*) echo "sli_kernel_begin sli_kernel_next $gathers" ;;
    sink/*) echo "step_kernel_begin step_kernel_inner step_kernel_next step_kernel_mark step_kernel_batch step_kernel_digest" ;;
    esac
}
# object UNIT: what the build made of it.
object() {
    echo "$build/${1%%/*}/$(basename "$1").o"
}

for unit in $units; do
    [ -e "$(object "$unit")" ] || skip_rest "the build has none"
done
nvcc=$(cached CUDAToolkit_NVCC_EXECUTABLE)
archs=$(cached SLUICE_CUDA_ARCHITECTURES | tr ';' ' ')
[ -x "$nvcc" ] || skip_rest "nvcc is not where it was"
ptxas=$(dirname "$(readlink -f "$nvcc")")/ptxas
[ -x "$ptxas" ] || skip_rest "there is no ptxas beside nvcc"

# ptx UNIT ARCH OUT: its PTX: that which the build made for the tests on the CPU, if there is any for this target; else the
# kernels are compiled, as the build does.
ptx() {
    case ";$(cached SLUICE_PTX_TARGETS);" in
    *";$2;"*)
        cp "$build/tests/ptx/$(basename "$1" .cu)_$2.ptx" "$3"
        return
        ;;
    esac
    unit_file=$root/$1
    target=$2
    out=$3
    shift 3
    for module in runtime numa queue dataset sink; do
        set -- "$@" -I"$root/$module/include" -I"$root/$module/internal"
    done
    "$nvcc" --fmad=false -O3 -Werror all-warnings -arch="compute_$target" "$@" -ptx -o "$out" "$unit_file"
}

# usage KERNEL LOG: what ptxas says of it, on one line.
usage() {
    sed -n "/Compiling entry function '$1'/,/Used/p" "$2" | tr '\n' ' '
}

# is_lean LINE: at most 64 registers, for programs of rows 80, for mixes of rows 128; no stack and no spills.
is_lean() {
    echo "$1"
    registers=$(echo "$1" | sed -n 's/.*Used \([0-9]*\) registers.*/\1/p')
    case $1 in
    *sli_kernel_gather_program*) most=80 ;;
    *sli_kernel_gather_mix*) most=128 ;;
    *) most=64 ;;
    esac
    [ -n "$registers" ] && [ "$registers" -le $most ] &&
        echo "$1" | grep -q ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads'
}

for arch in $archs; do
    for unit in $units; do
        check "there is PTX of $unit for sm_$arch" ptx "$unit" "$arch" "$tmp/$arch.ptx"
        check "... which becomes instructions without a warning" \
            "$ptxas" -v --warning-as-error -arch="sm_$arch" -o "$tmp/cubin" "$tmp/$arch.ptx"
        cp "$tmp/log" "$tmp/usage"
        for kernel in $(kernels_of "$unit"); do
            line=$(usage "$kernel" "$tmp/usage")
            check "$kernel on sm_$arch: $(echo "$line" | sed 's/.*Used \([0-9]* registers\).*/\1/'), no spills" \
                is_lean "$line"
        done
    done
done

# body KERNEL: its PTX. has KERNEL TEXT, lacks KERNEL TEXT, either KERNEL TEXT TEXT.
body() {
    sed -n "/\.entry $1(/,/^}/p" "$tmp/ptx"
}
has() {
    body "$1" | grep -qF "$2"
}
lacks() {
    [ -n "$(body "$1")" ] && ! body "$1" | grep -F "$2"
}
either() {
    has "$1" "$2" || has "$1" "$3"
}
# counts KERNEL EXPRESSION NUMBER: lines of its PTX that match.
counts() {
    found=$(body "$1" | grep -cE "$2")
    echo "$found lines match $2"
    [ -n "$(body "$1")" ] && [ "$found" -eq "$3" ]
}
# Instructions are counted in the PTX of one target: others write the same addresses in other ways.
case " $archs " in
*" 90 "*) shape=90 ;;
*) shape=${archs##* } ;;
esac
: >"$tmp/ptx"
for unit in $units; do
    ptx "$unit" "$shape" "$tmp/unit.ptx" 2>&1
    cat "$tmp/unit.ptx" >>"$tmp/ptx"
done
for kernel in $controls; do
    check "$kernel loads the ring's word with acquire order" has $kernel ld.acquire.sys.u64
    check "$kernel reads the clock" has $kernel '%globaltimer'
    check "$kernel naps" has $kernel nanosleep
    check "$kernel sets the loop's condition" has $kernel cudaGraphSetConditional
    check "$kernel reads nothing through the cache that is not coherent" lacks $kernel ld.global.nc
done
for kernel in step_kernel_begin step_kernel_next; do
    check "$kernel tells the host with release order" has $kernel st.release.sys.u64
done
for kernel in $gathers; do
    check "$kernel releases the slot" has $kernel st.release.sys.u64
    check "$kernel votes once, with acquire-release order on the device" counts $kernel 'atom[.]acq_rel[.]gpu[.]inc' 1
    check "$kernel stores one word for the host with release order" counts $kernel 'st[.]release[.]sys' 1
    check "$kernel loads 16 bytes at a time" has $kernel ld.global.nc.v4
    check "$kernel stores 16 bytes at a time" has $kernel st.global.v4
done
for unit in $units; do
    for kernel in $(kernels_of "$unit"); do
        check "$kernel has no fence of its own" counts $kernel 'membar|fence|[.]sc[.]' 0
    done
done
# Beside the copy of columns: a unit of values is one store of 16 bytes, a unit of pixels one in each
# of three planes. getnext_gather of sluice_unit counts the sectors of a warp's stores.
for kernel in $planes $packed; do
    case $kernel in
    *planes*) stores=4 ;;
    *) stores=2 ;;
    esac
    check "$kernel has $stores stores of 16 bytes" counts $kernel 'st[.]global[.]v4' $stores
    check "$kernel has none of 2, 4 or 8 bytes but its clock's" counts $kernel 'st[.]global[.](v2|.16|.32)' 0
    check "$kernel has no second half of 32 bytes" counts $kernel 'st[.]global[.]v4[^]]*[+]' 0
    check "$kernel has units 16 bytes apart" counts $kernel 'mul[.]wide[.]u32.*, 16;' 1
    check "$kernel has none 8, 32 or 64 bytes apart" counts $kernel 'mul[.]wide[.]u32.*, (8|32|64);' 0
done
# A unit of pixels is three stores. The head of a program and its operators, before and after the
# warp, are loaded 16 bytes at a time, and so is how rows are mixed. The code of a program is there
# once, also for two rows; the flags of a row that is mixed are read twice.
for kernel in $programs $mixes; do
    case $kernel in
    *mix*) loads=5 bytes=3 ;;
    *) loads=4 bytes=2 ;;
    esac
    check "$kernel has 4 stores of 16 bytes" counts $kernel 'st[.]global[.]v4' 4
    check "$kernel has none of 2, 4 or 8 bytes but its clock's" counts $kernel 'st[.]global[.](v2|.16|.32)' 0
    check "$kernel has $loads loads of 16 bytes" counts $kernel 'ld[.]global[.]nc[.]v4' $loads
    check "$kernel loads single bytes of flags and of copies only" counts $kernel 'ld[.]global[.]nc[.]u8' $bytes
    check "$kernel divides as IEEE 754 requires" lacks $kernel 'div.approx'
    check "$kernel keeps subnormal numbers" lacks $kernel .ftz
done
check "sli_kernel_gather_windows has 2 stores of 16 bytes" \
    counts sli_kernel_gather_windows 'st[.]global[.]v4' 2
for layout in planes packed program_planes program_packed mix_planes mix_packed; do
    check "f16 is rounded by the instruction, $layout" has sli_kernel_gather_${layout}_f16 cvt.rn.f16x2.f32
    check "bf16 is rounded by the instruction, $layout" has sli_kernel_gather_${layout}_bf16 cvt.rn.bf16x2.f32
done
for layout in planes packed; do
    check "rounded f16 values are widened by the instruction, $layout" has sli_kernel_gather_mix_${layout}_f16 cvt.f32.f16
done
check "the digest is added up by atomics" either step_kernel_digest atom.global.add.u64 red.global.add.u64
for unit in $units; do
    for kernel in $(kernels_of "$unit"); do
        check "$kernel has no local memory" lacks "$kernel" .local
    done
done

# needs_neither FILE: the library is C, and cudart is inside it.
needs_neither() {
    ! readelf -d "$1" | grep NEEDED | grep -e libstdc++ -e libcudart
}
exports_nothing() {
    ! nm -D --defined-only "$1" | grep -e sli_kernel -e step_kernel -e sli_getnext -e __cuda
}
no_cxx() {
    ! nm -u "$1" | grep -e __cxa -e __gxx -e _ZNS -e _Znw
}
for unit in $units; do
    check "the object of $unit needs no C++ library" no_cxx "$(object "$unit")"
done
if [ -e "$build/lib/libsluice.so" ]; then
    check "the library needs no C++ library and no shared cudart" needs_neither "$build/lib/libsluice.so"
    check "the library exports no kernel" exports_nothing "$build/lib/libsluice.so"
fi

finish
