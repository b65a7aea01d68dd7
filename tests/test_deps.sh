#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deps.sh with an apt-get of the test's own: what it prints, and how it fails. progress.sh.
# test_deps.sh; a line for each check, and last `deps: N passed, N failed, N skipped`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
title=deps
. "$here/shell_kit.sh"

# A PATH of what a small system has, as links; programs of the test's own come before.
mkdir "$tmp/bin" "$tmp/own"
for program in sh cat cut date dirname grep head kill mktemp rm sed sleep tail tr touch; do
    ln -s "$(command -v $program)" "$tmp/bin/$program"
done

# own NAME: a program of that name, from stdin.
own() {
    { echo '#!/bin/sh' && cat; } >"$tmp/own/$1"
    chmod +x "$tmp/own/$1"
}

# deps ARGUMENTS...: runs deps.sh so, all in all for a minute at most.
deps() {
    run timeout 60 env -i PATH="$tmp/own:$tmp/bin" TMPDIR="$tmp" DEPS_PATIENCE=2 PROGRESS_S=1 TEST="$tmp" \
        "$(command -v sh)" "$here/deps.sh" "$@" </dev/null
}

# Everything is there but cmake.
for program in cc make pkg-config; do own $program </dev/null; done
own id <<'PROGRAM'
echo 0
PROGRAM
one_line() { [ "$(wc -l <"$tmp/err")" -eq 1 ]; }
installs_nothing() { [ "$code" -eq 1 ] && one_line && ! grep installing "$tmp/out"; }

own apt-get <<'PROGRAM'
echo "Err:1 http://deb.debian.org/debian bookworm InRelease"
echo "  Temporary failure resolving 'deb.debian.org'"
exit 100
PROGRAM
deps
check "without a server deps.sh fails with one line and installs nothing" installs_nothing
check "the line says why" err_has "Temporary failure resolving 'deb.debian.org'"
check "the line names what is missing" err_has ': cmake$'

own apt-get <<'PROGRAM'
echo $$ >"$TEST/apt.pid"
exec sleep 1000
PROGRAM
deps
check "with a resolver that does not answer deps.sh fails with one line" installs_nothing
check "the line says how long it waited" err_has 'no answer within 2 s'
check "apt-get is ended" sh -c '! kill -0 "$(cat "$1")" 2>/dev/null' - "$tmp/apt.pid"

own apt-get <<'PROGRAM'
case "$*" in
*update*) echo "Hit:1 http://deb.debian.org/debian bookworm InRelease" ;;
*)
    echo "dlstatus:1:20.5000:Retrieving file 1 of 2 (10s remaining)"
    echo "pmstatus:cmake:45.0000:Unpacking cmake (amd64)"
    until grep -qs Unpacking "$TEST/out"; do :; done # until deps.sh has printed it
    ;;
esac
PROGRAM
deps
check "deps.sh installs what is missing" [ "$code" -eq 0 ]
check "it says so once" [ "$(grep -c '^installing: cmake$' "$tmp/out")" -eq 1 ]
check "it prints how far apt-get is without a terminal" \
    out_has '^apt-get install: [0-9]* s: 45 %: Unpacking cmake (amd64)$'

own apt-get <<'PROGRAM'
case "$*" in
*update*) echo "Hit:1 http://deb.debian.org/debian bookworm InRelease" ;;
*) echo "E: You don't have enough free space in /var/cache/apt/archives/." && exit 100 ;;
esac
PROGRAM
deps
check "an installation that fails is one line with the reason" sh -c '[ "$1" -eq 1 ] &&
    [ "$(wc -l <"$2")" -eq 1 ] && grep -q "enough free space" "$2"' - "$code" "$tmp/err"

own id <<'PROGRAM'
echo 1000
PROGRAM
deps
check "without root and sudo deps.sh installs nothing" installs_nothing
check "the line is the command for root" err_has '^run as root: apt-get install cmake$'
own sudo <<'PROGRAM'
exit 1
PROGRAM
deps
check "a sudo that would ask for a password without a terminal is not asked" installs_nothing

