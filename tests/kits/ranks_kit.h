/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several ranks on this machine: child processes with the variables of torchrun, which can agree on
 * the largest of a number, and an area that all share. Children must not use T_*: they leave by
 * their body's answer and never come back into the runner. Fork before any thread is there: what
 * the parent has opened with threads is of no use to a child.
 */
#ifndef SLUICE_RANKS_KIT_H
#define SLUICE_RANKS_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <sluice/status.h>

/* Time-outs are for what hangs: agree and the end of all ranks. */
enum { RANKS_MOST = 16, RANKS_AGREE_MS = 20000, RANKS_END_MS = 90000 };

/* A rank, as its body sees it. */
typedef struct ranks_member {
    uint32_t rank;
    uint32_t world;
    void *shared;       /* of the kit; zero at first */
    int64_t timeout_ms; /* of agree: how long rank 0 waits for the others. They wait for it twice
                           as long, so that they hear from it who is missing */
    int sockets[RANKS_MOST]; /* rank 0: to each of the others; else: [0] to rank 0 */
    int told;                /* the kit hears of ranks_tell() here */
    int64_t gone;            /* the rank that is; -1: none */
} ranks_member;

typedef struct ranks_kit {
    uint32_t world;
    void *shared; /* (shared_bytes), with the children */
    size_t shared_bytes;
    pid_t pids[RANKS_MOST]; /* 0 once collected */
    int exits[RANKS_MOST];  /* after ranks_join(): what the body returned, or minus the signal */
    bool heard[RANKS_MOST]; /* ranks_tell() was called, and not yet waited for */
    int told;               /* a byte of each ranks_tell(); its end is the end of all children */
} ranks_kit;

/*
 * The largest of the values that all ranks give; each must call it as often as the others. E_IO
 * with the text "rank 5 is gone" on every rank that is left, then and from then on, when one has
 * died or left or says nothing in time. `user` is the ranks_member.
 */
sluice_status ranks_agree(int64_t value, int64_t *most_out, void *user);

/* Tells the kit that this rank has come so far. */
void ranks_tell(const ranks_member *me);

/* Starts them; each runs the body, whose answer, 0 to 255, is its exit status. */
void ranks_start(ranks_kit *ranks, uint32_t world, size_t shared_bytes,
                 int (*body)(ranks_member *me));

/* Waits for a ranks_tell() of this rank; false when all have ended, or have hung, without it. */
bool ranks_await(ranks_kit *ranks, uint32_t rank);

/* kill -9 */
void ranks_kill(ranks_kit *ranks, uint32_t rank);

/* Collects them; false when some did not end in time: all are killed then. */
bool ranks_join(ranks_kit *ranks);

/* Joins and frees. */
void ranks_end(ranks_kit *ranks);

#endif
