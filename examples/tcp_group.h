/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group of ranks over TCP, for programs that have no MPI: a max-allreduce of one integer, a
 * broadcast of a few bytes, and an end of all ranks. It is a star: rank 0 has two connections to
 * each other rank, one for collectives and one that only shows that the rank is alive.
 *
 * Rank 0 listens at MASTER_ADDR and the port after MASTER_PORT, since torchrun itself listens at
 * MASTER_PORT. Without these variables: 127.0.0.1 and 29501, for ranks of one machine. There is no
 * encryption and no authentication, as in NCCL's own connections: use it in a network that you
 * trust.
 *
 * Functions that can fail leave a text in sluice_last_error().
 */
#ifndef TCP_GROUP_H
#define TCP_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef struct tcp_group tcp_group;

/*
 * Connects the ranks; collective. Rank 0 waits for the others, and they for it, up to 60 s. From
 * now on a rank ends by itself, with exit code 1, if another one ends before tcp_group_close().
 *
 * Returns: E_INVALID an invalid MASTER_PORT; E_IO no connection, or a port in use; E_NO_MEMORY.
 */
sluice_status tcp_group_open(uint32_t rank, uint32_t world, tcp_group **group_out);

/* Replaces the bytes of all ranks by those of rank 0; collective. E_IO: another rank has ended. */
sluice_status tcp_group_broadcast(tcp_group *group, void *data, size_t bytes);

/* Finds the largest value; collective. E_IO: another rank has ended. */
sluice_status tcp_group_max(tcp_group *group, int64_t value, int64_t *most_out);

/* Ends all ranks, wherever they are, with exit code 1. Does not return. Any thread. */
void tcp_group_abort(tcp_group *group);

/* Waits until all ranks have called it, and frees the group. NULL is fine. */
void tcp_group_close(tcp_group *group);

#endif
