#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every example, copied from the installed ones by the commands of examples/README.md and built with the
# installed library: it builds, and does what it is for. test_copied.sh BUILD_DIR; a line for each check, and
# last `copied: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_copied.sh BUILD_DIR}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
title=copied
. "$here/shell_kit.sh"

install_build
export OMP_WAIT_POLICY=passive
mkdir "$tmp/place"
ln -s "$here/../examples" "$tmp/place/examples"
cd "$tmp/place" || finish

# copied NAME PATTERN: runs the README's command that has the pattern.
copied() {
    sed -n '/^## Copied out/,/^## The quickstart/s/^    //p' examples/README.md | grep -e "$2" >"$tmp/command"
    check "the README says how to copy $1" [ "$(wc -l <"$tmp/command")" -eq 1 ] &&
        check "$1 builds" sh -e "$tmp/command"
}

# ---- overnight --------------------------------------------------------------------------------------

pictures="$tmp/it's here"
"$prefix/bin/sluice" synth "$tmp/set" --classes 3 --per-class 20 --size 40 >"$tmp/out" || finish
mv "$tmp/set/train" "$pictures"
echo "no picture" >"$pictures/000-disc-stripes/bad.jpg"
for name in overnight train_image_folder custom_batch.c custom_filter.c custom_geometry.c custom_map.c custom_source.c custom_stream.c double_buffer.c memory_arrays.c plugin_map.c plugin_source.c own_kernels.cu device_warp.cu train_mpi.c train_nccl.c rank_training.c rank_training.h tcp_group.c tcp_group.h; do
    check "$name is installed" diff -r "$(find "$prefix/share/doc" -path "*/examples/$name")" examples/$name
done
rm examples # copies are made of what is installed, and of the tool's source
mkdir examples
cp -r "$here/../examples/README.md" "$here/../examples/cli" "$prefix"/share/doc/*/examples/* examples
copied overnight overnight
ends "overnight runs for its time" 0 mine/overnight "$pictures" run 0.0002
check "... with validations" out_has '^validation: step [0-9]*, loss [0-9.]*, accuracy [0-9.]* ([0-9]* samples)$'
check "... and its report" out_has '^bottleneck: '
check "... which names a bad picture" out_has '^  decode: 000-disc-stripes/bad.jpg: '
steps=$(sed -n 's/ steps, .*//p' "$tmp/out")
check "... and a line of its log for each step" [ "$(grep -c '^{"step":' run/log.jsonl)" = "$steps" ]
check "... and the best network" [ -s run/best-*/network ]
ends "started again, it resumes" 0 mine/overnight "$pictures" run 0.0002
check "... where it ended" out_has "^began at step $steps, "
more=$(sed -n 's/ steps, .*//p' "$tmp/out")
check "... with its log" [ "$(grep -c '^{"step":' run/log.jsonl)" = $((steps + more)) ]
mine/overnight "$pictures" stopped 8 >"$tmp/out" 2>"$tmp/err" &
pid=$!
until grep -qs '^epoch: ' "$tmp/out" || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
for signal in 1 2; do
    kill -s USR1 $pid
    until [ "$(grep -c '^time  *seconds' "$tmp/err")" -ge $signal ] || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
