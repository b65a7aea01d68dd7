/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sli_engine_rewind() (dataset/engine/engine.c) against the workers (engine_work.c) and the consumer
 * (sluice_channel_rewind()): workers make ROUND batches behind `base`, then wait for a rewind. A
 * rewind moves `base` behind every batch of which a row may be claimed; the consumer waits for the
 * batches up to it and discards them, while the workers fill their rows with nothing.
 *
 * What must hold, of every interleaving: no batch behind the base has a row of the round before, no
 * round has more than ROUND batches, a paused engine can be rewound, and no thread waits for ever.
 *
 *   -DWORKERS=n -DSLOTS=n -DROUND=n (batches) -DREWINDS=n -DROWS=n (of a batch)
 *   -DPAUSES             the consumer may pause the workers, and resumes them after the rewind
 *   -DSTREAM             rows are claimed under a lock, with their samples, before there is room
 *   -DBUG_LATE_PREPARE   the rewind is looked for before the wait is announced, and not again
 *   -DBUG_SILENT         a rewind wakes nobody
 *   -DBUG_SHORT_LIMIT    the batches that a rewind abandons count as batches of the round
 *   -DBUG_CLAIMED_BASE   the base is behind the claimed rows, not behind the slots
 *   -DBUG_EARLY_BASE     a worker reads the base before it looks for room
 *   -DBUG_PAUSED         a paused worker does not look for the base
 *   -DBUG_ROOM_BASE      of a stream: the base is behind the slots, not behind the claimed rows
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef ROUND
#define ROUND 2
#endif
#ifndef REWINDS
#define REWINDS 2
#endif
#ifndef ROWS
#define ROWS 1
#endif

#define SEQ(row)  ((row) / ROWS + 1)
#define SLOT(seq) (((seq) - 1) % SLOTS)
#define MADE(b)   ((b) + 1) /* of the round that begins behind base b; 0: abandoned */

byte next;  /* rows claimed */
byte base;
byte limit = ROUND;
byte consumed;
byte rows_done[SLOTS];
byte rows[SLOTS * ROWS]; /* what each was filled with */
byte header[SLOTS];
byte ready[SLOTS]; /* the last batch that was published there */
byte workers_left = WORKERS;
bool paused;
bool closed;
bool all_done;

/* The event `resumed`, and that of room, whose workers are all woken by each release here: whom a
 * release wakes is in claims.pml. */
byte epoch;
byte sleepers; /* a bit each */

#ifdef STREAM
bool locked;
byte stream_base;
byte stream_limit = ROUND;
#endif

inline notify()
{
    atomic {
        epoch++;
        sleepers = 0
    }
}

/* Waits in `resumed` until the condition holds. */
#ifdef BUG_LATE_PREPARE
#define LOOK_AGAIN(condition) false
#else
#define LOOK_AGAIN(condition) (condition)
#endif
#define AWAIT(condition)                                                       \
    do                                                                         \
    :: condition -> break                                                      \
    :: else ->                                                                 \
        ticket = epoch;                                                        \
        if                                                                     \
        :: LOOK_AGAIN(condition) -> break                                      \
        :: else ->                                                             \
            atomic {                                                           \
                if                                                             \
                :: epoch == ticket -> sleepers = sleepers | (1 << me)          \
                :: else                                                        \
                fi                                                             \
            }                                                                  \
            (sleepers & (1 << me)) == 0                                        \
        fi                                                                     \
    od;                                                                        \
    ticket = 0

/* The base that a row or a header of batch seq is made with. */
#ifdef BUG_EARLY_BASE
#define BASE early
#else
#define BASE base
#endif
inline fill(what, content)
{
    atomic {
        assert(seq <= consumed + SLOTS && ready[SLOT(seq)] < seq);
        if
        :: seq > BASE -> assert(closed || seq <= BASE + ROUND); what = content
        :: else -> what = 0
        fi
    }
}

