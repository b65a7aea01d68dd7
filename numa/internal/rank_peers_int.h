/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes of the ranks on this machine: who they are, and whether they are stopped or gone,
 * so that a rank that waits can name the one that it waits for.
 */
#ifndef SLUICE_RANK_PEERS_INT_H
#define SLUICE_RANK_PEERS_INT_H

#include <stdbool.h>
#include <stdint.h>

/* A process, as it describes itself to the others. */
typedef struct sli_rank_peer {
    uint32_t rank;          /* of the job */
    int32_t pid;            /* in its PID namespace */
    uint64_t pid_namespace; /* 0: unknown */
    uint64_t start_time;    /* as in /proc/PID/stat, to recognize another process with its id */
} sli_rank_peer;

typedef enum sli_peer_state {
    SLI_PEER_UNKNOWN, /* it is in another PID namespace, or /proc is not there */
    SLI_PEER_RUNS,
    SLI_PEER_STOPPED, /* by a signal or a debugger */
    SLI_PEER_GONE     /* it has ended */
} sli_peer_state;

/* Describes the calling process. */
void sli_rank_peer_self(uint32_t rank, sli_rank_peer *self_out);

/* Any thread. */
sli_peer_state sli_rank_peer_state(const sli_rank_peer *peer);

#endif
