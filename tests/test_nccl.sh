#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The example train_nccl. Without a GPU it is skipped with the reason; all of its host code runs on the fakes of CUDA and
# NCCL (fake_train_nccl), with ranks started as torchrun does. test_nccl.sh BUILD_DIR; a line for each check, and last
# `nccl: N passed, N failed, N skipped`.
set -u
build=$(cd "${1:?usage: test_nccl.sh BUILD_DIR}" && pwd)
bin=$build/bin
title=nccl
. "$(dirname "$0")/shell_kit.sh"

[ -x "$bin/train_nccl" ] || skip_rest "no NCCL beside the CUDA toolkit where this was configured"
[ -x "$bin/sluice" ] || skip_rest "the tool is not built"
unset MASTER_ADDR MASTER_PORT RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE SLURM_PROCID SLURM_STEP_NUM_TASKS
"$bin/sluice" synth "$tmp/pictures" --classes 4 --per-class 40 --size 32 >/dev/null
pictures=$tmp/pictures/train

run env CUDA_VISIBLE_DEVICES= "$bin/train_nccl" "$pictures" "$tmp/none"
check "without a GPU it exits with 77" [ "$code" -eq 77 ]
check "... and says why" err_has 'device cuda:local: .*(cudaError'
ends "without words it prints its usage" 2 "$bin/train_nccl"

# ---- on the fakes --------------------------------------------------------------------------------

port=$((20000 + $$ % 20000)) # the program listens at the next one

# rank NUMBER OF RUN STEPS: in place of this shell, so that a signal reaches it; alone: not in place.
rank() {
    exec env RANK="$1" WORLD_SIZE="$2" LOCAL_RANK="$1" LOCAL_WORLD_SIZE="$2" MASTER_PORT=$port SLUICE_LOG=info \
        "$bin/fake_train_nccl" "$pictures" "$tmp/$3" "$4"
}
alone() { (rank "$@"); }

# two RUN STEPS: two ranks. $codes: how they ended; $tmp/0 and $tmp/1: what they printed to stderr.
two() {
    rank 0 2 "$1" "$2" >"$tmp/out" 2>"$tmp/0" &
    first=$!
    rank 1 2 "$1" "$2" >"$tmp/log" 2>"$tmp/1" &
    second=$!
    wait $first
    codes=$?
    wait $second
    codes="$codes $?"
    cat "$tmp/0" "$tmp/1" >"$tmp/err"
}
ended() { echo "$codes" && [ "$codes" = "$1" ]; }

run sh -c '"$1" "$2" "$3" 4' - "$bin/fake_train_nccl" "$pictures" "$tmp/one"
check "one rank trains" [ "$code" -eq 0 ]
two two 4
check "two ranks train" ended "0 0"
check "... each on the device of its local rank" grep -q 'device cuda:local is cuda:1: local rank 1' "$tmp/1"
check "... in a captured step, in sinks" grep -q 'plan: .*mode loop' "$tmp/0"
two resumed 2
run sh -c '"$1" "$2" "$3" 4' - "$bin/fake_train_nccl" "$pictures" "$tmp/resumed"
check "one rank resumes what two have begun" [ "$code" -eq 0 ]
same_losses() {
    "$python" -I - "$tmp/one/log.jsonl" "$tmp/$1/log.jsonl" <<'PROGRAM'
import json, sys
one, other = ([json.loads(line)["outputs"]["loss"] for line in open(path)] for path in sys.argv[1:])
assert len(one) == len(other) == 4, (len(one), len(other))
print("largest difference:", max(abs(a - b) for a, b in zip(one, other)))
assert all(abs(a - b) < 1e-5 for a, b in zip(one, other))
PROGRAM
}
if [ -n "$python" ]; then
    check "the losses of two ranks are those of one, but for the order of sums" same_losses two
    check "... and those after resuming" same_losses resumed
    if [ -x "$bin/train_mpi" ]; then
        OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR="$tmp" \
            "$bin/train_mpi" "$pictures" "$tmp/mpi" 4 >"$tmp/log" 2>&1
        check "... and those of train_mpi" same_losses mpi
    fi
else
    skip "comparing losses" "no python3"
fi

# ---- failures ------------------------------------------------------------------------------------

rank 0 2 killed 1000 >"$tmp/out" 2>"$tmp/err" &
first=$!
rank 1 2 killed 1000 >"$tmp/log" 2>&1 &
second=$!
until grep -q 'plan: ' "$tmp/err" || ! kill -0 $first 2>/dev/null; do sleep 0.05; done
kill -KILL $second
wait $first
code=$?
wait $second 2>/dev/null
check "a rank that is killed ends the other one, in its step" [ "$code" -eq 1 ]
check "... and is named" err_has '^rank 0: rank 1 has ended before the others'

bad=$(find "$pictures" -name '*.jpg' | sort | head -n 1)
cp "$bad" "$tmp/good"
head -c 100 "$tmp/good" >"$bad"
two bad 4
cp "$tmp/good" "$bad"
check "a corrupt picture ends both ranks" ended "1 1"
check "... and is named" err_has "error: rank [01] of 2 fails after .*$(basename "$bad")"
check "... by the last line of the rank that fails" sh -c \
    'tail -qn 1 "$1" "$2" | grep -q "fails after .*$3"' - "$tmp/0" "$tmp/1" "$(basename "$bad")"

# ---- connections ---------------------------------------------------------------------------------

usual=$port
port=65535
run alone 0 2 port 1
port=$usual
check "a port out of range is an error" err_has 'MASTER_PORT is "65535", and must be from 1 to 65534'
run alone 0 3 three 1
check "3 ranks cannot share batches of 64" err_has '3 ranks cannot share batches of 64'
if [ -n "$python" ]; then
    # Occupies the port for a while; then sends garbage to rank 0, as a port scanner does.
    "$python" -I - $((port + 1)) "$tmp/ready" <<'PROGRAM' &
import os, socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen(1)
open(sys.argv[2], "w").close()
while os.path.exists(sys.argv[2]):
    time.sleep(0.02)
PROGRAM
    holder=$!
    until [ -e "$tmp/ready" ]; do sleep 0.02; done
    run alone 0 2 used 1
    rm "$tmp/ready"
    wait $holder
    check "a port in use is an error that says what to set" err_has 'port after MASTER_PORT is in use.*set MASTER_PORT'
    "$python" -I - $((port + 1)) <<'PROGRAM' &
import socket, sys, time
for i in range(400):
    try:
        s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        s.sendall(b"GET / HTTP/1.1\r\n\r\n")
        sys.exit(0)
    except OSError:
        time.sleep(0.05)
sys.exit(1)
PROGRAM
    stranger=$!
    rank 0 2 stranger 1 >"$tmp/out" 2>"$tmp/0" &
    first=$!
    wait $stranger
    check "a stranger connects to rank 0" [ $? -eq 0 ]
    alone 1 2 stranger 1 >"$tmp/log" 2>"$tmp/1"
    second=$?
    wait $first
    codes="$? $second"
    check "... and is ignored" ended "0 0"
else
    skip "the port" "no python3"
fi

finish
