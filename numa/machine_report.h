/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SLUICE_MACHINE_REPORT_H
#define SLUICE_MACHINE_REPORT_H

#include "text_int.h"
#include "topology_int.h"

/*
 * The machine and its nodes as a table for people. source is where they come from, as it was given
 * to sli_topology_open().
 */
void sli_machine_print(const sli_topology *topology, const sli_topology_config *source,
                       sli_text *text);

/* The same as two members of a JSON object, "machine" and "nodes". */
void sli_machine_print_json(const sli_topology *topology, const sli_topology_config *source,
                            sli_text *text);

#endif
