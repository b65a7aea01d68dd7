/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring protocol (queue/internal/ring_int.h) and its use: workers, copier and consumer of
 * queue_*.c, the program on the device (sink/host/host_program.c) and the trainer that launches it
 * (sink_modes.c). What is one load or store there is one step here.
 *
 * What must hold, of every interleaving:
 *   - each batch is run once, in order, and each row a step sees is the row written for that batch
 *   - no slot and no list of samples is written while somebody reads it
 *   - nothing is run after the end or an error, and the error is the one that stands there
 *   - nobody waits for ever: no invalid end state, and <> all_done under weak fairness
 *
 * Sizes:      SLOTS BATCHES ROWS WORKERS SINK WANT (steps the trainer asks for)
 * Kinds:      COPIER (two rings), CONVERTS (GetNext releases, otherwise it lends), SPINS (the device
 *             polls and yields, otherwise it sleeps), GRAPH (a launch for each step), EVENTS (sleeps
 *             and wake-ups one by one, otherwise a wait simply waits)
 * Happenings: ERRORS (a bit for each batch that fails), COPY_ERROR (the batch whose copy fails),
 *             INTRUDER (somebody asks for a stop or closes the queue, at any moment)
 * Mistakes:   BUG_...; run.sh says what each is. Spin must find every one of them.
 */
#ifndef SLOTS
#define SLOTS 2
#endif
#ifndef BATCHES
#define BATCHES 4
#endif
#ifndef ROWS
#define ROWS 2
#endif
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef SINK
#define SINK 2
#endif
#ifndef WANT
#define WANT (BATCHES + 1)
#endif
#ifndef COPIER
#define COPIER 0
#endif
#ifndef CONVERTS
#define CONVERTS 0
#endif
#ifndef SPINS
#define SPINS 0
#endif
#ifndef GRAPH
#define GRAPH 0
#endif
#ifndef EVENTS
#define EVENTS 0
#endif
#ifndef ERRORS
#define ERRORS 0
#endif
#ifndef COPY_ERROR
#define COPY_ERROR 0
#endif
#ifndef INTRUDER
#define INTRUDER 0
#endif

#ifdef BUG_WINDOW
#define WINDOW (SLOTS + 1)
#else
#define WINDOW SLOTS
#endif
#ifdef BUG_SAMPLES
#define SAMPLE_ROWS (2 * SLOTS)
#else
#define SAMPLE_ROWS (2 * SLOTS + 1)
#endif

/* What stands at a place; a word is seq and kind. */
#define EMPTY 0
#define BATCH 1
#define END   2
#define ERROR 3
#define WORD(seq, kind) ((seq) * 4 + (kind))
#define SLOT(seq)       (((seq) - 1) % SLOTS)

/* Workers fill ring FRONT, the device empties ring BACK; with a copier between they are two. */
#define FRONT 0
#define BACK  COPIER
typedef ring_state {
    byte ready[SLOTS];
    byte consumed;
    byte data[SLOTS * ROWS]; /* the batch that each row was written for */
    byte readers[SLOTS]      /* no part of the protocol: who reads the slot now */
};
ring_state r[COPIER + 1];

#define MAY_FILL(ring, seq) ((seq) <= r[ring].consumed + WINDOW)
#define WORD_AT(ring, seq)  r[ring].ready[SLOT(seq)]
#define FILLED(ring, seq)   (WORD_AT(ring, seq) / 4 == (seq))
#define PEEK(ring, seq)     (FILLED(ring, seq) * (WORD_AT(ring, seq) % 4))
#define THERE(ring, seq)    (FILLED(ring, seq) || closed)

/* The workers' side. */
byte next_row;
byte stop_at = 255; /* no row of a later batch is begun */
byte rows_done[SLOTS];
bool failed[SLOTS]; /* a row of the batch in this place has failed */
byte samples[SAMPLE_ROWS];
byte kept_error = 255; /* the batch whose text the queue keeps */
byte workers_left = WORKERS;
bool copier_left = COPIER;
bool closed;

