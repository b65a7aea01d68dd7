/* SPDX-License-Identifier: Apache-2.0 */
/* Shell commands that start the ranks of a job on one machine, each bound to its part. */
#ifndef SLUICE_LAUNCH_LINES_H
#define SLUICE_LAUNCH_LINES_H

#include <sluice/topology.h>

#include "placement_int.h"

/* True if there are lines for this launcher. */
bool sli_launcher_is_known(sluice_launcher launcher);

/* Adds a shell script for a known launcher, which starts ./train. plans: (ranks). */
void sli_launch_lines_print(sluice_launcher launcher, const sli_topology *topology,
                            sli_placement *const *plans, uint32_t ranks, sli_text *text);

#endif
