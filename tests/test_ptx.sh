#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Mutants of the kernels' PTX, which the suites that run it must find, and that the interpreter stops at what it does not
# know. test_ptx.sh BUILD_DIR; a line for each check, and last `ptx: N passed, N failed, N skipped`.
set -u
build=${1:?usage: test_ptx.sh BUILD_DIR}
root=$(cd "$(dirname "$0")/.." && pwd)
title=ptx
. "$root/tests/shell_kit.sh"
[ -x "$build/bin/sluice_ptx" ] || skip_rest "the build has no PTX: it needs nvcc"

# finds SUITE WORDS VARIABLE=VALUE...: the suite fails, and says WORDS.
finds() {
    suite=$1
    words=$2
    shift 2
    if env "$@" "$build/bin/sluice_ptx" -s "$suite" >"$tmp/said" 2>&1; then
        cat "$tmp/said"
        return 1
    fi
    cat "$tmp/said"
    grep -q -e "$words" "$tmp/said"
}

check "kernels compiled with --fmad=true are refused" \
    finds gather_programs 'may be fused' SLUICE_PTX_TARGET=fmad
check "a rounding of another kind is found" \
    finds getnext_gather '^FAIL' 'SLUICE_PTX_EDIT=fma.rn.f32=>add.rn.f32'
check "an address that is not aligned is found" \
    finds getnext_gather 'is not a multiple of the size' 'SLUICE_PTX_EDIT=+8]=>+9]'
check "an address that is shifted is found" \
    finds getnext_gather '^FAIL\|^ptx: ' 'SLUICE_PTX_EDIT=+16]=>+24]'
check "a condition that is turned is found" \
    finds getnext_control '^FAIL\|^ptx: ' 'SLUICE_PTX_EDIT=setp.lt.u64=>setp.ge.u64'
check "an instruction that is not known ends the run" \
    finds getnext_gather 'does not know' 'SLUICE_PTX_EDIT=mul.rn.f32=>mul.rz.f32'
check "an edit that changes nothing ends the run" \
    finds getnext_gather 'changes nothing' 'SLUICE_PTX_EDIT=no.such.text=>x'

finish
