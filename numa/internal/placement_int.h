/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The placement of threads and memory: a pure function of the topology and the request. It is
 * limited to the CPUs and memory that the process may use (numactl, taskset, cpuset), and to this
 * rank's part of the machine (core_division_int.h) if several ranks run on it.
 */
#ifndef SLUICE_PLACEMENT_INT_H
#define SLUICE_PLACEMENT_INT_H

#include "core_division_int.h"
#include "text_int.h"
#include "topology_int.h"

/* Maximum number of workers of one rank, and of ranks on one machine. */
enum { SLI_MAX_WORKERS = 1024, SLI_MAX_LOCAL_RANKS = 65536 };

enum { SLI_PLACEMENT_NOTES = 8, SLI_NOTE_SIZE = 256 };

typedef struct sli_placement_request {
    uint32_t workers;     /* number of workers; 0: as many as the cores and the quota allow */
    int32_t node;         /* node of the device, or the requested node; -1: no preference */
    uint32_t local_rank;  /* index of this rank among the local_world ranks on this machine */
    uint32_t local_world; /* number of ranks on this machine; 0 and 1 both mean a single rank */

    /*
     * This rank's part of the machine. NULL: a single rank, which has all that the topology allows;
     * with several ranks the division is unknown, and no worker is pinned to a single core.
     */
    const sli_rank_part *part;
    bool step_elsewhere; /* a GPU runs the step: the step's thread only launches and waits */
    bool node_given;     /* the user has set `node` (device option node=): for memory it precedes a
                            preferred or interleave policy of the process */
} sli_placement_request;

typedef struct sli_placement {
    uint32_t worker_count;
    sli_cpus *worker_cpus; /* (worker_count) affinity of each worker: the CPUs of one core. With
                              several ranks: the CPUs of this rank on a node, unless the rank
                              shares no core and has as many workers as cores */
    sli_cpus copier_cpus;
    sli_cpus device_cpus; /* all CPUs of the share: for the thread that runs steps and the threads
                             that it starts */
    uint32_t spare_cores; /* cores of the share without a pinned worker */
    int32_t memory_node;  /* node of staging and slots; -1: chosen by the kernel, by the policy
                             of the process */
    bool keeps_policy;    /* memory follows the process's preferred or interleave policy */
    char notes[SLI_PLACEMENT_NOTES][SLI_NOTE_SIZE]; /* problems and decisions */
    uint32_t note_count;
    uint32_t warnings; /* bit i: runs log note i as a warning */

    uint32_t core_count;   /* cores of this rank's share */
    bool undivided;        /* several ranks, and their division is unknown */
    bool shared;           /* other ranks use some of these cores, too */
    uint32_t shared_cores; /* such cores, and such ranks */
    uint32_t sharing_ranks;
    uint32_t local_rank; /* this and the next three: copied from the request; local_world is at
                            least 1 */
    uint32_t local_world;
    int32_t device_node;
    bool step_elsewhere;
} sli_placement;

/* Returns E_INVALID if local_rank >= local_world, there are too many ranks or workers, or the machine
 * does not have the node that the user has set, and E_NO_MEMORY if an allocation fails. */
sluice_status sli_placement_plan(const sli_topology *topology, const sli_placement_request *request,
                                 sli_placement **placement_out);
void sli_placement_free(sli_placement *placement);

/* Print threads and buffers: as a table, or as a JSON object that includes the notes. */
void sli_placement_print(const sli_topology *topology, const sli_placement *placement,
                         sli_text *text);
void sli_placement_print_json(const sli_topology *topology, const sli_placement *placement,
                              sli_text *text);

/* Adds one line, without its end: "workers 0-6 CPUs 16-22 node 0, step CPUs 16-23, buffers node 0".
 */
void sli_placement_print_line(const sli_topology *topology, const sli_placement *placement,
                              sli_text *text);

#endif
