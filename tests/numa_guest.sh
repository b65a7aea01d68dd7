#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Suites that need two NUMA nodes, in a guest of QEMU without KVM that has two nodes of two CPUs. Skipped
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
cp "$build/bin/sluice_unit" "$root/bin/sluice_unit"
ldd "$build/bin/sluice_unit" | grep -o '/[^ )]*' | while read -r library; do
    mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"
done

# guest SUITE: runs a suite in the guest, whose last lines on the serial line are its output and its status.
guest() {
    cat >"$root/init" <<INIT
#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
export TMPDIR=/tmp
/bin/sluice_unit -s $1
echo "guest status \$?"
/bin/busybox poweroff -f
INIT
    chmod +x "$root/init"
    (cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$tmp/initramfs" || return 1
    timeout 120 qemu-system-x86_64 -accel tcg -machine q35 -cpu max -smp 4,sockets=2,cores=2 -m 1024 \
        -object memory-backend-ram,id=m0,size=512M -object memory-backend-ram,id=m1,size=512M \
        -numa node,nodeid=0,cpus=0-1,memdev=m0 -numa node,nodeid=1,cpus=2-3,memdev=m1 \
        -kernel "$kernel" -initrd "$tmp/initramfs" -append "console=ttyS0 quiet panic=-1 rdinit=/init" \
        -nodefaults -display none -serial stdio -no-reboot </dev/null | tr -d '\r'
}

for suite in memory_policy node_memory; do
    guest $suite >"$tmp/log" 2>&1
    if grep -q '^SKIP.*NUMA node' "$tmp/log"; then
        fail "$suite" "the guest has one node"
    elif grep -q '^guest status 0$' "$tmp/log"; then
        pass "$suite in a guest with two nodes: $(grep "^$suite: " "$tmp/log")"
    else
        fail "$suite" "in a guest with two nodes"
    fi
done
finish