rm "$tmp/own/apt-get"
deps
check "without apt-get the line names what is missing" sh -c 'grep -q "^no apt-get.*: cmake$" "$1"' - "$tmp/err"

own cmake </dev/null
deps
check "when nothing is missing deps.sh prints nothing" [ "$code$(cat "$tmp/out" "$tmp/err")" = 0 ]
own pkg-config <<'PROGRAM'
[ "$2" != cunit ]
PROGRAM
deps build
check "the build alone needs no CUnit" [ "$code" -eq 0 ]
deps
check "the tests need CUnit" err_has 'libcunit1-dev'

# The kernel of numa_guest.sh is unpacked, not installed; everything else is there.
for program in cp ls mkdir uname; do ln -s "$(command -v $program)" "$tmp/bin/$program"; done
sed "s,^kernels=.*,kernels=$tmp/kernels," "$here/deps.sh" >"$tmp/deps.sh"
ln -s "$here/progress.sh" "$tmp/progress.sh"
for program in debootstrap wget unshare ip file qemu-system-x86_64 busybox; do own $program </dev/null; done
own id <<'PROGRAM'
echo 0
PROGRAM
own apt-cache <<'PROGRAM'
echo linux-image-cloud-amd64
echo "  Depends: linux-image-9.9-cloud-amd64"
PROGRAM
own apt-get <<'PROGRAM'
echo "Hit:1 http://deb.debian.org/debian bookworm InRelease"
case "$*" in
*update*) ;;
*"download linux-image-9.9-cloud-amd64") : >kernel.deb ;;
*) echo "$*" >>"$TEST/installed" ;;
esac
PROGRAM
own dpkg <<'PROGRAM'
mkdir -p "$3/boot" && : >"$3/boot/vmlinuz-9.9"
PROGRAM
kernel_is_fetched() { [ "$code" -eq 0 ] && [ -f "$tmp/kernels/vmlinuz-9.9" ] && [ ! -e "$tmp/installed" ]; }
if [ "$(uname -m)" = x86_64 ] && ! ls /boot/vmlinuz-* >/dev/null 2>&1; then
    run timeout 60 env -i PATH="$tmp/own:$tmp/bin" TMPDIR="$tmp" TEST="$tmp" "$(command -v sh)" "$tmp/deps.sh" more
    check "the kernel of the guest is unpacked, and nothing is installed" kernel_is_fetched
    run timeout 60 env -i PATH="$tmp/own:$tmp/bin" TMPDIR="$tmp" TEST="$tmp" "$(command -v sh)" "$tmp/deps.sh" more
    check "... once" [ "$code$(cat "$tmp/out" "$tmp/err")" = 0 ]
else
    skip "fetching a kernel" "this machine has one, or is not x86-64"
fi

# ---- progress.sh ----------------------------------------------------------------------------------

. "$here/progress.sh"
PROGRESS_S=1
# progresses NAME COMMAND: its output in $tmp/out, its log in $tmp/long.
progresses() {
    rm -f "$tmp/long"
    : >"$tmp/out"
    progress "$@" >"$tmp/out"
    code=$?
}
progresses build "$tmp/long" sh -c 'echo "[ 45%] Building C object a.c.o"; echo "gcc said something"
    until grep -qs Building "$1"; do :; done; exit 3' - "$tmp/out"
check "progress returns the exit code of the command" [ "$code" -eq 3 ]
check "progress prints how far a build is" out_has '^build: [0-9]* s: \[ 45%\] Building C object a.c.o$'
progresses tests "$tmp/long" sh -c 'echo " 12/160 Test  #3: alloc ... Passed"; echo "13: ok"
    until grep -qs alloc "$1"; do :; done' - "$tmp/out"
check "progress prints how far ctest is" out_has '^tests: [0-9]* s: 12/160 Test #3: alloc ... Passed$'
progresses other "$tmp/long" sh -c 'printf "a name \033[31m\n"; until grep -qs name "$1"; do :; done' - "$tmp/out"
check "progress prints no escape sequences" out_has '^other: [0-9]* s: a name \[31m$'

finish
