/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The division of a machine among the ranks of a job that run on it: a pure function of the
 * machine's cores and of what each rank may use, so all ranks compute the same result.
 */
#ifndef SLUICE_CORE_DIVISION_INT_H
#define SLUICE_CORE_DIVISION_INT_H

#include "topology_int.h"

/* What one rank may use. */
typedef struct sli_rank_claim {
    sli_cpus allowed;      /* its affinity within its cpuset */
    int32_t device_node;   /* node of its device; -1: unknown */
    bool takes_all;        /* uses all these CPUs, and takes no part in the division of cores */
    uint64_t quota_group;  /* identity of the control group that limits its CPU time; 0: none */
    uint64_t memory_group; /* identity of what bounds its memory: a control group or nodes */
    double quota;          /* CPU seconds per second of wall time; 0: no limit */
    uint64_t memory_limit; /* bytes */
} sli_rank_claim;

/* Sets the claim of the process that opened the topology; takes_all is false. */
void sli_rank_claim_make(const sli_topology *topology, int32_t device_node,
                         sli_rank_claim *claim_out);

/* The part of one rank. */
typedef struct sli_rank_part {
    sli_cpus cpus;          /* never empty if the rank has allowed CPUs on the given cores */
    bool shared;            /* other ranks use some of these CPUs, too */
    uint32_t shared_cores;  /* cores with such CPUs */
    uint32_t sharing_ranks; /* such ranks */
    double quota;           /* its part of the quota; 0: no limit */
    uint64_t memory_limit;  /* its part of the bytes */
} sli_rank_part;

/*
 * Divides the cores. A rank gets the CPUs that only it may use. Each core with CPUs that several
 * ranks may use goes to one of these ranks, which gets all CPUs that it may use there: the ranks
 * get the same number of cores if their affinity allows it, cores on their device's node first, and
 * neighbouring ones. A rank for which no core is left shares one. Quota and memory are divided
 * equally among the ranks with the same quota_group or memory_group. cores: all of the machine
 * (sli_topology.all_cores), or at least those of the claims. Returns E_NO_MEMORY.
 */
sluice_status sli_divide_cores(const sli_core *cores, uint32_t core_count,
                               const sli_rank_claim *claims, uint32_t ranks,
                               sli_rank_part *parts_out);

#endif
