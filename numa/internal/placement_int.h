/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where threads and memory go: a pure function of the topology and of what is wanted. It never
 * widens what the process may use (numactl, taskset, cpuset), and never gives this rank more than
 * its share of the machine when several ranks run on it.
 */
#ifndef SLUICE_PLACEMENT_INT_H
#define SLUICE_PLACEMENT_INT_H

#include "text_int.h"
#include "topology_int.h"

/* Most workers of one rank; most ranks whose cores are divided. */
enum { SLI_MAX_WORKERS = 1024, SLI_MAX_LOCAL_RANKS = 65536 };

enum { SLI_PLACEMENT_NOTES = 8, SLI_NOTE_SIZE = 256 };

typedef struct sli_placement_request {
    uint32_t workers;     /* 0: as many as the cores and the quota allow */
    int32_t node;         /* node of the device, or the one asked for; -1: any */
    uint32_t local_rank;  /* of local_world ranks on this machine */
    uint32_t local_world; /* 0 or 1: this one alone */

    /*
     * The node of each local rank's device (local_world of them), the same array in all ranks; NULL
     * when a rank knows only its own. With it, ranks get cores on their devices' nodes; without,
     * cores are dealt out in the order of ranks, so that shares are disjoint all the same.
     */
    const int32_t *rank_nodes;
    bool step_elsewhere; /* a GPU runs the step: its thread here only launches and waits */
} sli_placement_request;

typedef struct sli_placement {
    uint32_t worker_count;
    sli_cpus *worker_cpus; /* of each worker: all allowed CPUs of one core */
    sli_cpus copier_cpus;
    sli_cpus device_cpus; /* the thread that runs the step of a host device, and what it starts */
    bool device_shares;   /* device_cpus are workers' too, for want of cores */
    int32_t memory_node;  /* staging and slots; -1: wherever the kernel puts them */
    char notes[SLI_PLACEMENT_NOTES][SLI_NOTE_SIZE]; /* what is wrong with it or was decided */
    uint32_t note_count;

    uint32_t core_count; /* cores of this rank's share */
    uint32_t local_rank; /* these four as in the request, local_world at least 1 */
    uint32_t local_world;
    int32_t device_node;
    bool step_elsewhere;
} sli_placement;

/* E_INVALID for local_rank >= local_world, too many ranks or workers; E_NO_MEMORY. */
sluice_status sli_placement_plan(const sli_topology *topology, const sli_placement_request *request,
                                 sli_placement **placement_out);
void sli_placement_free(sli_placement *placement);

/* Threads and buffers as a table for people; with the notes, as one JSON object for machines. */
void sli_placement_print(const sli_topology *topology, const sli_placement *placement,
                         sli_text *text);
void sli_placement_print_json(const sli_topology *topology, const sli_placement *placement,
                              sli_text *text);

#endif
