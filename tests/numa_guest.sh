#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Suites that need two NUMA nodes, and ranks of the tool on four nodes, in a guest of QEMU without KVM that has nodes of
# two CPUs. Skipped
# with the reason where QEMU, busybox or a kernel is missing. A kernel is $SLUICE_GUEST_KERNEL, or
# the newest one that can be read in /boot, or in /var/cache/sluice, where deps.sh puts one; it needs no
# modules.
# numa_guest.sh BUILD_DIR; last line `numa_guest: N passed, N failed, N skipped`.
set -u
build=${1:?usage: numa_guest.sh BUILD_DIR}
title=numa_guest
. "$(dirname "$0")/shell_kit.sh"

[ "$(uname -m)" = x86_64 ] || skip_rest "the guest is for x86-64"
for tool in qemu-system-x86_64 busybox ldd; do
    command -v $tool >/dev/null || skip_rest "no $tool; Debian has it in qemu-system-x86, busybox-static, libc-bin"
done
kernel=${SLUICE_GUEST_KERNEL:-}
for file in /var/cache/sluice/vmlinuz-* /boot/vmlinuz-*; do
    [ -n "${SLUICE_GUEST_KERNEL:-}" ] || { [ -r "$file" ] && kernel=$file; }
done
[ -r "$kernel" ] || skip_rest "no kernel for the guest: tests/deps.sh more fetches one; or set SLUICE_GUEST_KERNEL"

root=$tmp/root
mkdir -p "$root/bin" "$root/dev" "$root/proc" "$root/sys" "$root/tmp"
cp "$(command -v busybox)" "$root/bin/busybox"
for name in sh mount mkdir grep sed awk seq; do
    ln -s busybox "$root/bin/$name"
done

# put_in_root PROGRAM: with its libraries.
put_in_root() {
    cp "$1" "$root/bin/"
    ldd "$1" | grep -o '/[^ )]*' | while read -r library; do
        mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"
    done
}
put_in_root "$build/bin/sluice_unit"

# guest NODES COMMANDS: runs shell commands in a guest with so many nodes, whose last lines on the serial line are
# their output and the status of the last one.
guest() {
    cat >"$root/init" <<INIT
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
export TMPDIR=/tmp PATH=/bin
$2
echo "guest status \$?"
/bin/busybox poweroff -f
INIT
    chmod +x "$root/init"
    (cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$tmp/initramfs" || return 1
    nodes=""
    for node in $(seq 0 $(($1 - 1))); do
        nodes="$nodes -object memory-backend-ram,id=m$node,size=$((1024 / $1))M"
        nodes="$nodes -numa node,nodeid=$node,cpus=$((2 * node))-$((2 * node + 1)),memdev=m$node"
    done
    # shellcheck disable=SC2086 # $nodes is a list of words
    # One thread for all CPUs of the guest: with a thread each, a busy host can leave one CPU without time until the
    # guest's kernel stalls.
    timeout 120 qemu-system-x86_64 -accel tcg,thread=single -machine q35 -cpu max -smp $((2 * $1)),sockets=$1,cores=2 -m 1024 \
        $nodes -kernel "$kernel" -initrd "$tmp/initramfs" -append "console=ttyS0 quiet panic=-1 rdinit=/init" \
        -nodefaults -display none -serial stdio -no-reboot </dev/null | tr -d '\r'
}

for suite in memory_policy node_memory; do
    guest 2 "sluice_unit -s $suite" >"$tmp/log" 2>&1
    if grep -q '^SKIP.*NUMA node' "$tmp/log"; then
        fail "$suite" "the guest has one node"
    elif grep -q '^guest status 0$' "$tmp/log"; then
        pass "$suite in a guest with two nodes: $(grep "^$suite: " "$tmp/log")"
    else
        fail "$suite" "in a guest with two nodes"
    fi
done

# ---- ranks of the tool on four nodes --------------------------------------------------------------

[ -x "$build/bin/sluice" ] || skip_rest "the tool is not built"
put_in_root "$build/bin/sluice"
cat >"$root/bin/ranks" <<'RANKS'
#!/bin/busybox sh
# Prints lines `JOB: rank R: ...` of two jobs, and `JOB: plan: ...` of what `sluice topo` expects. Neither job is bound by
# a launcher; the second one has two of the nodes, and two CPUs of quota.
export WORLD_SIZE LOCAL_WORLD_SIZE SLUICE_JOB SLUICE_LOG=info SLUICE_EXCHANGE_MS=60000
job() { # job NAME RANKS
    SLUICE_JOB=$1 WORLD_SIZE=$2 LOCAL_WORLD_SIZE=$2
    sluice topo --ranks "$2" | awk -v job="$1" '/^plan of/ {rank = $4}
        /^  workers? / {print job ": plan: rank " rank ": " $1, $2, "CPUs", $3, "node", $4}'
    pids=
    for rank in $(seq 0 $(($2 - 1))); do
        RANK=$rank LOCAL_RANK=$rank sluice bench 'synthetic samples=400 shape=32,32,3 | batch 16' --slots 64 \
            >/tmp/out.$rank 2>/tmp/err.$rank &
        pids="$pids $!"
    done
    for pid in $pids; do wait "$pid" || echo "$1: exit $?"; done
    for rank in $(seq 0 $(($2 - 1))); do
        grep ': warn: ' /tmp/err.$rank
        sed -n "s/.*: info: rank.* host:0, \(.*\)/$1: rank $rank: \1/p" /tmp/err.$rank
        sed -n "s/^memory of slots/$1: rank $rank: got/p" /tmp/out.$rank
    done
}
job all 4
mount -t cgroup2 none /sys/fs/cgroup
echo '+cpuset +cpu' >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/part
echo 4-7 >/sys/fs/cgroup/part/cpuset.cpus
echo 2-3 >/sys/fs/cgroup/part/cpuset.mems
echo 200000 100000 >/sys/fs/cgroup/part/cpu.max
echo $$ >/sys/fs/cgroup/part/cgroup.procs
job part 2
RANKS
chmod +x "$root/bin/ranks"
guest 4 ranks >"$tmp/guest" 2>&1

# rank_has JOB RANK CORES PLACEMENT: what the rank says of itself, and what topo has said of it before.
rank_has() {
    workers=$(echo "$4" | sed 's/CPU /CPUs /; s/, step.*//')
    check "$1: the cores of rank $2" grep -qxF "$1: rank $2: $3: $4" "$tmp/guest"
    check "$1: topo plans rank $2 so" grep -qxF "$1: plan: rank $2: $workers" "$tmp/guest"
    check "$1: the memory of rank $2 is on its node" grep -qx "$1: rank $2: got: node ${4##* }" "$tmp/guest"
}
for rank in 0 1 2 3; do
    cpus=$((2 * rank))-$((2 * rank + 1))
    rank_has all $rank "2 of 8 cores" "workers 0-1 CPUs $cpus node $rank, step CPUs $cpus, buffers node $rank"
done
part="2 of 4 cores (cpuset), quota 2.0 (cpu.max of /part)"
rank_has part 0 "$part" "worker 0 CPUs 4-5 node 2, step CPUs 4-5, buffers node 2"
rank_has part 1 "$part" "worker 0 CPUs 6-7 node 3, step CPUs 6-7, buffers node 3"
check "no rank warns" [ -z "$(grep ': warn: ' "$tmp/guest")" ]
[ "$failed" -eq 0 ] || sed 's/^/     /' "$tmp/guest"
finish