/* The device's side: the program, and what the trainer knows of it. */
mtype = { DONE, YIELD, STOPPED, END_OF_DATA, FAILED };
chan launches = [SINK] of { byte };
byte under_way; /* launches that have not ended */
mtype how = DONE;
byte steps_run; /* since the last collect */
byte steps;     /* ever; nothing but a check */
bool stop;
bool spinning; /* a kernel polls on the device */
bool over;     /* the end or an error was met; nothing but a check */
bool intruded;
bool all_done;
#ifdef BUG_END_FLAG
bool end_flag;
#undef THERE
#define THERE(ring, seq) (FILLED(ring, seq) || end_flag || closed)
#endif

/* ---- events: see event.pml ------------------------------------------------------------------- */

#define READY(ring) ((ring) * 2)
#define ROOM(ring)  ((ring) * 2 + 1)
#if EVENTS
byte epoch[2 * COPIER + 2];
byte waiters[2 * COPIER + 2];
byte sleepers[2 * COPIER + 2];

inline notify(event)
{
    epoch[event]++;
    atomic {
        if
        :: waiters[event] > 0 -> sleepers[event] = 0
        :: else
        fi
    }
}

/* `tick` ends a sleep that has a time-out; for ever: false. */
inline await(event, condition, tick)
{
    do
    :: (condition) -> break
    :: else ->
        waiters[event]++;
        ticket = epoch[event];
#ifndef BUG_LATE_PREPARE
        if
        :: (condition) -> waiters[event]--; break
        :: else
        fi;
#endif
        atomic {
            if
            :: epoch[event] == ticket -> sleepers[event] = sleepers[event] | (1 << _pid)
            :: else
            fi
        }
        (sleepers[event] & (1 << _pid)) == 0 || (tick);
        atomic {
            sleepers[event] = sleepers[event] & ~(1 << _pid);
            waiters[event]--
        }
    od;
    ticket = 0
}
#else
inline notify(event)
{
    skip
}

inline await(event, condition, tick)
{
    (condition)
}
#endif

inline publish(which, place, kind)
{
    WORD_AT(which, place) = WORD(place, kind);
    notify(READY(which))
}

inline release(which, place)
{
    d_step {
        r[which].consumed = place;
        r[which].readers[SLOT(place)]--
    }
    notify(ROOM(which))
}

inline close_queue()
{
    closed = true;
#ifndef BUG_SILENT_CLOSE
    notify(READY(FRONT));
    notify(ROOM(FRONT));
#if COPIER
    notify(READY(BACK));
    notify(ROOM(BACK))
#endif
#endif
}

/* Of the batches that failed, the lowest counts: it is the one the consumer meets. */
inline keep_error(place)
{
#ifdef BUG_FIRST_ERROR
    d_step {
        if
        :: kept_error == 255 -> kept_error = place
        :: else
        fi
    }
#else
    d_step {
        if
        :: place < kept_error -> kept_error = place
        :: else
        fi
    }
#endif
}

/* ---- workers --------------------------------------------------------------------------------- */

inline write_row()
{
    d_step {
        assert(r[FRONT].readers[SLOT(seq)] == 0);
        r[FRONT].data[SLOT(seq) * ROWS + row] = seq;
        if
        :: row == 0 -> samples[seq % SAMPLE_ROWS] = seq
        :: else
        fi
    }
    if
    :: row == 0 && (ERRORS & (1 << seq)) != 0 ->
        d_step {
            failed[SLOT(seq)] = true;
            stop_at = (seq < stop_at -> seq : stop_at)
        }
    :: else
    fi
}

inline publish_batch()
{
    if
    :: failed[SLOT(seq)] ->
        keep_error(seq);
        failed[SLOT(seq)] = false;
        count = ERROR
    :: else -> count = BATCH
    fi;
#ifndef BUG_COUNTER
    rows_done[SLOT(seq)] = 0;
#endif
    publish(FRONT, seq, count)
}

