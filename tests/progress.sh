# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Progress of long commands, with and without a terminal. Sourced.

# progress_line LOG: how far the command is that writes LOG: the newest line by which apt-get, a build
# or ctest says so, else the newest line.
progress_line() {
    progress_newest=$(tail -n 2000 "$1" | sed -n \
        -e 's/^[dp][lm]status:[^:]*:\([0-9]*\)[.0-9]*:\(.*\)/\1 %: \2/p' -e '/^ *\[ *[0-9]*%/p' \
        -e '/^ *\[[0-9]*\/[0-9]*\]/p' -e '/^ *[0-9]*\/[0-9]* Test /p' | tail -n 1)
    # counts would be taken for those of a log of tests
    [ -n "$progress_newest" ] || progress_newest=$(tail -n 50 "$1" | grep . | grep -v ' passed, ' | tail -n 1)
    printf '%s' "$progress_newest" | tr -cd '[:print:]' | tr -s ' ' | sed 's/^ //' | cut -c 1-100
}

# progress_watch NAME LOG: prints a line every PROGRESS_S seconds (10), until it is killed or the script
# has ended.
progress_watch() {
    progress_began=$(date +%s)
    while sleep "${PROGRESS_S:-10}" >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
        echo "$1: $(($(date +%s) - progress_began)) s: $(progress_line "$2")"
    done
}

# progress NAME LOG COMMAND...: runs the command with its output appended to LOG, and returns its exit
# code. Prints a line every 10 s: NAME, the seconds so far, how far the command is.
progress() {
    progress_log=$2
    : >>"$progress_log"
    progress_watch "$1" "$progress_log" &
    progress_watcher=$!
    shift 2
    progress_code=0
    "$@" >>"$progress_log" 2>&1 || progress_code=$?
    kill "$progress_watcher" 2>/dev/null || true
    wait "$progress_watcher" 2>/dev/null || true
    return $progress_code
}
