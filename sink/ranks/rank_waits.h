/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rank the others waited for, and how long. The ranks meet at boundaries, by a max-allreduce
 * of one integer. The rank that waited least in a meeting came last. The integer of the next
 * meeting carries how long its rank waited in the previous one, so there are no further rounds:
 *
 *     bits 57-59  level, an argument of the meeting
 *     bits 23-56  WAIT_MOST minus the wait in us; 0: not known
 *     bits 3-22   rank
 *     bits 0-2    what delayed the rank before it came, a rank_delay
 *
 * The maximum is that of the largest level, then of the shortest wait. Each rank knows its own wait
 * and the shortest one; the difference is the time that it waited for the rank that came last.
 */
#ifndef SLUICE_RANK_WAITS_H
#define SLUICE_RANK_WAITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <sluice/status.h>

/* What took the largest part of a rank's time between two meetings. */
typedef enum rank_delay {
    DELAY_STEP,
    DELAY_DATA, /* its steps waited for data */
    DELAY_HOST, /* hooks, checkpoints, validation */
    DELAY_KINDS
} rank_delay;

/* The longest wait that is sent, in us (4.8 hours); the most ranks for which waits are counted. */
static const int64_t WAIT_MOST = (INT64_C(1) << 34) - 1;
static const uint32_t WAIT_RANKS = 1U << 20;

/* Highest level of a meeting. */
enum { MEETING_LEVEL_MOST = 7 };

/* The waits of this rank for another one. `lasts` of the own rank: it came last itself. */
typedef struct rank_wait {
    int64_t ns;
    uint64_t lasts;              /* meetings to which that rank came last */
    uint64_t after[DELAY_KINDS]; /* of these, by what had delayed it */
} rank_wait;

/* Only the thread of the run uses it, except for `noted`. A zeroed struct counts nothing. */
typedef struct rank_waits {
    uint32_t rank;
    uint32_t world;
    rank_wait *of;     /* (world) */
    rank_wait *recent; /* (world), in the current window of warnings */
    uint32_t worst;    /* the rank that this one waited for longest; `world`: none */
    int64_t agree_ns;  /* time in agree */
    uint64_t meetings; /* of which it is known who came last */

    bool counts;       /* waits are counted, and sent */
    bool met;          /* there was a meeting, whose wait is not sent yet */
    int64_t left_ns;   /* when the last round ended */
    int64_t steps_ns;  /* in steps and waits for data, since then */
    int64_t data_ns;   /* in waits for data, since then */
    int64_t waited_ns; /* in rounds whose waits are not sent yet */
    int64_t sent_us;   /* the wait that the meeting in progress sends; -1: none */
    rank_delay delay;  /* of this rank, before the last meeting */

    int64_t window_ns; /* shortest duration of the current window */
    int64_t window_begin_ns;
    uint64_t window_meetings;

    _Atomic uint64_t noted; /* the worst rank, for other threads: see rank_waits_noted() */
} rank_waits;

/* What rank_waits_check() found: this rank waits for another one. */
typedef struct rank_lateness {
    uint32_t rank;
    double seconds; /* of the window */
    double share;   /* of the window in which this rank waited for that one */
    uint64_t lasts; /* of `meetings`, those to which it came last */
    uint64_t meetings;
    rank_delay delay;
} rank_lateness;

/* Call on a zeroed struct. Returns E_NO_MEMORY if an allocation fails. */
sluice_status rank_waits_open(rank_waits *waits, uint32_t rank, uint32_t world);
void rank_waits_close(rank_waits *waits);

/* Begins to count; call between the same two rounds on all ranks. `window_ns`: of warnings. */
void rank_waits_begin(rank_waits *waits, int64_t now_ns, int64_t window_ns);

/* Adds time in steps, and the part of it in which they waited for data, since the last round. */
void rank_waits_add_steps(rank_waits *waits, int64_t steps_ns, int64_t data_ns);

/* Adds a round of agree. */
void rank_waits_add_round(rank_waits *waits, int64_t begin_ns, int64_t end_ns);

/* The value that this rank sends in a meeting that begins now. */
int64_t rank_waits_send(rank_waits *waits, uint32_t level, int64_t now_ns);

/* Receives the largest value of a meeting, and counts it. Returns false if no rank of this world
 * can have sent it. */
bool rank_waits_receive(rank_waits *waits, int64_t most, uint32_t *level_out);

/*
 * Call at each boundary. At the end of a window of time, returns true if this rank spent at least
 * LATE_SHARE of it waiting for one other rank. The next window is then twice as long, up to about
 * an hour.
 */
bool rank_waits_check(rank_waits *waits, int64_t now_ns, rank_lateness *late_out);

/* What delayed a rank in most of the meetings to which it came last. */
rank_delay rank_waits_delay(const rank_wait *wait);

/* The rank that this one has waited for longest so far; false: none. Any thread. `lasts` and
 * `meetings` are exact below 2^22. */
bool rank_waits_noted(const rank_waits *waits, uint32_t *rank_out, uint32_t *lasts_out,
                      uint32_t *meetings_out);

#endif
