/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_MACHINE_REPORT_H
#define SLUICE_MACHINE_REPORT_H

#include "text_int.h"
#include "topology_int.h"

/*
 * Prints the machine and its nodes as a table. source is the config that was passed to
 * sli_topology_open().
 */
void sli_machine_print(const sli_topology *topology, const sli_topology_config *source,
                       sli_text *text);

/* Prints the same as two members of a JSON object, "machine" and "nodes". */
void sli_machine_print_json(const sli_topology *topology, const sli_topology_config *source,
                            sli_text *text);

#endif
