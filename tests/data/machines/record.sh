#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Records what /proc and /sys say of a process, twice, as one text: record.sh PID SECONDS PART...
# PARTs are cgroup, pressure, schedstat and stat; what is left out is as on a machine without it.
set -eu
pid=${1:?usage: record.sh PID SECONDS PART...}
seconds=${2:?usage: record.sh PID SECONDS PART...}
shift 2
parts=" $* "

has() {
    case $parts in *" $1 "*) return 0 ;; esac
    return 1
}

# file WHEN PATH [FILE]: FILE, of the process, becomes PATH.
file() {
    text=$(cat "${3:-/$2}" 2>/dev/null) || return 0
    printf '=== %s %s\n%s\n' "$1" "$2" "$text"
}

# The folders of the process's group of a controller ("": version 2), up to the mount point.
groups() {
    mount=$(awk -v c="$1" '{ n = split($0, half, " - "); split(half[2], of, " ") }
        c == "" ? of[1] == "cgroup2" : of[1] == "cgroup" && ("," of[3] ",") ~ ("," c ",") \
            { print $5; exit }' "/proc/$pid/mountinfo")
    group=$(awk -F: -v c="$1" 'c == "" ? $2 == "" : ("," $2 ",") ~ ("," c ",") { print $3; exit }' \
        "/proc/$pid/cgroup")
    [ -n "$mount" ] || return 0
    while [ "$group" != / ] && [ -n "$group" ]; do
        echo "$mount$group"
        group=${group%/*}
    done
    echo "$mount"
}

once() {
    file "$1" proc/uptime
    if has cgroup; then
        if [ "$1" = start ]; then
            printf '=== start proc/self/mountinfo\n'
            grep -E ' - cgroup2? ' "/proc/$pid/mountinfo"
            file start proc/self/cgroup "/proc/$pid/cgroup"
        fi
        for folder in $(groups '') $(groups cpu); do
            for name in cpu.stat cpu.max cpu.cfs_quota_us cpu.cfs_period_us; do
                file "$1" "${folder#/}/$name"
            done
        done
    fi
    if has pressure; then
        for name in cpu io memory; do
            file "$1" "proc/pressure/$name"
        done
    fi
    if has stat; then
        printf '=== %s proc/stat\n' "$1"
        grep '^cpu' /proc/stat
    fi
    if has schedstat; then
        file "$1" proc/self/task/12/schedstat "/proc/$pid/schedstat"
    fi
}

printf '# record.sh PID %s %s, on Linux %s\n' "$seconds" "$*" "$(uname -r)"
once start
sleep "$seconds"
once end
