/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims of rows (dataset/row_claims.h, dataset/engine_work.c) and the wait for room
 * (sli_queue_await_room(), queue_made_room()): workers claim runs of rows of batches that have a
 * slot, give back what is left of a run behind a slow row, and sleep where there is no room. What
 * the consumer releases wakes one of them, once there is enough to do. The consumer may hold
 * batches while it waits for the next one; if that one is late, it wakes a worker for any free slot
 * (sli_queue_starve()).
 *
 * What must hold, of every interleaving: each row is filled once, END comes behind the last batch,
 * and no thread waits for ever. Whether a worker wakes others for what it leaves to them does not
 * matter for that, so it may or may not.
 *
 *   -DWORKERS=n -DSLOTS=n -DBATCHES=n -DROWS=n (of a batch) -DRUN=n (rows, at most)
 *   -DHELD=n             batches that the consumer may hold while it waits, fewer than SLOTS
 *   -DBUG_LATE_PREPARE   room is looked for before the wait is announced, and not again
 *   -DBUG_PATIENCE       a worker may ask for more slots to be free than there are
 *   -DBUG_SPARE_LAST     rows that were given back are claimed only where there is room for others
 *   -DBUG_ONE_CLOSE      closing wakes one of several
 *   -DBUG_TWICE          rows that were given back stay with their worker, too
 *   -DBUG_HELD           a consumer that holds batches wakes no worker
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef BATCHES
#define BATCHES 3
#endif
#ifndef ROWS
#define ROWS 2
#endif
#ifndef RUN
#define RUN 2
#endif

#ifndef HELD
#define HELD 0
#endif

#define ALL (BATCHES * ROWS) /* END is claimed as one more row */
#ifdef BUG_PATIENCE
#define MOST_PATIENCE (SLOTS + 1)
#else
#define MOST_PATIENCE (SLOTS / 2)
#endif

byte next;        /* rows given out */
byte spare;       /* rows that were given back: the first, */
byte spare_count; /* and how many; 0: none. One word there */
byte filled[ALL];
byte rows_done[BATCHES];
bool published[BATCHES + 1];
byte consumed;
byte room_at; /* `consumed` from which on a worker is woken */
byte room_first; /* `consumed` from which on the slot that it waits for is free */
byte waiters;
byte epoch;
byte sleepers; /* a bit each */
byte workers_left = WORKERS;
bool closed;
bool all_done;

#define SEQ(row)   ((row) / ROWS + 1)
#define HAS_ROOM   (SEQ(next) <= consumed + SLOTS)
#define GOES_ON    (HAS_ROOM || spare_count > 0 || next > ALL || closed)

inline wake_one()
{
    epoch++;
    if
    :: sleepers != 0 ->
        atomic {
            byte i;
            for (i : 0 .. WORKERS - 1) { /* any of them */
                if
                :: (sleepers & (1 << i)) != 0 -> sleepers = sleepers & ~(1 << i); break
                :: (sleepers & (1 << i)) != 0 && (sleepers >> (i + 1)) != 0
                :: (sleepers & (1 << i)) == 0
                fi
            }
            i = 0
        }
    :: else
    fi
}

inline wake_all()
{
    epoch++;
    sleepers = 0
}

/* row_claims_take(): first, count; count 0: no room; first > ALL: nothing is left. */
inline take()
{
    atomic {
        count = 0;
        if
#ifdef BUG_SPARE_LAST
        :: spare_count > 0 && (HAS_ROOM || next > ALL) ->
#else
        :: spare_count > 0 ->
#endif
            first = spare;
            count = 1;
            spare++;
            spare_count--;
            if
            :: spare_count == 0 -> spare = 0
            :: else
            fi
        :: else ->
            first = next;
            if
            :: next <= ALL && HAS_ROOM ->
                count = 1;
                do /* a run of one batch */
                :: count < RUN && next + count < ALL && (next + count) % ROWS != 0 -> count++
                :: break
                od;
                next = next + count
            :: else
            fi
        fi
    }
}

/* sli_queue_await_room(), once through its loop. */
inline await_room()
{
    atomic {
        select(patience : 1 .. (MOST_PATIENCE > 1 -> MOST_PATIENCE : 1));
        room_first = SEQ(next) - SLOTS;
        room_at = room_first + patience - 1;
        patience = 0
    }
    if
    :: GOES_ON
    :: else ->
        waiters++;
        ticket = epoch;
        if
#ifndef BUG_LATE_PREPARE
        :: GOES_ON
        :: else ->
#else
        :: true ->
#endif
            atomic {
                if
                :: epoch == ticket -> sleepers = sleepers | (1 << me)
                :: else
                fi
            }
            (sleepers & (1 << me)) == 0
        fi;
        waiters--
    fi;
    ticket = 0
}

proctype worker(byte me)
{
    byte first;
    byte count;
    byte row;
    byte done;
    byte ticket;
    byte patience;

    do
    :: take();
       if
       :: closed || (count == 0 && first > ALL) -> break
       :: !closed && count == 0 && first <= ALL -> await_room()
       :: !closed && count > 0 && first == ALL -> published[BATCHES] = true; break
       :: !closed && count > 0 && first < ALL ->
           if
           :: waiters > 0 -> wake_one() /* others, for what is left */
           :: true
           fi;
           row = first;
           done = 0;
           do
           :: done < count ->
               assert(filled[row + done] == 0);
               filled[row + done] = 1;
               done++;
               if
               :: done < count && spare_count == 0 -> /* a slow row: one compare and exchange */
                   atomic {
                       if
                       :: spare_count == 0 ->
                           spare = row + done;
                           spare_count = count - done;
#ifndef BUG_TWICE
                           count = done
#endif
                       :: else
                       fi
                   }
                   if
                   :: waiters > 0 -> wake_one()
                   :: true
                   fi
               :: true
               fi
           :: else -> break
           od;
           atomic {
               rows_done[SEQ(row) - 1] = rows_done[SEQ(row) - 1] + done;
               assert(rows_done[SEQ(row) - 1] <= ROWS);
               if
               :: rows_done[SEQ(row) - 1] == ROWS -> published[SEQ(row) - 1] = true
               :: else
               fi
           }
       fi;
       d_step {
           first = 0;
           count = 0;
           row = 0;
           done = 0
       }
    od;
    atomic {
        first = 0;
        count = 0;
        workers_left--
    }
}

/* queue_made_room() */
inline release(to)
{
    consumed = to;
    if
    :: waiters > 0 ->
        if
        :: consumed >= room_at -> wake_one()
        :: else
        fi
    :: else
    fi
}

/* sli_queue_starve() */
inline starve()
{
    if
    :: waiters > 0 && consumed >= room_first && consumed < room_at -> wake_one()
    :: else
    fi
}

active proctype consumer()
{
    byte seq = 1;

    do
    :: true ->
        if
        :: published[seq - 1]
        :: !published[seq - 1] ->
#ifndef BUG_HELD
            starve();
#endif
            published[seq - 1]
        fi;
        if
        :: seq == BATCHES + 1 -> break
        :: else
        fi;
        do
        :: consumed < seq -> release(consumed + 1)
        :: seq - consumed <= HELD -> break
        od;
        seq++
    od;
    closed = true;
#ifdef BUG_ONE_CLOSE
    wake_one();
#else
    wake_all();
#endif
    workers_left == 0;
    assert(next > ALL && spare_count == 0);
    all_done = true
}

init
{
    byte i;

    atomic {
        for (i : 0 .. WORKERS - 1) {
            run worker(i)
        }
    }
}

ltl live { <> all_done }
