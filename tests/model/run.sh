#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The model checker: the protocol must hold in every configuration, and every seeded mistake must be
# found, for the reason that it is seeded for. One line a check, then the counts.
#
# A line of the table is: WANT | SEARCHES | MODEL | DEFINES | NAME
#   WANT      ok, or how the mistake shows: assert (an assertion), stuck (an end that is none),
#             cycle (something that goes on for ever)
#   SEARCHES  s: all states, for assertions and ends; l: <> all_done under weak fairness
set -u
megabytes=3000 # of memory for a search, of which each core runs one; the largest takes 2600

table() {
    cat <<'END'
ok|sl|event||wake-ups: two wait, one changes
ok|sl|event|WAITERS=3 ROUNDS=1|wake-ups: three wait, one changes
ok|sl|claims||claims: two workers, two slots
ok|sl|claims|SLOTS=4 BATCHES=6 ROWS=1|claims: two workers, four slots, a row each
ok|s|claims|WORKERS=3 BATCHES=2|claims: three workers
ok|sl|claims|ROWS=3 RUN=3 BATCHES=2|claims: runs of three rows
ok|sl|claims|HELD=1|claims: the consumer holds a batch
ok|sl|claims|WORKERS=1 SLOTS=4 BATCHES=6 ROWS=1 HELD=3|claims: one worker, the consumer holds all slots but one
ok|s|claims|SLOTS=4 BATCHES=5 ROWS=1 HELD=3|claims: the consumer holds all slots but one
ok|sl|choices||choices: two workers, two choices each
ok|s|choices|WORKERS=3 CANDIDATES=3|choices: three workers
ok|sl|choices|ROWS=2 SLOTS=2 PARTS=3|choices: batches of two rows
ok|sl|choices|STOPS=1 CANDIDATES=3|choices: a stop at any moment
ok|sl|ring|WORKERS=1 BATCHES=6|one worker, one ring, the slot is lent
ok|sl|ring||two workers, one ring, the slot is lent
ok|sl|ring|SLOTS=3 BATCHES=5 CONVERTS=1 SINK=4|two workers, three slots, GetNext converts
ok|sl|ring|SLOTS=3 BATCHES=3 ROWS=1 WORKERS=3|three workers, batches complete in any order
ok|s|ring|COPIER=1|two workers, copier, the slot is lent
ok|s|ring|COPIER=1 CONVERTS=1 SINK=1|two workers, copier, GetNext converts
ok|sl|ring|COPIER=1 CONVERTS=1 WORKERS=1 ROWS=1 BATCHES=6|copier, six batches: the lists of samples
ok|s|ring|COPIER=1 SPINS=1 CONVERTS=1 BATCHES=3|two workers, copier, the device polls and yields
ok|sl|ring|COPIER=1 SPINS=1 CONVERTS=1 WORKERS=1 ROWS=1 BATCHES=5 SLOTS=3|the device yields, three slots
ok|sl|ring|SPINS=1 SINK=4|one ring, the device polls and yields
ok|sl|ring|GRAPH=1 CONVERTS=1|a launch for each step
ok|sl|ring|GRAPH=1 COPIER=1 WORKERS=1 SINK=3|a launch for each step, copier
ok|sl|ring|EVENTS=1 WORKERS=1 BATCHES=5|wake-ups, one ring
ok|s|ring|EVENTS=1|wake-ups, two workers
ok|sl|ring|EVENTS=1 COPIER=1 WORKERS=1 ROWS=1 BATCHES=3|wake-ups, copier
ok|sl|ring|EVENTS=1 WORKERS=2 WANT=2 BATCHES=6 ROWS=1|the trainer has enough: sleeping workers are closed
ok|sl|ring|ERRORS=12 EXPECT=1|two batches fail, the first that is met counts
ok|sl|ring|ERRORS=12 EXPECT=1 COPIER=1 ROWS=1|two batches fail, copier
ok|sl|ring|COPIER=1 COPY_ERROR=3 EXPECT=2 WORKERS=1|a copy fails
ok|s|ring|COPIER=1 COPY_ERROR=2 ERRORS=8 EXPECT=1 ROWS=1|a copy fails, and a later batch
ok|s|ring|INTRUDER=1 CONVERTS=1|stop or close at any moment, one ring
ok|sl|ring|INTRUDER=1 COPIER=1 WORKERS=1 ROWS=1 BATCHES=3|stop or close at any moment, copier
ok|sl|ring|INTRUDER=1 EVENTS=1 WORKERS=1 ROWS=1 BATCHES=3|stop or close at any moment, wake-ups
ok|sl|ring|INTRUDER=1 GRAPH=1 WORKERS=1 ROWS=1 BATCHES=3|stop or close at any moment, graph
ok|sl|rewind||rewind: two workers, two slots
ok|s|rewind|ROWS=2|rewind: two rows of a batch
ok|sl|rewind|SLOTS=3 ROUND=1 REWINDS=3|rewind: three times, rounds shorter than the slots
ok|sl|rewind|PAUSES=1 REWINDS=1|rewind of a paused engine
ok|s|rewind|STREAM=1 PAUSES=1 ROWS=2|rewind of a stream
ok|s|rewind|STREAM=1 ROUND=3 SLOTS=1|rewind of a stream, rows claimed before there is room
ok|sl|rewind|STREAM=1 PAUSES=1 REWINDS=1|rewind of a stream: nobody waits for ever
stuck|s|event|BUG_LATE_PREPARE|mistake: the condition is tested before the wait is announced
stuck|s|event|BUG_NO_EPOCH|mistake: a wake-up that does not move the epoch
stuck|s|event|BUG_NO_FENCE|mistake: waiters are looked for before the change can be seen
stuck|s|event|BUG_WAKE_ONE|mistake: one of several is woken
stuck|s|claims|BUG_LATE_PREPARE|mistake: room is looked for before the wait is announced
stuck|s|claims|BUG_PATIENCE BUG_HELD|mistake: a worker asks for more slots than there are, and the consumer wakes none
cycle|l|claims|BUG_SPARE_LAST|mistake: rows that were given back wait for room
stuck|s|claims|BUG_ONE_CLOSE WORKERS=4 ROWS=1 BATCHES=2|mistake: closing wakes one worker
stuck|s|claims|BUG_HELD WORKERS=1 SLOTS=4 BATCHES=6 ROWS=1 HELD=3|mistake: a consumer that holds batches wakes no worker
assert|s|claims|BUG_TWICE|mistake: rows that were given back are filled twice
stuck|s|choices|BUG_SILENT|mistake: a worker that makes choices of others wakes none
stuck|s|choices|BUG_ONE|mistake: a report makes one choice at most
stuck|s|choices|BUG_LATE_PREPARE|mistake: the choice is looked at before the wait is announced
stuck|s|choices|BUG_LAST_FIRST|mistake: a worker writes the rows of its last choice first
assert|s|choices|BUG_ANY_ORDER|mistake: choices are made as they are reported
stuck|s|rewind|BUG_LATE_PREPARE|mistake: the rewind is looked for before the wait is announced
stuck|s|rewind|BUG_SILENT|mistake: a rewind wakes no worker
stuck|s|rewind|BUG_SHORT_LIMIT SLOTS=3|mistake: abandoned batches count as batches of the round
stuck|s|rewind|BUG_PAUSED PAUSES=1|mistake: a paused worker does not fill abandoned batches
assert|s|rewind|BUG_CLAIMED_BASE|mistake: the base is behind the claimed rows, not the slots
assert|s|rewind|BUG_EARLY_BASE|mistake: the base is read before the room for the row
assert|s|rewind|BUG_ROOM_BASE STREAM=1 ROUND=3 SLOTS=1|mistake: the base is before claimed rows of a stream
assert|s|ring|BUG_WORD_FIRST COPIER=1|mistake: the word comes before the data
assert|s|ring|BUG_STAGING_FIRST COPIER=1|mistake: staging is given back before it is copied
assert|s|ring|BUG_RELEASE_FIRST CONVERTS=1|mistake: a slot is given back before its last row is read
assert|s|ring|BUG_LENT|mistake: a lent slot is given back before the step
assert|s|ring|BUG_WINDOW|mistake: the producer is allowed a slot too many
assert|s|ring|BUG_SAMPLES COPIER=1 CONVERTS=1 WORKERS=1 ROWS=1 BATCHES=6|mistake: a list of samples too few
stuck|s|ring|BUG_COUNTER|mistake: the row counter is not reset
assert|s|ring|BUG_FIRST_ROW|mistake: the first row publishes, not the last
stuck|s|ring|BUG_ENDLESS COPIER=1 SPINS=1|mistake: the device waits for ever for a copy that it blocks
assert|s|ring|BUG_YIELD_SKIPS SPINS=1|mistake: a yield skips a batch
cycle|l|ring|BUG_NO_LOOK SPINS=1 WORKERS=1 BATCHES=3|mistake: time is up before the first look
stuck|s|ring|BUG_LATE_PREPARE EVENTS=1|mistake: the same late test, in the queue
stuck|s|ring|BUG_SILENT_CLOSE EVENTS=1 WANT=2 BATCHES=6|mistake: closing wakes nobody
assert|s|ring|BUG_END_FLAG|mistake: the end overtakes batches that are not complete
assert|s|ring|BUG_FIRST_ERROR ERRORS=12 EXPECT=1|mistake: the error that came first is kept
assert|s|ring|BUG_SKIP_ERROR ERRORS=4 EXPECT=1 ROWS=1|mistake: training goes on after an error
END
}

