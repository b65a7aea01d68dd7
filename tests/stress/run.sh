#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# PROGRAM.c under the thread sanitizer: as it is, where nothing may be found, and with each of its
# mistakes, where something must be. run.sh [stress_ring|stress_getnext]. stress_queue is run by
# ctest, or by hand:
#
#     build/dev/bin/stress_queue 5000      some minutes instead of seconds
set -u
cd "$(dirname "$0")" || exit 1
program=${1:-stress_ring}
cc=${CC:-cc}
flags="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -I ../../queue/internal -I ../../queue
    -I ../../runtime/include -I ../../runtime/internal -pthread"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0
failed=0

# build FLAG...: the program as "run" in the folder.
build() {
    # shellcheck disable=SC2086
    $cc $flags "$@" -o "$folder/run" "$program.c" -lm
}

# check NAME WANT: WANT is clean, or found: by the sanitizer (66) or by a check (1). Threads may by
# chance never come between in a run: a mistake has five runs to show.
check() {
    for _ in 1 2 3 4 5; do
        TSAN_OPTIONS="halt_on_error=1 exitcode=66 atexit_sleep_ms=0" "$folder/run" >"$folder/log" 2>&1
        code=$?
        [ "$2-$code" = found-0 ] || break
    done
    case $2-$code in
    clean-0 | found-1 | found-66)
        result=PASS
        passed=$((passed + 1))
        ;;
    *)
        result=FAIL
        failed=$((failed + 1))
        ;;
    esac
    echo "$result $1: $(grep -m 1 -E 'data race|batch|nothing' "$folder/log")"
    [ $result = PASS ] || tail -n 30 "$folder/log"
}

# The program as it is, then its mistakes in the order of their numbers.
list_of_builds() {
    case $program in
    stress_ring)
        cat <<'END'
the protocol, under the thread sanitizer
mistake: the word comes before the batch
mistake: a slot is given back before its last row is read
mistake: the producer is allowed a slot too many
mistake: the row counter hands nothing over
mistake: the row counter is not reset
mistake: the first row publishes, not the last
mistake: staging is given back before it is copied
mistake: the words are stored without release
mistake: the words are loaded without acquire
END
        ;;
    stress_getnext)
        cat <<'END'
the kernels' bodies, under the thread sanitizer
mistake: a block votes before it has read
mistake: the votes hand nothing over
mistake: the slot is released by the last block but one
mistake: the next batch is looked for beside the gather
mistake: the word comes before the batch
mistake: the words are stored without release
mistake: the words are loaded without acquire
END
        ;;
    esac
}

echo 'int main(void) { return 0; }' >"$folder/probe.c"
if ! $cc -fsanitize=thread -o "$folder/probe" "$folder/probe.c" 2>/dev/null ||
    ! "$folder/probe" 2>/dev/null; then
    echo "SKIP $program: $cc has no thread sanitizer that runs here"
    echo "$program: 0 passed, 0 failed, 1 skipped"
    exit 0
fi
if ! build -O2; then
    echo "$program: 0 passed, 1 failed, 0 skipped"
    exit 1
fi
check "optimised" clean
list_of_builds >"$folder/builds"
bug=0
while IFS= read -r name; do
    want=found
    [ $bug = 0 ] && want=clean
    if build -O1 -g -fsanitize=thread -DBUG=$bug; then
        check "$name" $want
    else
        failed=$((failed + 1))
    fi
    bug=$((bug + 1))
done <"$folder/builds"
echo "$program: $passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ] && [ $bug -gt 1 ]
