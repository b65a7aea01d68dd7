/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event count of runtime/internal/event_int.h: whoever waits for `level` to reach a number is
 * woken, whatever the interleaving. Spin's memory is sequentially consistent, as the four accesses
 * that matter are declared to be; what would happen if they were not is BUG_NO_FENCE.
 *
 *   -DWAITERS=n -DROUNDS=n
 *   -DBUG_LATE_PREPARE   the condition is tested before the wait is announced, and not again
 *   -DBUG_NO_EPOCH       notify does not move the epoch
 *   -DBUG_NO_FENCE       notify looks for waiters before its change can be seen
 *   -DBUG_WAKE_ONE       notify wakes one of several
 */
#ifndef WAITERS
#define WAITERS 2
#endif
#ifndef ROUNDS
#define ROUNDS 3
#endif

byte level;    /* the condition: level >= what a waiter wants */
byte epoch;    /* the futex word */
byte waiters;  /* announced */
byte sleepers; /* who sleeps on the futex, a bit each */
byte woken;    /* waiters that have come to their end */
bool all_done;

/* FUTEX_WAIT: sleeps only if the word still is the ticket, which the kernel tests in one piece. */
inline futex_wait(me, ticket)
{
    atomic {
        if
        :: epoch == ticket -> sleepers = sleepers | (1 << me)
        :: else
        fi
    }
    (sleepers & (1 << me)) == 0
}

inline futex_wake()
{
    atomic {
#ifdef BUG_WAKE_ONE
        if
        :: (sleepers & 1) != 0 -> sleepers = sleepers & ~1
        :: else -> sleepers = 0
        fi
#else
        sleepers = 0
#endif
    }
}

/* sli_event_await(). */
inline await(me, wanted)
{
    do
    :: level >= wanted -> break
    :: else ->
        waiters++;
        ticket = epoch;
#ifndef BUG_LATE_PREPARE
        if
        :: level >= wanted -> waiters--; break
        :: else
        fi;
#endif
        futex_wait(me, ticket);
        waiters--
    od
}

proctype waiter(byte me)
{
    byte ticket;
    byte wanted = 1;

    do
    :: wanted <= ROUNDS -> await(me, wanted); wanted++
    :: else -> break
    od;
    woken++
}

/* Changes the condition, then sli_event_notify(). */
active proctype changer()
{
    bool seen;

    do
    :: level < ROUNDS ->
#ifdef BUG_NO_FENCE
        seen = waiters > 0;
        level++;
        epoch++;
#else
        level++;
#ifndef BUG_NO_EPOCH
        epoch++;
#endif
        seen = waiters > 0;
#endif
        if
        :: seen -> futex_wake()
        :: else
        fi
    :: else -> break
    od
}

init
{
    byte i;

    atomic {
        for (i : 0 .. WAITERS - 1) {
            run waiter(i)
        }
    }
    woken == WAITERS;
    assert(waiters == 0);
    all_done = true
}

ltl live { <> all_done }