# search LETTER WANT: searches in the current folder; prints ok, assert, stuck, cycle or broken.
search() {
    optimise=-O0 # a mistake is found at once
    [ "$2" = ok ] && optimise=-O1
    only=""
    [ "$2" = assert ] && only=-E # looks past ends that are none
    if [ "$1" = s ]; then
        gcc $optimise -w -DNOCLAIM -DSAFETY -DMEMLIM=$megabytes -o pan_s pan.c &&
            ./pan_s $only -m200000 >out.s 2>&1
    else
        gcc $optimise -w -DNFAIR=3 -DMEMLIM=$megabytes -o pan_l pan.c &&
            ./pan_l -a -f -m200000 >out.l 2>&1
    fi
    case $(cat "out.$1" 2>/dev/null) in
    *'assertion violated'*) echo assert ;;
    *'invalid end state'*' (at depth'*) echo stuck ;;
    *'acceptance cycle'*' (at depth'*) echo cycle ;;
    *'Search not completed'* | *'depth too small'*) echo broken ;; # states are left that were not searched
    *'errors: 0'*) echo ok ;;
    *) echo broken ;;
    esac
}

# one LINE: a line of the table.
one() {
    want=$(echo "$1" | cut -d'|' -f1)
    searches=$(echo "$1" | cut -d'|' -f2 | sed 's/./& /g')
    model=$(echo "$1" | cut -d'|' -f3)
    defines=$(echo "$1" | cut -d'|' -f4 | sed 's/[A-Z]/ -D&/; s/ \([A-Z]\)/ -D\1/g')
    name=$(echo "$1" | cut -d'|' -f5)
    source=$(cd "$(dirname "$0")" && pwd)/$model.pml
    folder=$(mktemp -d)
    cd "$folder" || exit 1
    result=PASS
    got=""
    # shellcheck disable=SC2086
    if spin $defines -a "$source" >out.spin 2>&1; then
        for letter in $searches; do
            found=$(search "$letter" "$want")
            got="$got $found"
            [ "$found" = "$want" ] || result=FAIL
        done
    else
        got=" no model: $(head -n 1 out.spin)"
        result=FAIL
    fi
    states=$(cat out.s out.l 2>/dev/null | sed -n 's/ *\([0-9.e+]*\) states, stored.*/\1/p' | head -n 1)
    echo "$result $name:$got, ${states:-0} states"
    cd / && rm -rf "$folder"
}

if [ "${1-}" = one ]; then
    one "$2"
    exit 0
fi
for tool in spin gcc; do
    if ! command -v $tool >/dev/null; then
        echo "SKIP model: no $tool here; apt-get install $tool"
        echo "model: 0 passed, 0 failed, 1 skipped"
        exit 0
    fi
done
lines=$(mktemp)
table | xargs -d '\n' -n 1 -P "$(nproc)" sh "$0" one | tee "$lines"
passed=$(grep -c '^PASS' "$lines")
failed=$(($(table | wc -l) - passed))
rm -f "$lines"
echo "model: $passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
