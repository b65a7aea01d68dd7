/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange of one record among the ranks of a job on this machine, over an abstract unix socket:
 * nothing is on disk, and nothing remains of a killed process. Ranks in different network
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
 * Writes what names the job of this process, and returns text: user, run id, master address and
 * port, restart count of the launcher, as far as its variables give them, and the world.
 */
char *sli_rank_job_key(const sluice_ranks *ranks, char text[SLI_JOB_KEY_SIZE]);

/*
 * Sends this rank's record to all local ranks, and receives theirs; collective over the local
 * ranks. Only processes of the same user take part. All ranks get all records, or all get an error:
 * after timeout_ms (a rank that answered waits as long again for the decision), E_IO with the
 * reason.
 *
 * own: `bytes` bytes. all_out: (local_world, bytes), in the order of local ranks; unchanged on
 * failure.
 */
sluice_status sli_rank_exchange(const char *key, uint32_t local_rank, uint32_t local_world,
                                int64_t timeout_ms, const void *own, size_t bytes, void *all_out);

#endif
