#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ranks under Open MPI: the example train_mpi, and what happens when one rank of three fails.
# test_mpi.sh BUILD_DIR; a line for each check, and last `mpi: N passed, N failed, N skipped`.
# FAILURES=all: every kind of failure in every mode.
set -u
build=$(cd "${1:?usage: test_mpi.sh BUILD_DIR}" && pwd)
bin=$build/bin
title=mpi
. "$(dirname "$0")/shell_kit.sh"

[ -x "$bin/mpi_run" ] || skip_rest "no mpicc where this was configured (libopenmpi-dev); tests/deps.sh ci installs it"
mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip_rest "no mpirun of Open MPI (openmpi-bin)"

# More ranks than cores, in a container, as root; nothing of other launchers; no file elsewhere.
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE SLURM_PROCID SLURM_STEP_NUM_TASKS
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none TMPDIR="$tmp"

# ranks NUMBER COMMAND...
ranks() {
    number=$1
    shift
    timeout -k 5 120 mpirun -q --oversubscribe --bind-to none -n "$number" "$@"
}

run ranks 2 "$bin/mpi_run" none loop stay
[ "$code" -eq 0 ] || { evidence && skip_rest "mpirun starts no two ranks here: $(tail -n 1 "$tmp/err")"; }

# ---- one rank of three fails ---------------------------------------------------------------------

fails() { [ "$code" -ne 0 ] && [ "$code" -ne 124 ] && [ "$code" -ne 137 ]; }
last_has() { tail -n 1 "$tmp/err" | grep -qe "$1"; }

# failure KIND MODE STATUS TEXT heard|stuck: with abort and without it.
failure() {
    for how in abort stay; do
        what="$1 in mode $2, $how"
        rm -rf "$tmp/checkpoints" "$tmp"/report.*
        wait_ms=60000
        [ "$5" = heard ] || wait_ms=500 # the others never come
        run env MPI_RUN_CHECKPOINTS="$tmp/checkpoints" SLUICE_REPORT="$tmp/report.%r.json" \
            timeout -k 5 120 mpirun -q --oversubscribe --bind-to none -n 3 "$bin/mpi_run" "$1" "$2" $how $wait_ms
        check "$what: the job ends, with an error" fails
        check "$what: the rank says why" err_has "error: rank 1 of 3 fails after [0-9]* steps with $3: .*$4"
        [ "$1" = open ] || # the other ranks may still warn of settings
            check "$what: the last line is the cause" last_has "$4"
        check "$what: so is the report" grep -q "$4" "$tmp/report.1.json"
        if [ $how = abort ]; then
            check "$what: it aborts" err_has "^rank 1 aborts .*$4"
        elif [ "$5" = heard ]; then
            check "$what: rank 0 hears of it" err_has "^rank 0 ended with E_RANK .*rank 1 failed with $3, .*$4"
            check "$what: rank 2 hears of it" err_has "^rank 2 ended with E_RANK .*rank 1 failed with $3, .*$4"
        else
            place="(process [0-9]* on $(hostname), last boundary after step [0-9]*)"
            check "$what: it names those that wait" err_has \
                "no answer within 0.5 s of the failure of rank 1 from rank 0 $place, rank 2 $place: they wait in a"
            check "$what: it ends with its own error" err_has "^rank 1 ended with $3 .*$4"
        fi
    done
}

all_kinds() {
    failure sample "$1" E_CORRUPT 'sample [0-9]* is corrupt' stuck
    failure step "$1" E_DEVICE 'the step of rank 1 has no device' stuck
    failure hook "$1" E_IO 'the hook of rank 1 has no disk' heard
    failure save "$1" E_IO 'rank 1 has no disk to save to' heard
}
all_kinds loop
failure open loop E_IO '/nowhere/at/all' heard
if [ "${FAILURES-}" = all ]; then
    for mode in direct data graph; do
        all_kinds $mode
    done
