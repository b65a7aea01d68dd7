/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange of one record per rank among the ranks of a job on this machine, over an abstract
 * Unix socket: no file is created, and a killed process leaves nothing. Ranks in different network
 * namespaces (containers) have no common socket.
 */
#ifndef SLUICE_RANK_EXCHANGE_INT_H
#define SLUICE_RANK_EXCHANGE_INT_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/ranks.h>

/* Bounds of an exchange: ranks of one machine, bytes of a record, and the size of a job's key. */
enum { SLI_EXCHANGE_RANKS = 512, SLI_EXCHANGE_BYTES = 4096, SLI_JOB_KEY_SIZE = 1024 };

/*
 * Writes the key that identifies the job of this process, and returns text: the user, the world,
 * the variable SLUICE_JOB, and the launcher's variables with job ids, master address and port, and
 * restart count; without any id, the session.
 */
char *sli_rank_job_key(const sluice_ranks *ranks, char text[SLI_JOB_KEY_SIZE]);

/*
 * Sends this rank's record to all local ranks, and receives theirs; collective over the local
 * ranks. Only processes of the same user take part. All ranks get all records, or all return an
 * error: E_IO after timeout_ms (ranks other than 0 wait as long again for rank 0's decision), or if
 * a connection fails; E_INVALID too many ranks or bytes; E_NO_MEMORY.
 *
 * own: `bytes` bytes. all_out: (local_world, bytes), in the order of local ranks; unchanged on
 * failure.
 */
sluice_status sli_rank_exchange(const char *key, uint32_t local_rank, uint32_t local_world,
                                int64_t timeout_ms, const void *own, size_t bytes, void *all_out);

/*
 * Like sli_rank_exchange(), and sends a file descriptor of local rank 0 to the other ranks. own_fd:
 * on local rank 0 the descriptor, or -1; it stays open. fd_out: on the other ranks a duplicate,
 * with close-on-exec, owned by the caller, or -1 if local rank 0 sent none; on local rank 0 and on
 * failure -1. E_IO also on a rank that has no free descriptor; the other ranks then have theirs.
 */
sluice_status sli_rank_exchange_descriptor(const char *key, uint32_t local_rank,
                                           uint32_t local_world, int64_t timeout_ms,
                                           const void *own, size_t bytes, void *all_out, int own_fd,
                                           int *fd_out);

#endif
