/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The topology of the machine and the NUMA placement of a run on it.
 */
#ifndef SLUICE_TOPOLOGY_H
#define SLUICE_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sluice/device.h>

SLUICE_BEGIN_DECLS

/** Programs that start the ranks of a job. */
typedef enum sluice_launcher {
    SLUICE_LAUNCHER_NONE = 0,    /**< no launcher */
    SLUICE_LAUNCHER_NUMACTL = 1, /**< a numactl for each rank, in a shell */
    SLUICE_LAUNCHER_MPIRUN = 2,  /**< mpirun of Open MPI, by a rankfile */
    SLUICE_LAUNCHER_SRUN = 3,    /**< srun of Slurm */
    SLUICE_LAUNCHER_TORCHRUN = 4 /**< torchrun of PyTorch, with a numactl for each rank */
} sluice_launcher;

/** Settings of sluice_topology_report(), initialized by sluice_topology_config_init(). */
typedef struct sluice_topology_config {
    size_t struct_size;    /**< bytes; set by sluice_topology_config_init() */
    const char *synthetic; /**< an hwloc synthetic topology, "numa:2 core:4 pu:1"; or NULL */
    const char *xml; /**< path of an XML file written by lstopo; or NULL. Both NULL: this machine */
    uint32_t workers; /**< workers per rank; 0: as many as cores and quota allow */
    uint32_t ranks;   /**< ranks that share the machine; 0: one for each of devices or pci, or 1 */
    bool json;        /**< report as one JSON object instead of a table */
    sluice_launcher emit;  /**< instead of a report, the shell commands that start the ranks by this
                                launcher, each bound to its part of the machine; 0: a report */
    sluice_device *device; /**< device that the placement is for; NULL: no device */
    const char *devices; /**< in place of device, those of the ranks, in turn: "cuda:all", or names
                              without options, separated by commas. If synthetic or xml is set,
                              cuda:N is the N-th NVIDIA GPU of that machine, by PCI address, as
                              CUDA_DEVICE_ORDER=PCI_BUS_ID numbers them. NULL: see device, pci */
    const char *pci;     /**< in place of device, the PCI addresses of the ranks' devices, in turn:
                              "0000:17:00.0,0000:65:00.0"; or NULL */
} sluice_topology_config;

/** Sets every field to its default, zero, and struct_size. Threads: any. */
static inline void sluice_topology_config_init(sluice_topology_config *config)
{
    memset(config, 0, sizeof(*config));
    config->struct_size = sizeof(*config);
}

/**
 * Reports the machine, the placement of each rank, and problems.
 *
 * Each rank may use the same CPUs and memory as the calling thread: its CPU affinity, memory policy
 * and cgroup limits. The ranks divide these CPUs and memory as those of a run do. All ranks use
 * the one `device`; of several devices, rank R uses device R modulo their number. The process
 * itself is not changed.
 *
 * @param config    NULL: this machine, no device, one rank
 * @param text_out  owned by the caller; free it by sluice_string_free()
 *
 * Shape:   JSON has the members machine, nodes, devices, plans (one for each rank) and notes.
 * Returns: E_INVALID an invalid topology text or file, more than 1024 ranks or workers, an unknown
 *          launcher in emit, emit with json, a device opened before a fork, more than one of
 *          device, devices and pci, or an entry of them that the machine does not have; E_IO the
 *          file cannot be read; E_NO_MEMORY; the error of opening one of devices.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_topology_report(const sluice_topology_config *config,
                                                        char **text_out);

SLUICE_END_DECLS

#endif
