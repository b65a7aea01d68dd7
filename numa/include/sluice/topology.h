/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The machine as the library sees it, and what it would place where.
 */
#ifndef SLUICE_TOPOLOGY_H
#define SLUICE_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/device.h>

SLUICE_BEGIN_DECLS

/** What sluice_topology_report() shall look at. Made by sluice_topology_config_init(). */
typedef struct sluice_topology_config {
    size_t struct_size;    /**< bytes; set by sluice_topology_config_init() */
    const char *synthetic; /**< a machine as hwloc's text, "numa:2 core:4 pu:1"; NULL: none */
    const char *xml;       /**< a machine as a file of lstopo's; NULL: none. Neither: this one */
    sluice_device *device; /**< whose placement is planned; NULL: no device's */
    uint32_t workers;      /**< 0: as many as fit */
    uint32_t ranks;        /**< ranks that share the machine; 0 is 1 */
    bool json;             /**< one JSON object instead of a table */
} sluice_topology_config;

/** Sets every field to its default. */
static inline void sluice_topology_config_init(sluice_topology_config *config)
{
    const sluice_topology_config zero = {sizeof(sluice_topology_config), NULL, NULL, NULL, 0, 0,
                                         false};

    *config = zero;
}

/**
 * Describes the machine, the placement plan of each rank, and what is wrong with it.
 *
 * The calling thread's CPU affinity and memory policy, and the limits of its control group, count
 * as what each rank may use; with several ranks, all of them use this one device. Nothing of the
 * process is changed.
 *
 * @param config    NULL: this machine, no device, one rank
 * @param text_out  the caller's, freed by sluice_string_free()
 *
 * Shape:   JSON has the members machine, nodes, plans (one for each rank) and notes.
 * Returns: E_INVALID a machine text or file that makes no sense, more than 1024 ranks or workers,
 *          a device opened before a fork; E_IO the file cannot be read; E_NO_MEMORY.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_topology_report(const sluice_topology_config *config,
                                                        char **text_out);

SLUICE_END_DECLS

#endif
