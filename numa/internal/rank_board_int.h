/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that the ranks of a machine share, in which each one publishes how often it has called
 * config.agree. A rank that waits in agree, or has failed, can so name the ranks that have not
 * come: a max-allreduce itself returns only after all have called it.
 *
 * Each rank writes its own entry only, at boundaries. A job has one board, which local rank 0 makes
 * for the exchange of rank_cores_int.h. Without that exchange there is none, and nothing is known.
 */
#ifndef SLUICE_RANK_BOARD_INT_H
#define SLUICE_RANK_BOARD_INT_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/status.h>

/* What is known of a rank, compared with this one. */
typedef enum sli_rank_place {
    SLI_RANK_UNKNOWN, /* no board, or not in the same run as this rank */
    SLI_RANK_CAME,    /* it has called agree as often as this rank, or more often */
    SLI_RANK_BEHIND   /* it has not */
} sli_rank_place;

typedef struct sli_rank_progress {
    sli_rank_place place;
    bool failed;   /* its run has failed */
    uint64_t step; /* of its run, when it last called agree */
} sli_rank_progress;

/* Makes the memory of a board for `ranks` ranks. -1: the kernel refuses it. The caller closes it.
 */
int sli_rank_board_make(uint32_t ranks);

/* Maps a board, whose descriptor stays with the caller, as local rank `own` of `ranks`. It replaces
 * the board that this process had. Returns false if it cannot be used. */
bool sli_rank_board_open(int fd, uint32_t own, uint32_t ranks);

/* Unmaps the board, if there is one. No other thread may use it. */
void sli_rank_board_close(void);

/*
 * Begins a run whose calls of agree are counted; false if there is no board. One run at a time: if
 * several run at once, nothing is known of this rank from then on. sli_rank_board_leave_run() ends
 * what a call that returned true has begun.
 */
bool sli_rank_board_enter_run(void);
void sli_rank_board_leave_run(void);

/* Counts a call of agree, which this rank is about to make at `step`. One thread at a time. */
void sli_rank_board_count(uint64_t step);

/* Publishes that the run of this rank has failed. */
void sli_rank_board_fail(void);

/* Finds out about local rank `index`. Any thread. */
sli_rank_progress sli_rank_board_get(uint32_t index);

#endif
