/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choices of filters (dataset/deal/collected_rows.c: make_choices(), collected_rows_take(),
 * engine_collected.c): workers take candidates in order, report whether they are kept, and go on,
 * with up to PARTS choices each. The worker that reports the last missing choice makes all that can
 * be made, in the order of the candidates, which assigns rows. Each worker writes the rows of its
 * own choices, the first one first, and waits for the slot of a row's batch. A worker that can
 * neither take a candidate nor write a row sleeps.
 *
 * What must hold, of every interleaving and every choice: rows are in the order of the candidates,
 * each is written once, and no thread waits for ever, also if the run is stopped.
 *
 *   -DWORKERS=n -DCANDIDATES=n -DPARTS=n -DSLOTS=n -DROWS=n (of a batch)
 *   -DSTOPS              a stop at any moment
 *   -DBUG_SILENT         a worker that makes choices of others wakes none
 *   -DBUG_ONE            a report makes one choice at most
 *   -DBUG_LATE_PREPARE   the choice is looked at before the wait is announced, and not again
 *   -DBUG_ANY_ORDER      choices are made as they are reported
 *   -DBUG_LAST_FIRST     a worker writes the rows of its last choice first
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef CANDIDATES
#define CANDIDATES 4
#endif
#ifndef PARTS
#define PARTS 2
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef ROWS
#define ROWS 1
#endif

#define NO_ROW 255

byte next;    /* the next candidate to take */
byte chosen;  /* candidates whose choice is made */
byte rows;    /* rows assigned */
byte written[CANDIDATES]; /* of a row */
byte done[CANDIDATES];    /* rows of a batch that are written */
byte row_of[CANDIDATES];
bool reported[CANDIDATES];
bool keeps[CANDIDATES];
bool made[CANDIDATES];
byte consumed; /* batches */
byte epoch;
byte waiters;
byte sleepers; /* a bit each */
byte workers_left = WORKERS;
bool stopped;
bool all_done;

inline notify()
{
    epoch++;
    sleepers = 0
}

/* kept_choices_make(); under the lock */
inline make()
{
    any = false;
    do
    :: stopped && i < CANDIDATES ->
        if
        :: reported[i] && !made[i] -> made[i] = true; row_of[i] = NO_ROW; any = true
        :: else
        fi;
        i++
#ifdef BUG_ANY_ORDER
    :: !stopped && i < CANDIDATES ->
        if
        :: reported[i] && !made[i] ->
#else
    :: !stopped && i < CANDIDATES && chosen < CANDIDATES ->
        i = chosen;
        if
        :: reported[i] && !made[i] ->
#endif
            made[i] = true;
            any = true;
            chosen++;
            if
            :: keeps[i] -> row_of[i] = rows; rows++
            :: else -> row_of[i] = NO_ROW
            fi
#ifdef BUG_ANY_ORDER
        :: else
        fi;
        i++
#else
        :: else -> break
        fi
#ifdef BUG_ONE
        ;
        break
#endif
#endif
    :: else -> break
    od;
    i = 0
}

/* Worker's part number k: */
#ifdef BUG_LAST_FIRST
#define FIRST (parts[count - 1])
#else
#define FIRST (parts[0])
#endif

#define GOES_ON (stopped || (count > 0 && made[FIRST]) || (count < PARTS && next < CANDIDATES) || \
                 (count == 0 && chosen == CANDIDATES))

proctype worker(byte me)
{
    byte parts[PARTS];
    byte count;
    byte c;
    byte i;
    byte ticket;
    bool any;
    bool runs = true;

    do
    :: runs && count > 0 && made[FIRST] -> /* KEPT_CHOSEN: write its row */
        c = FIRST;
        if
        :: row_of[c] != NO_ROW ->
            (row_of[c] / ROWS < consumed + SLOTS) || stopped; /* the slot of its batch */
            if
            :: stopped -> runs = false
            :: else ->
                atomic {
                    written[row_of[c]]++;
                    assert(written[row_of[c]] == 1);
                    done[row_of[c] / ROWS]++
                }
            fi
        :: else
        fi;
        atomic {
            count--;
#ifndef BUG_LAST_FIRST
            i = 0;
            do
            :: i < count -> parts[i] = parts[i + 1]; i++
            :: else -> break
            od;
#endif
            i = 0;
            c = 0
        }
    :: runs && !(count > 0 && made[FIRST]) ->
        atomic {
            if
            :: stopped || (count == 0 && chosen == CANDIDATES) -> runs = false
            :: !stopped && count < PARTS && next < CANDIDATES -> /* take */
                c = next;
                next++
            :: else -> c = NO_ROW
            fi
        }
        if
        :: !runs
        :: runs && c != NO_ROW -> /* the filters; then kept_rows_choose() */
            atomic {
                if
                :: keeps[c] = true
                :: keeps[c] = false
                fi;
                reported[c] = true;
                parts[count] = c;
                count++;
                c = 0;
                make()
            }
            if
#ifndef BUG_SILENT
            :: any -> atomic { notify() }
#endif
            :: else
            fi;
            any = false
        :: runs && c == NO_ROW -> /* call_until() */
            c = 0;
            atomic {
                waiters++;
                ticket = epoch
            }
            if
#ifndef BUG_LATE_PREPARE
            :: GOES_ON
#endif
            :: else ->
                atomic {
                    if
                    :: epoch == ticket -> sleepers = sleepers | (1 << me)
                    :: else
                    fi
                }
                (sleepers & (1 << me)) == 0
            fi;
            waiters--;
            ticket = 0
        fi
    :: !runs -> break
    od;
    workers_left--
}

active proctype consumer()
{
    do
    :: consumed < CANDIDATES && done[consumed] == ROWS -> consumed++
    :: workers_left == 0 -> break
    od;
    all_done = true
}

/* Rows are in the order of the candidates. */
active proctype checker()
{
    byte i;
    byte row;

    all_done;
    atomic {
        do
        :: i < CANDIDATES && !stopped ->
            assert(made[i]);
            if
            :: keeps[i] -> assert(row_of[i] == row && written[row] == 1); row++
            :: else -> assert(row_of[i] == NO_ROW)
            fi;
            i++
        :: else -> break
        od
    }
}

#ifdef STOPS
active proctype stopper()
{
    byte i;
    bool any;

    atomic {
        stopped = true;
        make()
    }
    atomic { notify() }
}
#endif

init
{
    byte k;

    atomic {
        for (k : 0 .. WORKERS - 1) {
            run worker(k)
        }
    }
}

ltl live { <> all_done }