proctype worker()
{
    byte seq;
    byte row;
    byte count;
#if EVENTS
    byte ticket;
#endif

    do
    :: atomic {
           seq = next_row / ROWS + 1;
           row = next_row % ROWS;
           next_row++
       }
       if
       :: seq > stop_at || seq > BATCHES + 1 || (seq == BATCHES + 1 && row > 0) -> break
       :: else
       fi;
#ifdef BUG_END_FLAG
       if
       :: seq == BATCHES + 1 -> end_flag = true; notify(READY(FRONT)); break
       :: else
       fi;
#endif
       await(ROOM(FRONT), MAY_FILL(FRONT, seq) || closed, false);
       if
       :: closed -> break
       :: else
       fi;
       if
       :: seq == BATCHES + 1 -> publish(FRONT, seq, END); break
       :: else
       fi;
       write_row();
       d_step {
           rows_done[SLOT(seq)]++;
           count = rows_done[SLOT(seq)]
       }
       if
#ifdef BUG_FIRST_ROW
       :: count == 1 -> publish_batch()
#else
       :: count == ROWS -> publish_batch()
#endif
       :: else
       fi;
       d_step {
           seq = 0;
           row = 0;
           count = 0
       }
    od;
    atomic {
        seq = 0;
        row = 0;
        count = 0;
        workers_left--
    }
}

/* ---- copier ---------------------------------------------------------------------------------- */

#if COPIER
inline copy_rows()
{
    row = 0;
    do
    :: row < ROWS ->
        d_step {
            assert(r[BACK].readers[SLOT(seq)] == 0);
            r[BACK].data[SLOT(seq) * ROWS + row] = r[FRONT].data[SLOT(seq) * ROWS + row];
            row++
        }
    :: else -> break
    od;
    row = 0
}

/* Copy, give staging back, hand over; the stream does them in this order. */
inline copy_batch()
{
#ifdef BUG_ENDLESS
    /* A kernel that spins may keep another stream from running: the programming model allows it. */
    if
    :: spinning -> !spinning
    :: true
    fi;
#endif
    r[FRONT].readers[SLOT(seq)]++;
#ifdef BUG_WORD_FIRST
    publish(BACK, seq, BATCH);
#endif
#ifdef BUG_STAGING_FIRST
    r[FRONT].consumed = seq;
    notify(ROOM(FRONT));
    copy_rows();
    r[FRONT].readers[SLOT(seq)]--;
#else
    copy_rows();
    release(FRONT, seq);
#endif
#ifndef BUG_WORD_FIRST
    publish(BACK, seq, BATCH)
#endif
}

active proctype copier()
{
    byte seq = 1;
    byte row;
#if EVENTS
    byte ticket;
#endif

    do
    :: await(READY(FRONT), THERE(FRONT, seq), false);
       await(ROOM(BACK), MAY_FILL(BACK, seq) || closed, false);
       if
       :: closed -> break
       :: else
       fi;
       if
       :: PEEK(FRONT, seq) != BATCH -> publish(BACK, seq, PEEK(FRONT, seq)); break
       :: else
       fi;
       if
       :: seq == COPY_ERROR -> keep_error(seq); publish(BACK, seq, ERROR); break
       :: else
       fi;
       copy_batch();
       seq++
    od;
    copier_left = false
}
#endif

/* ---- device ---------------------------------------------------------------------------------- */

inline read_rows()
{
    row = 0;
    do
    :: row < ROWS ->
#ifdef BUG_RELEASE_FIRST
        if
        :: row == ROWS - 1 -> r[BACK].consumed = seq; notify(ROOM(BACK))
        :: else
        fi;
#endif
        d_step {
            assert(r[BACK].data[SLOT(seq) * ROWS + row] == seq);
            row++
        }
    :: else -> break
    od;
    row = 0
}

/* GetNext, step, guard. */
inline run_step()
{
    d_step {
        assert(!over);
        r[BACK].readers[SLOT(seq)]++
    }
    read_rows();
#if CONVERTS
#ifdef BUG_RELEASE_FIRST
    r[BACK].readers[SLOT(seq)]--;
#else
    release(BACK, seq);
#endif
#else
#ifdef BUG_LENT
    r[BACK].consumed = seq;
    notify(ROOM(BACK));
#endif
    read_rows(); /* the step, from the slot that it was lent */
#endif
    d_step {
        assert(samples[seq % SAMPLE_ROWS] == seq);
        steps++;
        steps_run++;
        assert(steps == seq)
    }
#if !CONVERTS
#ifdef BUG_LENT
    r[BACK].readers[SLOT(seq)]--;
#else
    release(BACK, seq);
#endif
#endif
    seq++;
    if
    :: stop -> how = STOPPED
    :: else
    fi
}

