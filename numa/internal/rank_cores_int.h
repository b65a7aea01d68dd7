/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This rank's part of its machine. Once per process the ranks of a job on one machine exchange
 * their claims (rank_exchange_int.h), and divide the cores (core_division_int.h).
 */
#ifndef SLUICE_RANK_CORES_INT_H
#define SLUICE_RANK_CORES_INT_H

#include <sluice/ranks.h>

#include "core_division_int.h"
#include "rank_peers_int.h"

/* Which cores a rank uses: config.cores, SLUICE_CORES. */
typedef enum sli_cores_kind {
    SLI_CORES_AUTO = 0, /* its part of the machine */
    SLI_CORES_ALL,      /* all that it may use, also with several ranks */
    SLI_CORES_LIST      /* its part of these CPUs */
} sli_cores_kind;

typedef struct sli_cores_setting {
    sli_cores_kind kind;
    sli_cpus list;
} sli_cores_setting;

/* Parses "auto", "all" or a list of CPUs, "0-7,16"; NULL and "": auto. Returns false for others. */
bool sli_cores_parse(const char *text, sli_cores_setting *setting_out);

/*
 * Finds the part of this rank. The first call of a process with several ranks on its machine is
 * collective: it waits for the other local ranks, at most 5 s (SLUICE_EXCHANGE_MS; 0: no exchange).
 * Later calls of the same rank with the same setting return its result. *divided_out: false if
 * there is no division: a single rank, an unknown local world, SLI_CORES_ALL, a later call with
 * other ranks or another setting, or no exchange. An exchange that fails is a warning in the log,
 * not an error. Returns E_INVALID for an invalid SLUICE_EXCHANGE_MS.
 */
sluice_status sli_rank_cores(const sli_topology *topology, const sluice_ranks *ranks,
                             int32_t device_node, const sli_cores_setting *setting,
                             sli_rank_part *part_out, bool *divided_out);

/* Finds how long ranks wait for each other in an exchange: SLUICE_EXCHANGE_MS, else 5 s; 0: no
 * exchange. E_INVALID: the variable is invalid. */
sluice_status sli_rank_exchange_timeout(int64_t *timeout_ms_out);

/* Gets the process of local rank `index`, this one included, as the exchange has found it. Returns
 * false if there is none, or was no exchange. Any thread. */
bool sli_rank_peer_get(uint32_t index, sli_rank_peer *peer_out);

/* For tests: forgets the result. */
void sli_rank_cores_forget(void);

#endif