done
check "SIGUSR1 prints its report so far" err_has '^bottleneck: '
check "... twice, and it goes on" kill -s INT $pid
wait $pid
code=$?
check "it shows losses" out_has '^epoch: [0-9]* step: 100, loss is [0-9.]*, accuracy is [0-9.]*$'
check "SIGINT ends it well" [ "$code" -eq 0 ]
check "... with its report" out_has '^ended with stopped on request'
mkdir "$tmp/many" && cp -r "$pictures" "$tmp/many/0" && for i in 1 2 3 4 5 6 7 8 9 a b; do cp -r "$tmp/many/0" "$tmp/many/$i"; done
find "$tmp/many" -name '*.jpg' -exec sh -c 'mv "$1" "$(dirname "$(dirname "$1")")"' - {} \;
ends "more classes than it has outputs are an error" 1 mine/overnight "$tmp/many" run2 0.0002
check "... that says what to change" err_has 'label 1[0-9] must be less than 10: raise CLASSES'
ends "overnight wants two folders" 2 mine/overnight "$pictures"
# by_cmake FOLDER: builds it there.
by_cmake() {
    cmake -S "$1" -B "$1/by_cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$(cached CMAKE_C_COMPILER)" \
        -DCMAKE_BUILD_TYPE=Debug && cmake --build "$1/by_cmake"
}
check "overnight builds by CMake" by_cmake mine
ends "... and runs" 0 mine/by_cmake/overnight "$pictures" run3 0.0001

# ---- the others -------------------------------------------------------------------------------------

trains() {
    ends "... and trains" 0 "$1" "$tmp/set/test" --size 16 --batch 4 --epochs 1 --sink-size 2
    check "... with a report" out_has '^bottleneck: '
}
if copied train_image_folder "cp -r examples/train_image_folder"; then
    trains folder/train_image_folder
    check "train_image_folder builds by CMake" by_cmake folder && trains folder/by_cmake/train_image_folder
    if command -v nvcc >/dev/null; then
        check "train_image_folder builds with kernels" sh -c 'make -C folder clean && make -C folder NVCC=nvcc' &&
            trains folder/train_image_folder
    else
        skip "train_image_folder with kernels" "no nvcc"
    fi
fi
if copied cli cli; then
    ends "the tool runs" 0 tool/sluice bench "synthetic samples=10 shape=4,4,3 | batch 5"
fi
if copied double_buffer double_buffer; then
    ends "double_buffer runs" 0 ./double_buffer
fi
if copied custom_source custom_source; then
    head -c 4610 "$build/bin/sluice" >records
    ends "custom_source runs" 0 ./custom_source records
    check "... and gives each sample" [ "$(wc -l <"$tmp/out")" -eq 2 ]
fi
if copied custom_stream custom_stream; then
    printf 'one\ntwo words\n' >lines
    ends "custom_stream runs" 0 ./custom_stream lines 3
    check "... and goes on in the next pass" [ "$(wc -l <"$tmp/out")" -eq 3 ]
fi
if copied custom_batch custom_batch; then
    ends "custom_batch runs" 0 ./custom_batch
fi
if copied custom_filter custom_filter; then
    ends "custom_filter runs" 0 ./custom_filter
fi
if copied custom_geometry custom_geometry; then
    ends "custom_geometry runs" 0 ./custom_geometry
fi
if copied custom_map custom_map; then
    ends "custom_map runs" 0 ./custom_map
fi
if copied memory_arrays memory_arrays; then
    ends "memory_arrays runs" 0 ./memory_arrays
    check "... and finds the weights" out_has '^1\.000 -2\.000 0\.500$'
fi
if copied plugin_map plugin_map; then
    ends "plugin_map runs in the tool" 0 "$prefix/bin/sluice" bench --plugin plugin_map.so \
        "synthetic samples=10 shape=4,4,3 | my_solarize | batch 5"
fi
if copied plugin_source plugin_source; then
    head -c 7840 "$build/bin/sluice" >images
    ends "plugin_source runs in the tool" 0 "$prefix/bin/sluice" bench --plugin plugin_source.so "my_records images | batch 5"
fi
if command -v mpicc >/dev/null; then
    copied train_mpi train_mpi
else
    skip "train_mpi" "no mpicc"
fi
if command -v nvcc >/dev/null; then
    copied own_kernels own_kernels
    if copied device_warp device_warp; then
        ends "device_warp runs" 0 ./device_warp host:0
    fi
else
    skip "own_kernels, device_warp" "no nvcc"
fi
if [ -x "$build/bin/train_nccl" ]; then
    copied train_nccl train_nccl
else
    skip "train_nccl" "no NCCL"
fi

finish