/* A bounded wait: while nothing is there, time may be up at any moment. */
inline wait_for_batch()
{
#if SPINS
#ifdef BUG_ENDLESS
    spinning = true;
    THERE(BACK, seq);
    spinning = false
#else
    if
    :: THERE(BACK, seq)
#ifdef BUG_NO_LOOK
    :: how = YIELD
#else
    :: !THERE(BACK, seq) -> how = YIELD
#endif
#ifdef BUG_YIELD_SKIPS
        ; seq++
#endif
    fi
#endif
#else
    await(READY(BACK), THERE(BACK, seq) || stop, stop)
#endif
}

inline act_on_what_is_there()
{
    kind = PEEK(BACK, seq);
#ifdef BUG_END_FLAG
    if
    :: kind == EMPTY && end_flag -> kind = END
    :: else
    fi;
#endif
    if
    :: closed -> how = END_OF_DATA
    :: !closed && kind == BATCH -> run_step()
    :: !closed && kind == END -> over = true; how = END_OF_DATA
    :: !closed && kind == ERROR ->
        d_step {
            over = true;
            assert(kept_error == seq)
        }
#ifdef BUG_SKIP_ERROR
        r[BACK].consumed = seq;
        notify(ROOM(BACK));
        seq++
#else
        how = FAILED
#endif
    :: !closed && kind == EMPTY -> how = STOPPED
    fi;
    kind = EMPTY
}

active proctype device()
{
    byte seq = 1;
    byte left;
    byte row;
    byte kind;
#if EVENTS
    byte ticket;
#endif

end:
    do
    :: launches ? left ->
        do
        :: left > 0 && how == DONE ->
            if
            :: stop -> how = STOPPED
            :: else -> wait_for_batch()
            fi;
            if
            :: how == DONE -> act_on_what_is_there()
            :: else
            fi;
            left--
        :: else -> break
        od;
        left = 0;
        under_way--
    od
}

/* ---- trainer --------------------------------------------------------------------------------- */

#define GOES_ON (!stop && (last == DONE || last == YIELD))

inline launch(count)
{
    under_way++;
    launches ! count
}

/* A launch for each batch that is there; an end or an error is launched, too, and found there. */
inline launch_graphs()
{
    ahead = 0;
    do
    :: ahead < border - step && !stop ->
        await(READY(BACK), THERE(BACK, step + ahead + 1) || stop, stop);
        found = PEEK(BACK, step + ahead + 1) == BATCH && !closed;
        if
        :: THERE(BACK, step + ahead + 1) -> launch(1); ahead++
        :: else
        fi;
        if
        :: found
        :: else -> break
        fi
    :: else -> break
    od;
    ahead = 0
}

inline launch_loop()
{
    if
    :: last == YIELD -> await(READY(BACK), THERE(BACK, step + 1) || stop, stop)
    :: else
    fi;
    launch(border - step)
}

inline collect()
{
    d_step {
        step = step + steps_run;
        steps_run = 0;
        last = how;
        if
        :: how == YIELD -> how = DONE
        :: else
        fi
    }
}

#ifndef EXPECT
#define EXPECT (WANT < BATCHES -> WANT : BATCHES)
#endif
#define ENDS_WITH ((ERRORS | COPY_ERROR) != 0 -> FAILED : (WANT > BATCHES -> END_OF_DATA : DONE))

active proctype trainer()
{
    byte step;
    byte border;
    byte ahead;
    bool found;
    mtype last = DONE;
#if EVENTS
    byte ticket;
#endif

    do
    :: step < WANT && GOES_ON ->
        border = (step + SINK < WANT -> step + SINK : WANT);
        do
        :: step < border && GOES_ON ->
#if GRAPH
            launch_graphs();
#else
            launch_loop();
#endif
            under_way == 0;
            collect()
        :: else -> break
        od
    :: else -> break
    od;
    stop_at = 0;
    close_queue();
    workers_left == 0 && !copier_left;
    assert(intruded || (steps == EXPECT && step == steps && last == ENDS_WITH));
    all_done = true
}

#if INTRUDER
active proctype intruder()
{
    intruded = true;
    if
    :: stop = true
    :: close_queue()
    fi
}
#endif

init
{
    byte i;

    atomic {
        for (i : 1 .. WORKERS) {
            run worker()
        }
    }
}

ltl live { <> all_done }
