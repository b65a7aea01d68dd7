#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bare.sh where it cannot do its work, with an unshare, a debootstrap and a mirror of the test's own: it skips
# with the reason, at once. test_bare.sh; a line for each check, and last `bare_skip: N passed, N failed, N skipped`.
set -u
here=$(cd "$(dirname "$0")" && pwd)
title=bare_skip
. "$here/shell_kit.sh"
mkdir "$tmp/own"

# own NAME: a program of that name, from stdin, before those of the system.
own() {
    { echo '#!/bin/sh' && cat; } >"$tmp/own/$1"
    chmod +x "$tmp/own/$1"
}

# skips NAME REASON ARGUMENTS...: bare.sh ends well, has passed and failed nothing, and gives the reason.
skips() {
    name=$1
    reason=$2
    shift 2
    ends "bare.sh is skipped $name" 0 env PATH="$tmp/own:$PATH" TMPDIR="$tmp" TEST="$tmp" sh "$here/bare.sh" "$@"
    check "... which says why" out_has "^SKIP bare: README.md WAS NOT TRIED on .*: $reason"
    check "... and counts it" out_has '^bare: [0-9]* passed, 0 failed, 1 skipped$'
}

own id <<'PROGRAM'
echo 1000
PROGRAM
skips "without root" 'chroot needs root$'
own id <<'PROGRAM'
echo 0
PROGRAM
own debootstrap <<'PROGRAM'
echo "E: Tried to extract package, but tar failed"
exit 1
PROGRAM
own unshare <<'PROGRAM'
exit 1
PROGRAM
own wget <<'PROGRAM'
exit 4
PROGRAM
skips "without the permission to mount" 'this container may not mount$'
own unshare <<'PROGRAM'
exit 0
PROGRAM
export DEBIAN_MIRROR=http://127.0.0.1:1/debian
skips "without a mirror" "$DEBIAN_MIRROR does not answer$" trixie
skips "without time" 'the budget of 0 s is spent$' --budget 0 trixie bookworm
own wget <<'PROGRAM'
exit 0
PROGRAM
skips "where debootstrap fails" 'debootstrap: E: Tried to extract package, but tar failed$' trixie

# A bare system, in which nothing can be run.
own debootstrap <<'PROGRAM'
mkdir -p "$3/etc/dpkg/dpkg.cfg.d" "$3/etc/apt/apt.conf.d" "$3/root"
PROGRAM
own unshare <<'PROGRAM'
case "$*" in *tmpfs\ tmpfs\ "$TMPDIR"*) exit 0 ;; esac
echo "mount: permission denied" >&2
exit 1
PROGRAM
skips "where a chroot cannot be mounted" 'this container may not chroot and mount: mount: permission denied$' trixie

# A mirror that answers until the first line of the README has failed.
own unshare <<'PROGRAM'
case "$*" in *TIMEFORMAT*) touch "$TEST/offline" && exit 100 ;; esac
PROGRAM
own wget <<'PROGRAM'
[ ! -e "$TEST/offline" ]
PROGRAM
skips "when the mirror stops answering" "$DEBIAN_MIRROR no longer answers$" trixie

finish