inline claim_row()
{
    row = 255;
#ifdef STREAM
    atomic { !locked -> locked = true }
    seq = SEQ(next);
    if
    :: seq <= stream_base || seq <= stream_limit ->
        row = next;
        content = (seq <= stream_base -> 0 : MADE(stream_base));
        next++
    :: else
    fi;
    locked = false
#else
#ifdef BUG_EARLY_BASE
    early = base;
#endif
    seq = (consumed + SLOTS < limit -> consumed + SLOTS : limit); /* what has room, at that time */
    atomic { /* a compare and exchange */
        if
        :: SEQ(next) <= seq -> row = next; next++
        :: else
        fi
    }
    seq = SEQ((row == 255 -> next : row))
#endif
}

proctype worker(byte me)
{
    byte row;
    byte seq;
    byte ticket;
    byte content;
#ifdef BUG_EARLY_BASE
    byte early;
#endif

    do
    :: closed -> break
    :: else ->
        claim_row();
        if
        :: row == 255 && seq > limit -> AWAIT(seq <= limit || closed)
        :: row == 255 && seq <= limit -> (seq <= consumed + SLOTS || closed)
        :: row < 255 ->
#ifdef STREAM
            (seq <= consumed + SLOTS || closed);
#endif
#ifdef BUG_PAUSED
            AWAIT(!paused || closed);
#else
            AWAIT(!paused || closed || seq <= base);
#endif
            if
            :: closed -> break
            :: else
            fi;
#ifdef STREAM
            fill(rows[SLOT(seq) * ROWS + row % ROWS], content);
#else
            fill(rows[SLOT(seq) * ROWS + row % ROWS], MADE(BASE));
#endif
            atomic { /* an addition */
                rows_done[SLOT(seq)]++;
                content = rows_done[SLOT(seq)]
            }
            if
            :: content == ROWS ->
                rows_done[SLOT(seq)] = 0;
                fill(header[SLOT(seq)], MADE(BASE));
                ready[SLOT(seq)] = seq
            :: else
            fi
        fi;
        d_step { row = 0; seq = 0; content = 0 }
    od;
    atomic { row = 0; seq = 0; content = 0; workers_left-- }
}

inline check_rows()
{
    d_step {
        for (i : 0 .. ROWS - 1) {
            assert(rows[SLOT(seq) * ROWS + i] == MADE(base))
        }
        assert(header[SLOT(seq)] == MADE(base));
        i = 0
    }
}

inline rewind()
{
    new = consumed + SLOTS;
#ifdef STREAM
    atomic { !locked -> locked = true }
#ifndef BUG_ROOM_BASE
    i = (next + ROWS - 1) / ROWS;
    new = (i > new -> i : new);
    i = 0;
#endif
#endif
#ifdef BUG_CLAIMED_BASE
    new = (next + ROWS - 1) / ROWS;
#endif
    base = new;
#ifdef BUG_SHORT_LIMIT
    limit = consumed + ROUND;
#else
    limit = new + ROUND;
#endif
#ifdef STREAM
    stream_base = base;
    stream_limit = limit;
    locked = false;
#endif
#ifndef BUG_SILENT
    notify();
#endif
    seq = consumed + 1;
    do
    :: seq <= new -> ready[SLOT(seq)] == seq; consumed = seq; seq++
    :: else -> break
    od;
    new = 0
}

active proctype consumer()
{
    byte seq;
    byte new;
    byte rewinds;
    byte i;

    do
    :: consumed < base + ROUND -> /* the next batch */
        seq = consumed + 1;
        ready[SLOT(seq)] == seq;
        check_rows();
        consumed = seq
    :: rewinds < REWINDS && consumed > base ->
#ifdef PAUSES
        if
        :: paused = true
        :: true
        fi;
#endif
        rewind();
        rewinds++;
#ifdef PAUSES
        paused = false;
        notify();
#endif
    :: rewinds == REWINDS && consumed > base -> break
    od;
    seq = 0;
    closed = true;
    notify();
    workers_left == 0;
    all_done = true
}

init
{
    byte w;

    atomic {
        for (w : 0 .. WORKERS - 1) {
            run worker(w)
        }
    }
}

ltl live { <> all_done }