else
    failure sample data E_CORRUPT 'sample [0-9]* is corrupt' stuck
    failure hook graph E_IO 'the hook of rank 1 has no disk' heard
fi
kinds="kill exit"
[ "${FAILURES-}" != all ] || kinds="kill exit kill-open kill-agree kill-save kill-end"
for kind in $kinds; do # 137: mpirun ends as the rank that was killed
    rm -rf "$tmp/checkpoints"
    run env MPI_RUN_CHECKPOINTS="$tmp/checkpoints" timeout -k 5 120 mpirun -q --oversubscribe --bind-to none -n 3 \
        "$bin/mpi_run" $kind loop stay
    check "$kind: mpirun ends the job" [ "$code" -ne 0 ] && check "... in time" [ "$code" -ne 124 ]
done

run env SLUICE_REPORT="$tmp/slow.%r.json" timeout -k 5 120 mpirun -q --oversubscribe --bind-to none -n 3 \
    "$bin/mpi_run" slow direct stay
check "a rank that is slow slows all" [ "$code" -eq 0 ]
check "... and is named while the job runs" err_has 'ranks wait for rank 1: [0-9]* % of the last '
check "... and in the reports of the others" grep -q '"waits":\[{"rank":1,' "$tmp/slow.0.json"

run ranks 3 "$bin/mpi_run" stopped direct stay
check "a rank that is stopped for a while holds up all" [ "$code" -eq 0 ]
check "... and is named meanwhile" err_has 'agree has not returned for .*; rank 1 (process [0-9]*) is stopped'

run env RANK=0 WORLD_SIZE=1 timeout -k 5 120 mpirun -q --oversubscribe --bind-to none -n 2 \
    "$bin/mpi_run" none loop stay
check "a leftover RANK=0 WORLD_SIZE=1 is an error" fails
check "... that names what to unset" err_has 'E_INVALID.*Unset RANK and WORLD_SIZE'

# ---- train_mpi -----------------------------------------------------------------------------------

[ -x "$bin/train_mpi" ] && [ -x "$bin/sluice" ] || skip_rest "train_mpi and the tool are not built"
"$bin/sluice" synth "$tmp/pictures" --classes 4 --per-class 40 --size 32 >/dev/null
train() { # train RANKS RUN STEPS
    ends "train_mpi on $1 ranks, up to step $3" 0 ranks "$1" "$bin/train_mpi" "$tmp/pictures/train" "$tmp/$2" \
        "$3"
}
train 1 one 12
check "rank 0 prints losses" out_has '^epoch: .* step: 10, loss is '
train 2 two 12
train 4 four 12
train 2 resumed 6
train 4 resumed 9
train 1 resumed 12

# same_losses RUN: 12 losses, those of one rank bit for bit.
same_losses() {
    "$python" -I - "$tmp/one/log.jsonl" "$tmp/$1/log.jsonl" <<'PROGRAM'
import json, sys
one, other = ([json.loads(line)["outputs"]["loss"] for line in open(path)] for path in sys.argv[1:])
assert len(one) == len(other) == 12, (len(one), len(other))
print("largest difference:", max(abs(a - b) for a, b in zip(one, other)))
assert one == other
PROGRAM
}
if [ -n "$python" ]; then
    for name in two four resumed; do
        check "the losses of $name are those of one rank, bit for bit" same_losses $name
    done
else
    skip "comparing losses" "no python3"
fi
run ranks 3 "$bin/train_mpi" "$tmp/pictures/train" "$tmp/three" 12
check "3 ranks cannot share batches of 64" err_has '3 ranks cannot share batches of 64'

bad=$(find "$tmp/pictures/train" -name '*.jpg' | sort | head -n 1)
head -c 100 "$bad" >"$tmp/half" && mv "$tmp/half" "$bad"
run ranks 2 "$bin/train_mpi" "$tmp/pictures/train" "$tmp/bad" 12
check "a corrupt picture ends all ranks" fails
check "... and is named" err_has "error: rank [01] of 2 fails after .*$(basename "$bad")"

finish
