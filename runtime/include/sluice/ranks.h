/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Rank and world size of this process, from the environment that a launcher sets.
 */
#ifndef SLUICE_RANKS_H
#define SLUICE_RANKS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sluice/status.h>

SLUICE_BEGIN_DECLS

/** Rank of this process, set by its launcher. */
typedef struct sluice_ranks {
    size_t struct_size;   /**< bytes; set by sluice_ranks_init() */
    uint32_t rank;        /**< rank of this process, less than world */
    uint32_t world;       /**< number of processes; 1 for a single process */
    uint32_t local_rank;  /**< rank on this machine; 0 if the launcher does not set it */
    uint32_t local_world; /**< processes on this machine; 0 if the launcher does not set it, or does
                             not set local_rank. 1 for a single process */
    const char *source;   /**< "torchrun", "msrun", "Open MPI", "MVAPICH", "Flux", "PMI", "Slurm",
                             "alone"; static */
} sluice_ranks;

/** Sets every field to zero, and struct_size. Threads: any. */
static inline void sluice_ranks_init(sluice_ranks *ranks)
{
    memset(ranks, 0, sizeof(*ranks));
    ranks->struct_size = sizeof(*ranks);
}

/**
 * Reads rank and world size from the environment, at each call. The first of these launchers whose
 * variables are set is used:
 *
 *   torchrun   RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE
 *              (docs.pytorch.org/docs/stable/elastic/run.html, "Environment Variables"); set by
 *              hand, they override the other launchers
 *   msrun      RANK_ID, RANK_SIZE; no local rank (mindspore.cn, "msrun Launching"). If only one
 *              of the two is set, that is an error if MS_ROLE is set; otherwise it is ignored.
 *              MS_ROLE=MS_SCHED is E_INVALID: that process is the scheduler, and its RANK_ID is
 *              also the RANK_ID of a worker
 *   Open MPI   OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
 *              (docs.open-mpi.org, "Environment variables set for MPI applications")
 *   MVAPICH    MV2_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE
 *              (set by its launcher, mpirun_rsh)
 *   Flux       FLUX_TASK_RANK, FLUX_JOB_SIZE, FLUX_TASK_LOCAL_ID; the local world is the world if
 *              FLUX_JOB_NNODES is 1, else not set (flux-environment(7)). Flux also sets PMI_RANK
 *              and PMI_SIZE; if MPI_LOCALRANKID is set, PMI is used
 *   PMI        PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS: MPICH and Intel MPI
 *              (the Hydra process manager of both)
 *   Slurm      SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID, and entry SLURM_NODEID of
 *              SLURM_STEP_TASKS_PER_NODE, "4(x2),3" (srun(1), "OUTPUT ENVIRONMENT VARIABLES").
 *              Without SLURM_STEP_NUM_TASKS, as in an sbatch script, the process is not a
 *              rank of Slurm
 *
 * If none is found: rank 0 of 1, local_rank 0 of 1. An empty variable counts as not set.
 *
 * SLUICE_LOCAL=R/W overrides the launcher's local rank by R and its local world by W. Without a
 * launcher, W may exceed world, for programs that set rank and world themselves.
 *
 * Returns: E_INVALID a rank without a size or the reverse, a value that is not a number, a rank not
 *          below its size, a local world larger than the world, the scheduler of msrun, or
 *          struct_size is not set; the text names the variables and their values. ranks_out is set
 *          only on OK.
 *
 * Threads: any, while no thread changes the environment.
 */
SLUICE_API_CHECKED sluice_status sluice_ranks_find(sluice_ranks *ranks_out);

SLUICE_END_DECLS

#endif
